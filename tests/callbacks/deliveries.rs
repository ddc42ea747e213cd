//! What is shown and kept of deliveries.

use client::store as clients;
use payment_callback::store::deliveries;
use provider_simulator::Provider;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::stage::{Stage, paid, paid_with, verdicts};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn what_paid_is_among_the_deliveries_however_many_came_after_it() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "H-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_paid", "H-0001", "pi_1")).await?;
    for index in 0..101 {
        let again = paid(&format!("evt_{index}"), "H-0001", "pi_1");
        stage.acknowledged(STRIPE, &again).await?;
    }
    let payment = stage.payment("H-0001").await?;
    let deliveries = payment["deliveries"].as_array().expect("a list");
    assert_eq!(deliveries.len(), 101);
    assert_eq!(deliveries[0]["event_id"], "evt_100");
    assert_eq!(deliveries[100]["event_id"], "evt_paid");
    stage.finish().await
}

#[tokio::test]
async fn a_delivery_that_names_only_the_money_is_among_its_payments() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "H-0002").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "H-0002", "pi_1")).await?;
    let dispute = json!({
        "id": "dp_1", "object": "dispute", "payment_intent": "pi_1", "amount": 8_880, "currency": "cny",
    });
    stage.stripe_says("evt_2", "charge.dispute.created", &dispute).await?;
    stage.stripe_says("evt_4", "charge.dispute.funds_withdrawn", &dispute).await?;
    let charge = json!({
        "id": "ch_1", "object": "charge", "payment_intent": "pi_1", "amount_refunded": 1_000, "currency": "cny",
    });
    stage.stripe_says("evt_3", "charge.refunded", &charge).await?;
    let payment = stage.payment("H-0002").await?;
    assert_eq!(verdicts(&payment), ["settled", "held", "none", "refunded"]);
    let alerts = stage.alerts("kind=disputed&status=open").await?;
    assert_eq!(alerts.len(), 1, "a dispute is asked about once");
    assert_eq!(
        (&alerts[0]["payment_no"], &alerts[0]["received"]["amount"]),
        (&json!("H-0002"), &json!("88.80"))
    );
    stage.finish().await
}

#[tokio::test]
async fn the_bytes_that_somebody_has_to_look_at_are_kept_for_a_while_and_no_others() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "Q-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_0", "Q-0001", "pi_0", "1.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "Q-0001", "pi_1")).await?;
    assert_eq!(stage.count("quarantined_bodies").await?, 1);
    let mut connection = PgConnection::connect_with(&stage.server.database).await?;
    let client = clients::find_client(&mut connection, "demo").await?.expect("the demo's client");
    let kept = deliveries::find(&mut connection, client, "stripe", "evt_0").await?.expect("it came");
    let (body, _) = kept.body.expect("its bytes are kept");
    assert!(String::from_utf8(body)?.contains("\"amount_received\": 100,"), "the exact bytes");
    let known = deliveries::find(&mut connection, client, "stripe", "evt_1").await?.expect("it came");
    assert_eq!((known.line.effect.as_str(), known.body), ("settled", None));
    stage.clock.advance(std::time::Duration::from_secs(31 * 24 * 60 * 60));
    let database = stage.server.server().database();
    desk::housekeeping::once(database, &stage.clock).await?;
    assert_eq!(stage.count("quarantined_bodies").await?, 0);
    stage.finish_without_records().await
}
