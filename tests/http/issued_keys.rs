//! Keys that the server makes, and clients that may use no others.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use desk::Clock;
use idempotency::issued::Seals;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Caller, Exchange, TestServer, order_body};
use server::issued_keys::Issuing;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::expect;

const FIRST: &[u8] = b"the first secret of these tests, 4711";
const SECOND: &[u8] = b"the second secret of these tests, 0815";

const PATH: &str = "/v1/idempotency-keys";

/// A server whose demo client must use issued keys, sealed with these secrets.
async fn strict(
    database: PgConnectOptions,
    clock: &ManualClock,
    newest: &[u8],
    before: Option<&[u8]>,
) -> anyhow::Result<TestServer> {
    let seals = Seals::new(newest, before)?;
    TestServer::start_with(database, |settings| {
        settings.clock = Arc::new(clock.clone());
        settings.issuing =
            Issuing { seals: Some(seals), required_of: vec!["demo".to_owned()], ..Issuing::default() };
    })
    .await
}

async fn ask(caller: &Caller) -> anyhow::Result<String> {
    let issued = caller.send(caller.request("POST", PATH)).await?;
    assert_eq!(issued.status, 201, "{}", String::from_utf8_lossy(&issued.bytes));
    Ok(issued.json()["key"].as_str().expect("a key").to_owned())
}

/// Places the order of a number under a key.
async fn place(caller: &Caller, key: &str, number: &str) -> anyhow::Result<Exchange> {
    caller.post("/v1/orders", key, &order_body(ALICE, number, "1.00")).await
}

/// How many orders and records there are.
async fn stored(server: &TestServer) -> anyhow::Result<(i64, i64)> {
    let mut owner = PgConnection::connect_with(&server.database).await?;
    let counts = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM idempotency_records)";
    Ok(sqlx::query_as(counts).fetch_one(&mut owner).await?)
}

/// What the server counted of issued keys: issued, used, expired, not issued.
async fn counted(server: &TestServer) -> anyhow::Result<[u64; 4]> {
    let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
    Ok(["issued", "used", "expired", "not_issued"].map(|event| {
        let name = format!("onefold_issued_keys_total{{event=\"{event}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().expect("a number")
    }))
}

#[tokio::test]
async fn a_key_of_the_server_is_a_key_like_any_other() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let issued = server.demo.send(server.demo.request("POST", PATH)).await?;
    assert_eq!((issued.status, issued.header("cache-control")), (201, Some("no-store")));
    let body = issued.json();
    let expires_at = DateTime::parse_from_rfc3339(body["expires_at"].as_str().expect("a time"))?;
    let left = expires_at.to_utc() - desk::SystemClock.now();
    assert!(left > TimeDelta::hours(23) && left <= TimeDelta::hours(24), "{left}");
    let key = body["key"].as_str().expect("a key");
    let placed = place(&server.demo, key, "I-1").await?;
    expect::created(&placed);
    let again = place(&server.demo, key, "I-1").await?;
    assert!(again.replayed() && again.bytes == placed.bytes);
    expect::problem(&place(&server.demo, key, "I-2").await?, 422, "idempotency-key-reused");
    assert_ne!(ask(&server.demo).await?, ask(&server.demo).await?);
    assert_eq!(counted(&server).await?, [3, 1, 0, 0]);
    // Whoever need not use them may use any.
    expect::created(&place(&server.demo, "of-my-own", "I-3").await?);
    Ok(())
}

