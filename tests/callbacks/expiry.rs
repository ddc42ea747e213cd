//! Time that runs out: for payments, and for money that nobody asks for.

use std::time::Duration;

use chrono::TimeDelta;
use client::ClientId;
use payment_callback::store::{payments, receipts};
use provider_simulator::Provider;
use provider_simulator::event::What;
use serde_json::json;
use uuid::Uuid;

use crate::stage::{AMOUNT, Stage, of, paid, paid_with, refunded, state_of, verdicts};

const STRIPE: Provider = Provider::Stripe;
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

#[tokio::test]
async fn a_payment_whose_time_is_over_expires_with_its_order() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "T-0001").await?;
    stage.sweep().await?;
    assert_eq!(stage.order("T-0001").await?["status"], "pending_payment");
    stage.clock.advance(HALF_AN_HOUR);
    stage.sweep().await?;
    let order = stage.order("T-0001").await?;
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("expired"), &json!("expired")));
    assert_eq!(stage.sweep().await?, 0, "nothing is due any more");
    stage.finish().await
}

#[tokio::test]
async fn money_that_comes_late_is_late_whether_the_sweeper_was_there_or_not() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for number in ["T-0001", "T-0002"] {
        stage.place(STRIPE, number).await?;
    }
    stage.clock.advance(HALF_AN_HOUR);
    // The server's own sweeper may be faster or slower than this: it makes no difference.
    stage.acknowledged(STRIPE, &paid("evt_1", "T-0001", "pi_1")).await?;
    stage.sweep().await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "T-0002", "pi_2")).await?;
    for (number, money) in [("T-0001", "pi_1"), ("T-0002", "pi_2")] {
        assert_eq!(stage.order(number).await?["status"], "expired");
        let payment = stage.payment(number).await?;
        assert_eq!((state_of(&payment, money), &payment["status"]), (Some("late"), &json!("expired")));
    }
    let alerts = stage.alerts("kind=late&status=open").await?;
    assert_eq!(alerts.len(), 2);
    assert_eq!(stage.resolve(&alerts[0], "accept").await?.slug().as_deref(), Some("alert-not-acceptable"));
    assert_eq!(stage.resolve(&alerts[1], "refund").await?.status, 200);
    assert_eq!(stage.collected("refunds_owed").await?, AMOUNT);
    stage.finish().await
}

#[tokio::test]
async fn at_the_very_moment_of_its_expiry_a_payment_is_expired_and_just_before_it_is_not()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for number in ["T-0001", "T-0002"] {
        stage.place(STRIPE, number).await?;
    }
    stage.clock.advance(HALF_AN_HOUR - Duration::from_micros(1));
    let in_time = paid("evt_1", "T-0001", "pi_1");
    let (swept, told) = tokio::join!(stage.sweep(), stage.acknowledged(STRIPE, &in_time));
    swept?;
    told?;
    assert_eq!(stage.order("T-0001").await?["status"], "paid");
    stage.clock.advance(Duration::from_micros(1));
    let too_late = paid("evt_2", "T-0002", "pi_2");
    let (swept, told) = tokio::join!(stage.sweep(), stage.acknowledged(STRIPE, &too_late));
    swept?;
    told?;
    assert_eq!(stage.order("T-0002").await?["status"], "expired");
    assert_eq!(state_of(&stage.payment("T-0002").await?, "pi_2"), Some("late"));
    stage.finish().await
}

#[tokio::test]
async fn a_payment_that_the_provider_has_closed_is_over_and_money_for_it_is_late() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let alipay = Provider::Alipay;
    stage.place(alipay, "T-0001").await?;
    let event = paid("note-1", "T-0001", "trade-1");
    stage.acknowledged(alipay, &of(&event, "note-0", What::Closed)).await?;
    let order = stage.order("T-0001").await?;
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("expired"), &json!("closed")));
    stage.acknowledged(alipay, &event).await?;
    assert_eq!(state_of(&stage.payment("T-0001").await?, "trade-1"), Some("late"));
    stage.finish().await
}

