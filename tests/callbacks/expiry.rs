//! Time that runs out: for payments, and for money that nobody asks for.

use std::time::Duration;

use provider_simulator::Provider;
use provider_simulator::event::What;
use serde_json::json;

use crate::stage::{AMOUNT, Stage, of, paid, paid_with, state_of};

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
    stage.place(STRIPE, "T-0001").await?;
    let event = paid("evt_1", "T-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&event, "evt_0", What::Closed)).await?;
    let order = stage.order("T-0001").await?;
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("expired"), &json!("closed")));
    stage.acknowledged(STRIPE, &event).await?;
    assert_eq!(state_of(&stage.payment("T-0001").await?, "pi_1"), Some("late"));
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
