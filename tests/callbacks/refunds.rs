//! What providers say they have given back.

use provider_simulator::Provider;
use provider_simulator::event::{Outcome, Refund, What};
use serde_json::{Value, json};

use crate::stage::{Stage, booked, of, paid, paid_with, refunded, state_of, verdicts};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn refunds_are_booked_once_whether_a_provider_tells_totals_or_each_by_itself() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for provider in [Provider::Stripe, Provider::Alipay, Provider::WechatPay, Provider::Standard] {
        let number = format!("R-{provider}-1");
        stage.place(provider, &number).await?;
        let event = paid(&format!("event-{provider}"), &number, &format!("money-{provider}"));
        stage.acknowledged(provider, &event).await?;
        let first =
            of(&event, &format!("r1-{provider}"), refunded(&format!("{provider}-1"), "10.00", "10.00"));
        let second =
            of(&event, &format!("r2-{provider}"), refunded(&format!("{provider}-2"), "15.00", "25.00"));
        for event in [&first, &second, &first, &second] {
            stage.acknowledged(provider, event).await?;
        }
        // The first once more, under a new name of the delivery.
        let again =
            of(&event, &format!("r3-{provider}"), refunded(&format!("{provider}-1"), "10.00", "10.00"));
        stage.acknowledged(provider, &again).await?;
        let order = stage.order(&number).await?;
        assert_eq!(
            (&order["status"], &order["refunded_amount"]),
            (&json!("partially_refunded"), &json!("25.00")),
            "{provider}"
        );
        let all = of(&event, &format!("r4-{provider}"), refunded(&format!("{provider}-3"), "63.80", "88.80"));
        stage.acknowledged(provider, &all).await?;
        assert_eq!(stage.order(&number).await?["status"], "refunded", "{provider}");
        assert_eq!(stage.collected(&format!("clearing:{provider}")).await?, "0.00");
    }
    assert_eq!(stage.collected("revenue").await?, "0.00");
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn a_refund_that_overtakes_its_payment_waits_for_it() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "R-0001").await?;
    let event = paid("evt_1", "R-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&event, "evt_0", refunded("1", "10.00", "10.00"))).await?;
    assert_eq!(stage.order("R-0001").await?["status"], "pending_payment");
    stage.acknowledged(STRIPE, &event).await?;
    let order = stage.order("R-0001").await?;
    assert_eq!(
        (&order["status"], &order["captured_amount"], &order["refunded_amount"]),
        (&json!("partially_refunded"), &json!("88.80"), &json!("10.00"))
    );
    let payment = stage.payment("R-0001").await?;
    assert_eq!(booked(&payment), ["payment_settled", "payment_refunded"]);
    assert_eq!(verdicts(&payment), ["refund_parked", "settled"]);

    // The same before the order itself is there.
    let event = paid("evt_3", "R-0002", "pi_2");
    stage.acknowledged(STRIPE, &of(&event, "evt_2", refunded("2", "10.00", "10.00"))).await?;
    let placed = stage.place(STRIPE, "R-0002").await?;
    assert_eq!(placed["status"], "pending_payment");
    stage.acknowledged(STRIPE, &event).await?;
    assert_eq!(stage.order("R-0002").await?["status"], "partially_refunded");
    stage.finish().await
}

#[tokio::test]
async fn a_question_that_was_dismissed_before_any_money_came_does_not_keep_the_money_from_paying()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "R-0003").await?;
    let event = paid("evt_1", "R-0003", "pi_3");
    stage.acknowledged(STRIPE, &of(&event, "evt_0", refunded("3", "10.00", "10.00"))).await?;
    stage.clock.advance(std::time::Duration::from_secs(16 * 60));
    stage.sweep().await?;
    let alert = stage.alerts("kind=refund_mismatched&status=open").await?.remove(0);
    assert_eq!(stage.resolve(&alert, "dismiss").await?.status, 200);
    stage.acknowledged(STRIPE, &event).await?;
    assert_eq!(stage.order("R-0003").await?["status"], "partially_refunded");
    assert_eq!(stage.alerts("status=open").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn a_refund_that_came_before_its_payment_and_does_not_fit_it_is_asked_about_and_the_payment_counts()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let usd = paid_with("evt_1", "R-0004", "pi_4", "88.80", "USD");
    let cny = paid_with("evt_2", "R-0005", "pi_5", "200.00", "CNY");
    for (number, money, refund) in [
        ("R-0004", "pi_4", of(&usd, "evt_3", refunded("4", "10.00", "10.00"))),
        ("R-0005", "pi_5", of(&cny, "evt_4", refunded("5", "100.00", "100.00"))),
    ] {
        stage.place(STRIPE, number).await?;
        stage.acknowledged(STRIPE, &refund).await?;
        stage.acknowledged(STRIPE, &paid(&format!("evt_paid_{money}"), number, money)).await?;
        assert_eq!(booked(&stage.payment(number).await?)[0], "payment_settled", "{number}");
        let alert = stage.alerts("kind=refund_mismatched&status=open").await?.remove(0);
        assert_eq!(alert["payment_no"], number);
    }
    stage.finish().await
}

