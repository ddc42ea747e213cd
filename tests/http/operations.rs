//! What is there for whoever runs the service, and whoever reads about it.

use std::collections::BTreeSet;
use std::time::Duration;

use consumers::Consumer;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, TestServer, order_body};
use server::listen::reserve;
use server::problem::catalogue::ENTRIES;

use crate::expect;

#[tokio::test]
async fn healthz_and_readyz_say_that_the_service_is_well() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for path in ["/healthz", "/readyz"] {
        expect::ok(&server.anonymous().get(path).await?);
    }
    Ok(())
}

#[tokio::test]
async fn readyz_is_503_while_a_migration_is_missing_and_healthz_is_not() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let pool = sqlx::PgPool::connect_with(server.database.clone()).await?;
    let newest = "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
    sqlx::query(newest).execute(&pool).await?;
    let unready = server.anonymous().get("/readyz").await?;
    expect::problem(&unready, 503, "unavailable");
    assert!(unready.header("retry-after").is_some());
    expect::ok(&server.anonymous().get("/healthz").await?);
    Ok(())
}

#[tokio::test]
async fn readyz_stays_200_while_the_broker_is_away_and_names_it() -> anyhow::Result<()> {
    let nobody = "nats://127.0.0.1:1".parse()?;
    let server = TestServer::start_with(new_database().await?, |settings| settings.broker = nobody).await?;
    let ready = server.anonymous().get("/readyz").await?;
    assert_eq!(expect::ok(&ready)["degraded"], serde_json::json!([]));
    expect::created(&server.demo.order("an-event", "1.00").await?);
    let asking = async {
        loop {
            let ready = server.anonymous().get("/readyz").await?;
            let metrics = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
            // What waits is counted while nothing can be published: that is when somebody has to be told.
            let waiting = metrics.lines().find_map(|line| line.strip_prefix("onefold_outbox_waiting "));
            let waits = waiting.is_some_and(|count| count != "0");
            if expect::ok(&ready)["degraded"] == serde_json::json!(["broker"]) && waits {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await?
}

#[tokio::test]
async fn readyz_of_a_server_that_takes_events_and_publishes_none_names_the_broker_too() -> anyhow::Result<()>
{
    let nobody = "nats://127.0.0.1:1".parse()?;
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.broker = nobody;
        settings.relays = false;
        settings.consumers = vec![Consumer::ReadModel];
    })
    .await?;
    let asking = async {
        loop {
            let ready = server.anonymous().get("/readyz").await?;
            if expect::ok(&ready)["degraded"] == serde_json::json!(["broker"]) {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await?
}

#[tokio::test]
async fn what_is_for_operators_alone_can_be_served_where_nobody_else_comes() -> anyhow::Result<()> {
    let apart = reserve("127.0.0.1:0").await?;
    let server =
        TestServer::start_with(new_database().await?, |settings| settings.operations_listen = Some(apart))
            .await?;
    let operations = server.server().operations_address().expect("it listens there");
    let operators = server.demo.at(&format!("http://{operations}"));
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(operators.get(path).await?.status, 200, "{path}");
    }
    for path in ["/readyz", "/metrics"] {
        expect::problem(&server.anonymous().get(path).await?, 404, "not-found");
    }
    for path in ["/healthz", "/problems", "/openapi.json", "/docs/"] {
        assert_eq!(server.anonymous().get(path).await?.status, 200, "{path}");
    }
    for path in ["/v1/orders", "/docs", "/openapi.json"] {
        expect::problem(&operators.get(path).await?, 404, "not-found");
    }
    expect::created(&server.demo.order("served", "1.00").await?);
    let text = String::from_utf8(operators.get("/metrics").await?.bytes)?;
    assert!(text.contains("POST /v1/orders"), "both are one server: {text}");
    server.shutdown().await;
    assert!(operators.get("/healthz").await.is_err(), "nobody listens any more");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_to_count_nothing_works_and_has_no_metrics() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| settings.metrics = false).await?;
    expect::created(&server.demo.order("uncounted", "1.00").await?);
    expect::problem(&server.anonymous().get("/metrics").await?, 404, "not-found");
    expect::ok(&server.anonymous().get("/readyz").await?);
    Ok(())
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_never_by_id() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    expect::created(&server.demo.order("metrics-key", "1.00").await?);
    expect::created(&server.demo.order("metrics-key", "1.00").await?);
    server.demo.get(&format!("/v1/accounts/{ALICE}")).await?;
    server.demo.get("/v1/no/such/path").await?;
    let metrics = server.anonymous().get("/metrics").await?;
    assert_eq!(metrics.status, 200);
    let text = String::from_utf8(metrics.bytes)?;
    assert!(text.contains("POST /v1/orders"), "{text}");
    assert!(text.contains("/v1/accounts/{id}"), "{text}");
    for secret in [ALICE, "metrics-key", "demo-key", "no/such"] {
        assert!(!text.contains(secret), "the metrics tell {secret}");
    }
    Ok(())
}

#[tokio::test]
async fn every_metric_is_in_the_reference_and_the_reference_has_no_other() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    expect::created(&server.demo.order("metrics-listed", "1.00").await?);
    let forged = server.anonymous().request("POST", "/v1/callbacks/stripe").body("{}");
    assert_eq!(server.demo.send(forged).await?.status, 400);
    let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
    let exported: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| format!("{name} {kind}"))
        .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md");
    let page = std::fs::read_to_string(path)?;
    let listed: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(name, rest)| format!("{name} {}", rest.split(' ').next().unwrap_or_default()))
        .collect();
    assert_eq!(exported, listed, "exported on the left, docs/reference/metrics.md on the right");
    Ok(())
}

