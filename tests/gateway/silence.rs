//! The database says nothing: what needs none of it is answered.

use std::time::Duration;

use onefold_tests::http::{Caller, Exchange, TestServer, order_body};
use onefold_tests::own_cluster::OwnCluster;
use onefold_tests::redis::RedisServer;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::pair::{is_answer, place, repeats, replayed};

/// Two accounts of the demo, of one currency.
const ALICE: &str = "01900000-0000-7000-8000-00000000000a";
const BOB: &str = "01900000-0000-7000-8000-00000000000b";

/// For how long the database is silent: twice as long as an API key is remembered, and a little more.
const SILENCE: Duration = Duration::from_millis(2_200);

#[tokio::test]
async fn repeats_are_answered_while_the_database_is_stopped_by_the_server_and_by_another_one()
-> anyhow::Result<()> {
    let (cluster, redis) = (OwnCluster::start(&[]).await?, RedisServer::start().await?);
    let database = cluster.new_bare_database("silent").await?;
    let repeats = repeats(&[redis.url()], Duration::from_millis(500), Duration::from_secs(600))?;
    let start = || {
        TestServer::start_with(database.clone(), |settings| {
            settings.repeats = Some(repeats.clone());
            settings.http.api_key_grace = Duration::from_secs(60);
            // A new request is told so much sooner that nothing can be done.
            settings.http.request_timeout = Duration::from_secs(2);
        })
    };
    let (one, other) = (start().await?, start().await?);
    let asked = every_operation(&one.demo).await?;
    for Asked { key, .. } in &asked {
        redis.wait_for(&place(key), is_answer).await?;
    }
    // So that the other one knows whose the key is.
    assert_eq!(other.demo.get("/v1/skus").await?.status, 200);

    cluster.pause()?;
    let began = Instant::now();
    let mut rounds = 0;
    while began.elapsed() < SILENCE {
        for server in [&one, &other] {
            for Asked { path, key, body, first } in &asked {
                replayed(&server.demo.post(path, key, body).await?, first);
            }
        }
        rounds += 1;
        sleep(Duration::from_millis(10)).await;
    }
    assert!(rounds > 1);
    let new = one.demo.order("new", "0.10").await?;
    assert_eq!(new.status, 503, "an effect without a database: {new:?}");
    cluster.resume()?;
    let again = one.demo.order("new", "0.10").await?;
    assert!([201, 409].contains(&again.status), "{again:?}");
    one.shutdown().await;
    other.shutdown().await;
    cluster.stop().await
}

/// A request, and what it was answered first.
struct Asked {
    path: String,
    key: String,
    body: Value,
    first: Exchange,
}

/// Asks for one effect of each operation, and for what is refused, each under a key of its own.
async fn every_operation(demo: &Caller) -> anyhow::Result<Vec<Asked>> {
    let mut asked: Vec<Asked> = Vec::new();
    let mut ask = async |path: &str, status: u16, body: Value| -> anyhow::Result<String> {
        let key = format!("k{}", asked.len());
        let first = demo.post(path, &key, &body).await?;
        assert_eq!(first.status, status, "{path}: {first:?}");
        let id = first.json()["id"].as_str().unwrap_or_default().to_owned();
        asked.push(Asked { path: path.to_owned(), key, body, first });
        Ok(id)
    };
    let named = |reference: &str| json!({ "amount": "0.10", "currency": "CNY", "reference": reference });
    let frozen = |number: &str| {
        let mut body = order_body(ALICE, number, "0.30");
        body["payment"] = json!({ "method": "hold" });
        body
    };

    let opened = ask("/v1/accounts", 201, json!({ "currency": "CNY", "owner": "carol" })).await?;
    ask(&format!("/v1/accounts/{opened}/close"), 200, json!({})).await?;
    ask(&format!("/v1/accounts/{ALICE}/deposits"), 201, named("D-1")).await?;
    ask(&format!("/v1/accounts/{ALICE}/withdrawals"), 201, named("W-1")).await?;
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "0.10", "currency": "CNY", "reference": "T-1"
    });
    ask("/v1/transfers", 201, transfer).await?;
    let hold = ask(&format!("/v1/accounts/{ALICE}/holds"), 201, named("H-1")).await?;
    ask(&format!("/v1/holds/{hold}/capture"), 200, json!({})).await?;
    let hold = ask(&format!("/v1/accounts/{ALICE}/holds"), 201, named("H-2")).await?;
    ask(&format!("/v1/holds/{hold}/release"), 200, json!({})).await?;
    ask(&format!("/v1/holds/{hold}/capture"), 409, json!({ "amount": "0.1" })).await?;
    let order = ask("/v1/orders", 201, frozen("A-1")).await?;
    let part = json!({ "amount": "0.2", "final": false, "reference": "C-1" });
    ask(&format!("/v1/orders/{order}/capture"), 200, part).await?;
    ask(&format!("/v1/orders/{order}/capture"), 200, json!({})).await?;
    let refund = json!({ "amount": "0.1", "reference": "R-1" });
    ask(&format!("/v1/orders/{order}/refunds"), 201, refund).await?;
    let order = ask("/v1/orders", 201, frozen("A-2")).await?;
    ask(&format!("/v1/orders/{order}/cancel"), 200, json!({})).await?;
    ask(&format!("/v1/orders/{opened}/cancel"), 404, json!({})).await?;
    Ok(asked)
}