#[tokio::test]
async fn a_key_needs_an_api_key_and_no_body() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let post = || server.demo.request("POST", PATH);
    let json = |body: &'static str| post().header("content-type", "application/json").body(body);
    assert_eq!(server.demo.send(json("{}")).await?.status, 201);
    assert_eq!(server.demo.send(post().header("idempotency-key", "k")).await?.status, 201);
    assert_eq!(expect::faults(&server.demo.send(json(r#"{"count":2}"#)).await?), ["/count"]);
    expect::problem(&server.demo.send(json("{")).await?, 400, "malformed-json");
    expect::problem(&server.demo.send(post().body("{}")).await?, 415, "unsupported-media-type");
    let stranger = server.anonymous().request("POST", PATH);
    expect::problem(&onefold_tests::http::send(stranger).await?, 401, "unauthorized");
    assert_eq!(stored(&server).await?, (0, 0), "nothing is stored");
    Ok(())
}

#[tokio::test]
async fn a_client_that_must_use_issued_keys_begins_nothing_under_another() -> anyhow::Result<()> {
    let clock = ManualClock::at_present();
    let server = strict(new_database().await?, &clock, FIRST, None).await?;
    let stranger = server.another_client().await?;
    let key = ask(&server.demo).await?;
    let changed = format!("{}{}", &key[..key.len() - 2], if key.ends_with("AA") { "BA" } else { "AA" });
    let foreign = ask(&stranger).await?;
    let forged = Seals::new(SECOND, None)?.issue(client::ClientId(uuid::Uuid::nil()), clock.now(), [1; 16]);
    for bad in ["of-my-own", "ik1_", &changed, &foreign, forged.as_str()] {
        let refused = place(&server.demo, bad, "I-1").await?;
        expect::problem(&refused, 422, "idempotency-key-not-issued");
        let unknown = server.demo.get(&format!("{PATH}/{bad}")).await?;
        assert_eq!(unknown.status, 404, "nothing is stored under {bad}");
    }
    assert_eq!(stored(&server).await?, (0, 0));
    expect::created(&place(&server.demo, &key, "I-1").await?);
    // It is one client's rule, and not the others'.
    let opened =
        stranger.post("/v1/accounts", "mine", &serde_json::json!({"owner": "o", "currency": "CNY"})).await?;
    assert_eq!(opened.status, 201);
    assert_eq!(counted(&server).await?, [2, 1, 0, 5]);
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_with_the_request_is_told_before_its_key_is_judged() -> anyhow::Result<()> {
    let server = strict(new_database().await?, &ManualClock::at_present(), FIRST, None).await?;
    let refused = server.demo.post("/v1/orders", "of-my-own", &serde_json::json!({})).await?;
    expect::problem(&refused, 422, "validation-failed");
    let refused = server.demo.post_text("/v1/orders", "of-my-own", "{").await?;
    expect::problem(&refused, 400, "malformed-json");
    Ok(())
}

#[tokio::test]
async fn a_key_expires_before_its_first_use_and_never_after_it() -> anyhow::Result<()> {
    let clock = ManualClock::at_present();
    let server = strict(new_database().await?, &clock, FIRST, None).await?;
    let (used, unused) = (ask(&server.demo).await?, ask(&server.demo).await?);
    let last_moment = ask(&server.demo).await?;
    let placed = place(&server.demo, &used, "I-1").await?;
    expect::created(&placed);
    let refused_before = place(&server.demo, &ask(&server.demo).await?, "I-1").await?;
    expect::problem(&refused_before, 409, "duplicate-order-no");
    // Keys count whole milliseconds.
    clock.advance(Duration::from_secs(24 * 3600) - Duration::from_millis(2));
    expect::created(&place(&server.demo, &last_moment, "I-2").await?);
    clock.advance(Duration::from_millis(2));
    let late = place(&server.demo, &unused, "I-3").await?;
    expect::problem(&late, 422, "idempotency-key-expired");
    let again = place(&server.demo, &used, "I-1").await?;
    assert!(again.replayed() && again.bytes == placed.bytes, "a used key replays");
    expect::problem(&place(&server.demo, &used, "I-4").await?, 422, "idempotency-key-reused");
    assert_eq!(stored(&server).await?.0, 2);
    assert_eq!(counted(&server).await?, [4, 3, 1, 0]);
    Ok(())
}

#[tokio::test]
async fn a_secret_takes_the_place_of_another_without_losing_a_key() -> anyhow::Result<()> {
    let clock = ManualClock::at_present();
    let database = new_database().await?;
    let server = strict(database.clone(), &clock, FIRST, None).await?;
    let (used, unused, late) = (ask(&server.demo).await?, ask(&server.demo).await?, ask(&server.demo).await?);
    let placed = place(&server.demo, &used, "I-1").await?;
    server.shutdown().await;

    let server = strict(database.clone(), &clock, SECOND, Some(FIRST)).await?;
    expect::created(&place(&server.demo, &unused, "I-2").await?);
    let new = ask(&server.demo).await?;
    server.shutdown().await;

    let server = strict(database, &clock, SECOND, None).await?;
    expect::created(&place(&server.demo, &new, "I-3").await?);
    expect::problem(&place(&server.demo, &late, "I-4").await?, 422, "idempotency-key-not-issued");
    let again = place(&server.demo, &used, "I-1").await?;
    assert!(again.replayed() && again.bytes == placed.bytes, "whatever became of its secret");
    Ok(())
}

#[tokio::test]
async fn a_rule_that_nobody_could_keep_stops_the_start() -> anyhow::Result<()> {
    let start = async |required_of: &str, demo: bool, seals: Option<Seals>| {
        let started = TestServer::start_with(new_database().await?, |settings| {
            settings.demo = demo;
            settings.issuing =
                Issuing { seals, required_of: vec![required_of.to_owned()], ..Issuing::default() };
        })
        .await;
        anyhow::Ok(started.err().map(|error| format!("{error:#}")))
    };
    let seals = Seals::new(FIRST, None)?;
    let unknown = start("nobody", true, Some(seals)).await?.expect("no start");
    assert!(unknown.contains("there is no client named nobody"), "{unknown}");
    let without = start("demo", false, None).await?.expect("no start");
    assert!(without.contains("needs idempotency.issue_secrets"), "{without}");
    // The demo has a secret that everybody knows.
    assert_eq!(start("demo", true, None).await?, None);
    Ok(())
}