#[tokio::test]
async fn a_server_audits_its_books_and_tells_what_differs() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.audit.every = Some(Duration::from_millis(100));
    })
    .await?;
    expect::created(&server.demo.order("audited", "1.00").await?);
    until_exported(&server, |name, value| name == "onefold_books_audited_timestamp_seconds" && value > 0)
        .await?;
    until_exported(&server, |name, value| name == "onefold_books_differ" && value == 0).await?;
    let pool = sqlx::PgPool::connect_with(server.database.clone()).await?;
    sqlx::query("UPDATE accounts SET available = available + 1 WHERE available > 0").execute(&pool).await?;
    until_exported(&server, |name, value| name == "onefold_books_differ" && value > 0).await
}

#[tokio::test]
async fn the_first_audit_does_not_wait_for_the_second() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.audit.every = Some(Duration::from_secs(60 * 60));
        settings.audit.first_within = Duration::ZERO;
    })
    .await?;
    until_exported(&server, |name, value| name == "onefold_books_differ" && value == 0).await
}

#[tokio::test]
async fn books_that_cannot_be_audited_are_not_said_to_be_right() -> anyhow::Result<()> {
    let database = new_database().await?;
    let pool = sqlx::PgPool::connect_with(database.clone()).await?;
    sqlx::query("ALTER TABLE hold_captures RENAME COLUMN amount TO amount_away").execute(&pool).await?;
    let server = TestServer::start_with(database, |settings| {
        settings.audit.every = Some(Duration::from_millis(100));
    })
    .await?;
    let failed = "onefold_books_audits_total{outcome=\"failed\"}";
    until_exported(&server, |name, value| name == failed && value > 0).await?;
    let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
    let is_told = |line: &&str| line.starts_with("onefold_books_differ");
    assert_eq!(text.lines().find(is_told), None);
    Ok(())
}

/// Reads the metrics until a gauge is as it should be, for 30 s at most.
async fn until_exported(server: &TestServer, is_it: impl Fn(&str, i64) -> bool) -> anyhow::Result<()> {
    let asking = async {
        loop {
            let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
            let mut gauges = text.lines().filter_map(|line| line.split_once(' '));
            if gauges.any(|(name, value)| value.parse().is_ok_and(|value| is_it(name, value))) {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await?
}

#[tokio::test]
async fn whatever_clients_send_the_metrics_have_no_more_lines() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let mut sizes = Vec::new();
    for round in 0..3 {
        for number in 0..20 {
            let key = format!("many-{round}-{number}");
            server.demo.order(&key, "0.01").await?;
            server.demo.get(&format!("/v1/orders/{key}")).await?;
            server.anonymous().get(&format!("/{key}")).await?;
        }
        server.anonymous().get("/metrics").await?;
        sizes.push(String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?.lines().count());
    }
    assert_eq!(sizes[1], sizes[2], "{sizes:?}");
    Ok(())
}

#[tokio::test]
async fn requests_without_a_good_key_are_counted_among_the_keys() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = order_body(ALICE, "counted", "1.00").to_string();
    let order = || {
        let request = server.demo.request("POST", "/v1/orders");
        request.header("content-type", "application/json").body(body.clone())
    };
    expect::problem(&server.demo.send(order()).await?, 400, "idempotency-key-missing");
    let malformed = order().header("idempotency-key", "");
    expect::problem(&server.demo.send(malformed).await?, 400, "idempotency-key-malformed");
    let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
    for outcome in ["missing", "malformed"] {
        let line = format!("onefold_idempotency_total{{outcome=\"{outcome}\"}} 1");
        assert!(text.lines().any(|known| known == line), "{line} is missing in\n{text}");
    }
    Ok(())
}

#[tokio::test]
async fn however_often_readyz_is_asked_it_keeps_to_one_connection() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let pool = sqlx::PgPool::connect_with(server.database.clone()).await?;
    let asking = "SELECT array_agg(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'onefold'";
    expect::ok(&server.anonymous().get("/readyz").await?);
    let first: Vec<i32> = sqlx::query_scalar(asking).fetch_one(&pool).await?;
    for _ in 0..5 {
        expect::ok(&server.anonymous().get("/readyz").await?);
    }
    let then: Vec<i32> = sqlx::query_scalar(asking).fetch_one(&pool).await?;
    assert_eq!((first.len(), then), (1, first));
    Ok(())
}

