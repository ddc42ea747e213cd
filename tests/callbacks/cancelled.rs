//! An order at a provider that is called off, and money that comes all the same.

use std::time::Duration;

use provider_simulator::Provider;
use serde_json::{Value, json};

use crate::stage::{AMOUNT, Stage, booked, paid, paid_with, state_of};

const STRIPE: Provider = Provider::Stripe;
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

/// Calls the order of this number off.
async fn cancel(stage: &Stage, number: &str) -> anyhow::Result<onefold_tests::http::Exchange> {
    let order = stage.order(number).await?;
    let path = format!("/v1/orders/{}/cancel", order["id"].as_str().unwrap_or_default());
    stage.demo().post(&path, &format!("cancel-{number}"), &json!({})).await
}

/// An order of a seat, whose payment is awaited; there are two seats.
async fn place_for_a_seat(stage: &Stage, number: &str) -> anyhow::Result<()> {
    let body = json!({ "price": { "amount": AMOUNT, "currency": "CNY" }, "total": 2 });
    let putting = stage.demo().request("PUT", "/v1/skus/SEAT").header("content-type", "application/json");
    assert!(stage.demo().send(putting.body(body.to_string())).await?.status < 300);
    let mut body = crate::stage::order_of(STRIPE, number);
    body["items"] = json!([{ "sku": "SEAT", "quantity": 1 }]);
    let placed = stage.demo().post("/v1/orders", &format!("place-{number}"), &body).await?;
    assert_eq!(placed.status, 201, "{}", String::from_utf8_lossy(&placed.bytes));
    Ok(())
}

async fn seats(stage: &Stage) -> anyhow::Result<(Value, Value, Value)> {
    let sku = stage.demo().get("/v1/skus/SEAT").await?.json();
    Ok((sku["available"].clone(), sku["reserved"].clone(), sku["sold"].clone()))
}

#[tokio::test]
async fn a_cancelled_order_closes_its_payment_and_gives_its_stock_back_and_what_is_paid_then_is_late()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    place_for_a_seat(&stage, "X-0001").await?;
    assert_eq!(seats(&stage).await?, (json!(1), json!(1), json!(0)));
    let cancelled = cancel(&stage, "X-0001").await?;
    assert_eq!(cancelled.status, 200, "{}", String::from_utf8_lossy(&cancelled.bytes));
    let order = cancelled.json();
    assert_eq!((&order["status"], &order["payment"]["status"]), (&json!("cancelled"), &json!("closed")));
    assert_eq!(seats(&stage).await?, (json!(2), json!(0), json!(0)));
    assert!(cancel(&stage, "X-0001").await?.replayed());

    stage.acknowledged(STRIPE, &paid("evt_1", "X-0001", "pi_1")).await?;
    let payment = stage.payment("X-0001").await?;
    assert_eq!((state_of(&payment, "pi_1"), &payment["status"]), (Some("late"), &json!("closed")));
    assert_eq!(stage.order("X-0001").await?["status"], "cancelled");
    assert_eq!(seats(&stage).await?, (json!(2), json!(0), json!(0)), "late money buys nothing");
    let alert = stage.alerts("kind=late&status=open").await?.remove(0);
    assert_eq!(stage.resolve(&alert, "accept").await?.slug().as_deref(), Some("alert-not-acceptable"));
    assert_eq!(stage.resolve(&alert, "refund").await?.status, 200);
    assert_eq!(stage.collected("refunds_owed").await?, AMOUNT);
    stage.finish().await
}

#[tokio::test]
async fn an_order_that_is_paid_or_due_is_not_cancelled_and_its_state_is_named() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for number in ["X-0001", "X-0002"] {
        stage.place(STRIPE, number).await?;
    }
    stage.acknowledged(STRIPE, &paid("evt_1", "X-0001", "pi_1")).await?;
    stage.clock.advance(HALF_AN_HOUR);
    for (number, state) in [("X-0001", "paid"), ("X-0002", "expired")] {
        let refused = cancel(&stage, number).await?;
        assert_eq!(refused.slug().as_deref(), Some("order-state-conflict"), "{number}");
        assert_eq!(refused.json()["state"], state, "{number}");
    }
    stage.finish().await
}

#[tokio::test]
async fn what_was_paid_wrongly_for_an_order_that_is_called_off_can_be_owed_back_and_not_accepted()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "X-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "X-0001", "pi_1", "80.00", "CNY")).await?;
    let alert = stage.alerts("kind=mismatched&status=open").await?.remove(0);
    assert_eq!(cancel(&stage, "X-0001").await?.status, 200);
    assert_eq!(stage.resolve(&alert, "accept").await?.slug().as_deref(), Some("alert-not-acceptable"));
    assert_eq!(stage.resolve(&alert, "refund").await?.status, 200);
    assert_eq!(stage.collected("refunds_owed").await?, "80.00");
    assert_eq!(stage.collected("unapplied_receipts").await?, "0.00");
    stage.finish().await
}

/// Two servers on one database: what meets in the payment's row is two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_cancelling_and_a_payment_at_once_one_wins_and_the_money_is_in_the_books() -> anyhow::Result<()>
{
    let stage = Stage::start().await?;
    let other =
        Stage::start_on(stage.server.database.clone(), desk::Settings::default(), desk::Hooks::default())
            .await?;
    for round in 0..20 {
        let (number, money) = (format!("X-{round:04}"), format!("pi_{round}"));
        stage.place(STRIPE, &number).await?;
        let event = paid(&format!("evt_{round}"), &number, &money);
        let (called_off, told) = tokio::join!(cancel(&stage, &number), other.acknowledged(STRIPE, &event));
        told?;
        let called_off = called_off?;
        let (order, payment) = (stage.order(&number).await?, stage.payment(&number).await?);
        match called_off.status {
            200 => {
                assert_eq!((&order["status"], &payment["status"]), (&json!("cancelled"), &json!("closed")));
                assert_eq!(
                    (state_of(&payment, &money), booked(&payment)),
                    (Some("late"), vec!["payment_unapplied"])
                );
            }
            _ => {
                assert_eq!(called_off.json()["state"], "paid");
                assert_eq!((&order["status"], &payment["status"]), (&json!("paid"), &json!("settled")));
                assert_eq!(booked(&payment), ["payment_settled"]);
            }
        }
    }
    other.server.shutdown().await;
    stage.finish().await
}