#[tokio::test]
async fn more_given_back_than_was_received_or_a_stuck_refund_is_asked_about() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "R-0001").await?;
    let event = paid("evt_1", "R-0001", "pi_1");
    stage.acknowledged(STRIPE, &event).await?;
    stage.acknowledged(STRIPE, &of(&event, "evt_2", refunded("1", "100.00", "100.00"))).await?;
    assert_eq!(stage.order("R-0001").await?["status"], "paid");
    assert_eq!(stage.alerts("kind=refund_mismatched&status=open").await?.len(), 1);

    let wechat = Provider::WechatPay;
    stage.place(wechat, "R-0002").await?;
    let event = paid("note-1", "R-0002", "wx-1");
    stage.acknowledged(wechat, &event).await?;
    let stuck = |outcome| {
        let What::Refunded(refund) = refunded("2", "10.00", "10.00") else { unreachable!("it is a refund") };
        What::Refunded(Refund { outcome, ..refund })
    };
    stage.acknowledged(wechat, &of(&event, "note-2", stuck(Outcome::Abnormal))).await?;
    assert_eq!(stage.alerts("kind=refund_attention&status=open").await?.len(), 1);
    stage.acknowledged(wechat, &of(&event, "note-3", stuck(Outcome::Closed))).await?;
    let alerts = stage.alerts("kind=refund_attention").await?;
    let answered: Vec<_> = alerts.iter().map(|alert| &alert["action"]).collect();
    assert_eq!(answered, ["superseded"], "it has been ended at the provider");
    let payment = stage.payment("R-0002").await?;
    assert_eq!(verdicts(&payment), ["settled", "held", "refund_failed"]);
    assert_eq!(state_of(&payment, "wx-1"), Some("settled"));
    stage.finish().await
}

#[tokio::test]
async fn a_refund_that_counts_already_and_is_told_of_other_money_is_asked_about() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let standard = Provider::Standard;
    for (number, money) in [("K-0001", "pay_1"), ("K-0002", "pay_2")] {
        stage.place(standard, number).await?;
        let event = paid(&format!("msg_{money}"), number, money);
        stage.acknowledged(standard, &event).await?;
        stage
            .acknowledged(standard, &of(&event, &format!("msg_r_{money}"), refunded("1", "10.00", "10.00")))
            .await?;
    }
    assert_eq!(stage.order("K-0001").await?["refunded_amount"], "10.00");
    assert_eq!(stage.order("K-0002").await?["refunded_amount"], "0.00");
    let alert = stage.alerts("status=open").await?.remove(0);
    assert_eq!(
        (&alert["kind"], &alert["payment_no"], &alert["received"]["amount"]),
        (&json!("refund_mismatched"), &json!("K-0002"), &json!("10.00"))
    );
    assert_eq!(alert["detail"], "the refund re_1 counts already, as 10.00 CNY of the money pay_1");
    assert_eq!(verdicts(&stage.payment("K-0002").await?), ["settled", "held"]);
    stage.finish().await
}

#[tokio::test]
async fn a_stuck_refund_of_money_that_has_not_come_is_asked_about_and_its_payment_is_not_mismatched()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let wechat = Provider::WechatPay;
    let event = paid("note-1", "S-0001", "wx-1");
    let What::Refunded(refund) = refunded("1", "10.00", "10.00") else { unreachable!("it is a refund") };
    let stuck = What::Refunded(Refund { outcome: Outcome::Abnormal, ..refund });
    stage.acknowledged(wechat, &of(&event, "note-0", stuck)).await?;
    stage.clock.advance(std::time::Duration::from_secs(16 * 60));
    assert_eq!(stage.sweep().await?, 0, "nothing was received that could be asked about");
    stage.place(wechat, "S-0001").await?;
    assert_eq!(state_of(&stage.payment("S-0001").await?, "wx-1"), Some("unmatched"));
    stage.acknowledged(wechat, &event).await?;
    assert_eq!(stage.order("S-0001").await?["status"], "paid");
    let kinds: Vec<_> = stage.alerts("").await?.iter().map(|alert| alert["kind"].clone()).collect();
    assert_eq!(kinds, ["refund_attention"]);
    stage.finish().await
}

/// That the refund `re_1`, of 10.00, has failed.
fn failed_refund(payment_id: &str) -> Value {
    json!({
        "id": "re_1", "object": "refund", "amount": 1_000, "currency": "cny", "payment_intent": payment_id,
        "status": "failed", "failure_reason": "expired_or_canceled_card", "metadata": {},
    })
}

#[tokio::test]
async fn a_refund_that_fails_after_it_was_counted_is_asked_about_once() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "F-0001").await?;
    let event = paid("evt_1", "F-0001", "pi_1");
    stage.acknowledged(STRIPE, &event).await?;
    stage.stripe_says("evt_2", "refund.failed", &failed_refund("pi_1")).await?;
    assert_eq!(stage.alerts("").await?.len(), 0, "nothing counts as given back");
    stage.acknowledged(STRIPE, &of(&event, "evt_3", refunded("1", "10.00", "10.00"))).await?;
    for (id, kind) in
        [("evt_4", "refund.failed"), ("evt_5", "charge.refund.updated"), ("evt_6", "refund.updated")]
    {
        stage.stripe_says(id, kind, &failed_refund("pi_1")).await?;
    }
    let alerts = stage.alerts("").await?;
    assert_eq!((alerts.len(), &alerts[0]["kind"]), (1, &json!("refund_attention")));
    assert_eq!(alerts[0]["received"], json!({ "amount": "10.00", "currency": "CNY" }));
    let payment = stage.payment("F-0001").await?;
    assert_eq!(verdicts(&payment), ["settled", "refund_failed", "refunded", "held", "none", "none"]);
    assert_eq!(stage.order("F-0001").await?["refunded_amount"], "10.00", "nothing turns back by itself");
    // Somebody gives the money back at the provider, whose total is then what it was.
    stage.acknowledged(STRIPE, &of(&event, "evt_7", refunded("2", "10.00", "10.00"))).await?;
    assert_eq!(stage.collected("clearing:stripe").await?, "-78.80");
    assert_eq!(stage.resolve(&alerts[0], "dismiss").await?.status, 200);
    stage.finish().await
}
