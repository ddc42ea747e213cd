//! What has become of an order paid from the balance, step by step.

use onefold_tests::http::{ALICE, TestServer, order_body};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::expect;

#[tokio::test]
async fn the_placing_of_an_order_is_told_with_its_key_and_its_journal_row() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let placed = server.demo.post("/v1/orders", "k-7", &order_body(ALICE, "H-1", "12.50")).await?;
    let order = expect::created(&placed);
    let path = format!("/v1/orders/{}/history", order["id"].as_str().expect("an id"));
    let history = expect::ok(&server.demo.get(&path).await?);
    let [step] = &history["data"].as_array().expect("steps")[..] else { panic!("{history}") };
    let entry_id = &step["journal"][0]["id"];
    assert!(entry_id.is_string(), "{step}");
    assert_eq!(
        *step,
        json!({
            "at": order["created_at"],
            "by": { "kind": "request", "idempotency_key": "k-7" },
            "changes": [{
                "change": "placed", "version": 1, "status": "paid", "captured_amount": "12.50",
                "refunded_amount": "0.00",
            }],
            "journal": [{
                "id": entry_id, "kind": "order_payment", "amount": "12.50", "currency": "CNY", "debit_account": ALICE,
                "credit_account": "revenue",
            }],
        })
    );
    assert!(history["next_cursor"].is_null());
    Ok(())
}

#[tokio::test]
async fn a_history_outlives_the_records_and_the_events() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = expect::created(&server.demo.order("H-1", "1.00").await?);
    let path = format!("/v1/orders/{}/history", order["id"].as_str().expect("an id"));
    let before = server.demo.get(&path).await?;
    let mut owner = PgConnection::connect_with(&server.database).await?;
    for table in ["idempotency_records", "outbox_events"] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("DELETE FROM {table}"))).execute(&mut owner).await?;
    }
    let after = server.demo.get(&path).await?;
    assert_eq!(after.bytes, before.bytes);
    assert_eq!(after.json()["data"][0]["by"]["idempotency_key"], "H-1");
    Ok(())
}

#[tokio::test]
async fn a_refused_retry_and_a_replay_leave_no_step() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = expect::created(&server.demo.order("H-1", "1.00").await?);
    assert!(server.demo.order("H-1", "1.00").await?.replayed());
    let refused = server.demo.post("/v1/orders", "other", &order_body(ALICE, "H-1", "1.00")).await?;
    expect::problem(&refused, 409, "duplicate-order-no");
    let path = format!("/v1/orders/{}/history", order["id"].as_str().expect("an id"));
    let history = expect::ok(&server.demo.get(&path).await?);
    assert_eq!(history["data"].as_array().map(Vec::len), Some(1), "{history}");
    Ok(())
}

#[tokio::test]
async fn only_its_client_reads_the_history_of_an_order() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = expect::created(&server.demo.order("H-1", "1.00").await?);
    let id = order["id"].as_str().expect("an id");
    let stranger = server.another_client().await?;
    expect::problem(&stranger.get(&format!("/v1/orders/{id}/history")).await?, 404, "not-found");
    expect::problem(&server.demo.get("/v1/orders/x/history").await?, 404, "not-found");
    let bad = server.demo.get(&format!("/v1/orders/{id}/history?limit=0&from=x")).await?;
    assert_eq!(expect::faults(&bad), ["/from", "/limit"]);
    Ok(())
}
