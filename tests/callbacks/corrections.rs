//! Providers that correct themselves, and people who have decided before that.

use provider_simulator::Provider;
use serde_json::json;

use crate::stage::{AMOUNT, Stage, booked, of, paid, paid_with, refunded, state_of};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn money_that_turns_out_to_be_of_the_orders_currency_pays_it_and_the_other_was_never_there()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "W-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "W-0001", "pi_1", AMOUNT, "USD")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "W-0001", "pi_1")).await?;
    let payment = stage.payment("W-0001").await?;
    assert_eq!((state_of(&payment, "pi_1"), &payment["status"]), (Some("settled"), &json!("settled")));
    assert_eq!(booked(&payment), ["payment_unapplied", "payment_reversed", "payment_settled"]);
    let alert = stage.alerts("").await?.remove(0);
    assert_eq!((&alert["kind"], &alert["action"]), (&json!("mismatched"), &json!("superseded")));

    // What has paid an order is taken back by nobody's word alone.
    stage.acknowledged(STRIPE, &paid_with("evt_3", "W-0001", "pi_1", AMOUNT, "USD")).await?;
    assert_eq!(stage.order("W-0001").await?["status"], "paid");
    assert_eq!(stage.collected("revenue").await?, AMOUNT);
    let alert = stage.alerts("status=open").await?.remove(0);
    assert_eq!(alert["detail"], "the provider reports 88.80 USD");
    stage.finish().await
}

#[tokio::test]
async fn dismissed_money_that_changes_is_judged_anew() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (number, money, then, currency, state) in [
        ("D-0001", "pi_1", AMOUNT, "CNY", "settled"),
        ("D-0002", "pi_2", "70.00", "CNY", "mismatched"),
        ("D-0003", "pi_3", "80.00", "USD", "mismatched"),
    ] {
        stage.place(STRIPE, number).await?;
        let event = paid_with(&format!("evt_1_{money}"), number, money, "80.00", "CNY");
        stage.acknowledged(STRIPE, &event).await?;
        let alert = stage.alerts("status=open").await?.remove(0);
        assert_eq!(stage.resolve(&alert, "dismiss").await?.status, 200);
        let event = paid_with(&format!("evt_2_{money}"), number, money, then, currency);
        stage.acknowledged(STRIPE, &event).await?;
        assert_eq!(state_of(&stage.payment(number).await?, money), Some(state), "{number}");
        let open = stage.alerts("status=open").await?;
        assert_eq!(open.len(), usize::from(state == "mismatched"), "{number}");
        for alert in &open {
            assert_eq!(stage.resolve(alert, "refund").await?.status, 200);
        }
    }
    assert_eq!(stage.order("D-0001").await?["status"], "paid");
    stage.finish().await
}

#[tokio::test]
async fn dismissed_money_without_an_order_pays_the_order_when_it_comes() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (number, money, amount) in [("L-0001", "pi_1", AMOUNT), ("L-0002", "pi_2", "5.00")] {
        let event = paid_with(&format!("evt_{money}"), number, money, amount, "CNY");
        stage.acknowledged(STRIPE, &event).await?;
        stage.clock.advance(std::time::Duration::from_secs(16 * 60));
        stage.sweep().await?;
        let alert = stage.alerts("kind=unmatched&status=open").await?.remove(0);
        assert_eq!(stage.resolve(&alert, "dismiss").await?.status, 200);
    }
    assert_eq!(stage.place(STRIPE, "L-0001").await?["status"], "paid");
    assert_eq!(stage.place(STRIPE, "L-0002").await?["status"], "pending_payment");
    let open = stage.alerts("status=open").await?;
    assert_eq!((open.len(), &open[0]["payment_no"]), (1, &json!("L-0002")));
    assert_eq!(stage.resolve(&open[0], "accept").await?.status, 200);
    assert_eq!(stage.order("L-0002").await?["captured_amount"], "5.00");
    stage.finish().await
}

#[tokio::test]
async fn money_pays_the_payment_that_it_names_whatever_a_refund_has_named_before() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "N-0001").await?;
    stage.place(STRIPE, "N-0002").await?;
    let other = paid("evt_0", "N-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&other, "evt_1", refunded("1", "10.00", "10.00"))).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "N-0002", "pi_1")).await?;
    let order = stage.order("N-0002").await?;
    assert_eq!((&order["status"], &order["refunded_amount"]), (&json!("paid"), &json!("0.00")));
    assert_eq!(stage.order("N-0001").await?["status"], "pending_payment");
    let open = stage.alerts("status=open").await?;
    assert_eq!((open.len(), &open[0]["kind"]), (1, &json!("refund_mismatched")));
    assert_eq!(stage.collected("revenue").await?, AMOUNT);
    // The first number is still its own.
    stage.acknowledged(STRIPE, &paid("evt_3", "N-0001", "pi_2")).await?;
    assert_eq!(stage.order("N-0001").await?["status"], "paid");
    stage.finish().await
}

#[tokio::test]
async fn money_that_names_another_payment_than_before_is_booked_and_pays_neither_by_itself()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "N-0003").await?;
    stage.place(STRIPE, "N-0004").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "N-0003", "pi_1", "80.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "N-0004", "pi_1")).await?;
    assert_eq!(stage.collected("unapplied_receipts").await?, AMOUNT, "all that was received is booked");
    for number in ["N-0003", "N-0004"] {
        assert_eq!(stage.order(number).await?["status"], "pending_payment");
    }
    let open = stage.alerts("status=open").await?;
    assert_eq!((open.len(), &open[0]["received"]["amount"]), (1, &json!(AMOUNT)));
    assert_eq!(open[0]["detail"], "the provider names another payment: N-0004");
    // Its own number again: it is right, and it pays.
    stage.acknowledged(STRIPE, &paid("evt_3", "N-0003", "pi_1")).await?;
    assert_eq!(stage.order("N-0003").await?["status"], "paid");
    assert_eq!(stage.alerts("status=open").await?.len(), 0);
    stage.finish().await
}