#[tokio::test]
async fn an_intent_that_is_called_off_leaves_the_payment_to_the_next_one() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "T-0001").await?;
    let first = paid("evt_1", "T-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&first, "evt_0", What::Closed)).await?;
    assert_eq!(stage.order("T-0001").await?["status"], "pending_payment");
    stage.acknowledged(STRIPE, &paid("evt_2", "T-0001", "pi_2")).await?;
    assert_eq!(stage.order("T-0001").await?["status"], "paid");
    assert_eq!(verdicts(&stage.payment("T-0001").await?), ["failure_noted", "settled"]);
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn money_that_nobody_asks_for_is_asked_about_after_a_while_and_once() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "U-0001", "pi_1", "5.00", "CNY")).await?;
    stage.sweep().await?;
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.clock.advance(Duration::from_secs(15 * 60));
    stage.sweep().await?;
    stage.sweep().await?;
    let alerts = stage.alerts("").await?;
    assert_eq!(alerts.len(), 1);
    assert_eq!(
        (&alerts[0]["kind"], &alerts[0]["received"]),
        (&json!("unmatched"), &json!({ "amount": "5.00", "currency": "CNY" }))
    );
    // The order comes after all, and costs something else: the question is another now.
    stage.place(STRIPE, "U-0001").await?;
    let kinds: Vec<_> =
        stage.alerts("status=open").await?.iter().map(|alert| alert["kind"].clone()).collect();
    assert_eq!(kinds, ["mismatched"]);
    stage.finish().await
}

#[tokio::test]
async fn what_is_no_amount_is_late_or_in_excess_where_money_would_be_until_an_amount_comes()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let standard = Provider::Standard;
    // A currency that there is none of.
    let odd = |id: &str, number: &str, money: &str| paid_with(id, number, money, "88.80", "QQQ");
    for (number, money, state) in [("N-0001", "pay_1", "excess"), ("N-0002", "pay_2", "late")] {
        stage.place(standard, number).await?;
        match state {
            "excess" => stage.acknowledged(standard, &paid("msg_first", number, "pay_first")).await?,
            _ => stage.clock.advance(Duration::from_secs(30 * 60)),
        }
        stage.acknowledged(standard, &odd(&format!("msg_{money}"), number, money)).await?;
        let payment = stage.payment(number).await?;
        assert_eq!(state_of(&payment, money), Some(state));
        let alert = stage.alerts("status=open").await?.remove(0);
        assert_eq!((&alert["kind"], &alert["received"]), (&json!(state), &json!(null)));
        assert_eq!(alert["detail"], "the provider reports 88.80 QQQ");

        stage.acknowledged(standard, &paid(&format!("msg_good_{money}"), number, money)).await?;
        let payment = stage.payment(number).await?;
        assert_eq!(state_of(&payment, money), Some(state));
        let receipts = payment["receipts"].as_array().expect("a list");
        assert!(receipts.iter().all(|receipt| receipt["reported"].is_null()), "{receipts:?}");
        let open = stage.alerts("status=open").await?;
        assert_eq!(open[0]["received"]["amount"], AMOUNT, "the question is about the amount now");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_row_that_is_due_once_more_is_not_answered_from_the_record_of_the_first_time() -> anyhow::Result<()>
{
    let stage = Stage::start().await?;
    let event = paid("evt_1", "D-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&event, "evt_0", refunded("1", "10.00", "10.00"))).await?;
    stage.clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(stage.sweep().await?, 1);
    let asked = stage.alerts("status=open").await?;
    assert_eq!(asked[0]["kind"], "refund_mismatched", "the payment was not told of");
    // It is told of, which answers the question; nobody has placed an order for it, which is another.
    stage.acknowledged(STRIPE, &event).await?;
    assert_eq!(stage.alerts("status=open").await?.len(), 0);
    assert_eq!(stage.sweep().await?, 1);
    assert_eq!(stage.alerts("status=open").await?[0]["kind"], "unmatched");
    // It grows: the question that is open is about what there is now.
    stage.acknowledged(STRIPE, &paid_with("evt_2", "D-0001", "pi_1", "99.00", "CNY")).await?;
    let open = stage.alerts("status=open").await?;
    assert_eq!((open.len(), &open[0]["received"]["amount"]), (1, &json!("99.00")));
    assert_eq!(stage.sweep().await?, 0);
    stage.finish().await
}

#[tokio::test]
async fn of_many_clients_only_those_are_looked_at_that_have_something_due() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let nobody = ClientId(Uuid::max());
    let clients = [server::demo::CLIENT_ID, nobody];
    let pool = stage.server.server().database().pool().clone();
    stage.place(STRIPE, "M-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "M-0002", "pi_1")).await?;
    let (before, after) = (stage.now(), stage.now() + TimeDelta::minutes(30));
    for (moment, expected) in
        [(before - TimeDelta::seconds(1), vec![]), (after, vec![server::demo::CLIENT_ID])]
    {
        assert_eq!(payments::clients_due(&pool, &clients, moment).await?, expected);
        assert_eq!(receipts::clients_parked_since(&pool, &clients, moment).await?, expected);
    }
    stage.finish().await
}