#[tokio::test]
async fn the_openapi_document_is_the_one_that_is_checked_in() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let served = server.anonymous().get("/openapi.json").await?;
    let document = expect::ok(&served);
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi/openapi.json");
    let is_checked_in = std::fs::read(path)? == served.bytes;
    assert!(is_checked_in, "write it anew: cargo run -p server -- openapi > openapi/openapi.json");
    Ok(())
}

#[tokio::test]
async fn the_docs_are_served_whole_by_this_server_alone() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let page = server.anonymous().get("/docs").await?;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html")));
    let html = String::from_utf8(page.bytes)?;
    assert!(!html.contains("//"), "the page loads something from elsewhere: {html}");
    let quoted = html.split('"').filter(|part| part.starts_with("/docs/"));
    let mut files = 0;
    for file in quoted {
        let served = server.anonymous().get(file).await?;
        assert_eq!(served.status, 200, "{file}");
        assert!(!served.bytes.is_empty(), "{file}");
        files += 1;
    }
    assert!(files >= 3, "the page loads a style and scripts: {html}");
    let start = server.anonymous().get("/docs/swagger-initializer.js").await?;
    assert!(String::from_utf8(start.bytes)?.contains("/openapi.json"));
    expect::problem(&server.anonymous().get("/docs/no-such-file").await?, 404, "not-found");
    Ok(())
}

#[tokio::test]
async fn every_kind_of_problem_has_a_page_that_names_its_members() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let index = server.anonymous().get("/problems").await?;
    assert_eq!(index.status, 200);
    let index = String::from_utf8(index.bytes)?;
    for slug in [
        "not-found",
        "method-not-allowed",
        "unauthorized",
        "rate-limited",
        "content-too-large",
        "unsupported-media-type",
        "idempotency-key-missing",
        "idempotency-key-malformed",
        "malformed-json",
        "validation-failed",
        "idempotency-in-progress",
        "idempotency-key-reused",
        "insufficient-funds",
        "currency-mismatch",
        "account-closed",
        "account-not-empty",
        "duplicate-order-no",
        "duplicate-reference",
        "amount-out-of-range",
        "balance-contended",
        "overloaded",
        "unavailable",
        "outcome-unknown",
    ] {
        assert!(ENTRIES.iter().any(|entry| entry.word == slug), "there is no {slug}");
    }
    for entry in ENTRIES {
        let path = format!("/problems/{}", entry.word);
        assert!(index.contains(&path), "{path} is not on the list");
        let page = server.anonymous().get(&path).await?;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html")));
        let page = String::from_utf8(page.bytes)?;
        assert!(page.contains(&entry.status.to_string()), "{path}");
        for (member, _) in entry.members {
            assert!(page.contains(member), "{path} does not name {member}");
        }
    }
    expect::problem(&server.anonymous().get("/problems/no-such-slug").await?, 404, "not-found");
    Ok(())
}

#[tokio::test]
async fn an_answer_under_v1_is_stored_by_no_cache() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let placed = server.demo.post("/v1/orders", "cache", &order_body(ALICE, "cache", "1.00")).await?;
    assert_eq!(placed.header("cache-control"), Some("no-store"));
    let read = server.demo.get("/v1/orders").await?;
    assert_eq!(read.header("cache-control"), Some("no-store"));
    Ok(())
}
