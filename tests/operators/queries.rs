//! The dashboard and the alerts, asked of a real Prometheus that scrapes a real server at work.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use consumers::Consumer;
use desk::{Clock, SystemClock};
use gateway::repeats;
use gateway::repeats::seal::Seal;
use onefold_tests::callbacks::deliver;
use onefold_tests::dashboard::Dashboard;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, TestServer, order_body};
use onefold_tests::redis::RedisServer;
use provider_simulator::event::{Event, Payment, What};
use provider_simulator::{Amount, Provider};
use serde_json::json;
use tokio::time::{Instant, interval, sleep};

use crate::prometheus::{LOOK_AGAIN, Prometheus, Rule};

/// How long the answer to a question may stay empty, all questions together.
const FOUND_WITHIN: Duration = Duration::from_secs(30);

/// What Grafana would make of `$__rate_interval` at such a scrape interval, and longer than the test takes.
const RATE_INTERVAL: &str = "1m";

/// The pause between two rounds of the load.
const ROUND: Duration = Duration::from_millis(50);

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_dashboard_that_grafana_reads_is_made_from_the_file_that_people_read() -> anyhow::Result<()> {
    let made = Dashboard::read(&tree())?.json();
    let kept = fs::read_to_string(tree().join("deploy/grafana/dashboards/onefold.json"))?;
    let remedy = "cargo run -p onefold-tests --bin dashboard > deploy/grafana/dashboards/onefold.json";
    assert!(made == kept, "deploy/grafana/dashboards/onefold.json is out of date; write it anew:\n{remedy}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_of_the_dashboard_and_every_series_of_an_alert_is_found_in_a_real_run()
-> anyhow::Result<()> {
    let often = Some(Duration::from_secs(1));
    let redis = RedisServer::start().await?;
    let repeats = repeats::Settings {
        redis: vec![redis.url()],
        is_cluster: false,
        redis_ca: None,
        seal: Seal::new(b"the secret of this test, 0123456789", None)?,
        wait_max: Duration::from_millis(50),
        answers_kept: Duration::from_secs(60),
        names_max: 10_000,
    };
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.audit.every = often;
        settings.consumers = Consumer::ALL.to_vec();
        settings.repeats = Some(repeats);
    })
    .await?;
    let scraped = server.url().trim_start_matches("http://").to_owned();
    let prometheus = Prometheus::start(&scraped, &tree().join("deploy/prometheus/rules.yml")).await?;
    fail_once(&server).await?;
    tokio::select! {
        found = everything_is_found(&prometheus) => found,
        failed = load(&server) => failed,
    }
}

async fn everything_is_found(prometheus: &Prometheus) -> anyhow::Result<()> {
    let deadline = Instant::now() + FOUND_WITHIN;
    let dashboard = Dashboard::read(&tree())?;
    for (panel, query) in dashboard.queries() {
        let expression = query.expr.replace("$__rate_interval", RATE_INTERVAL);
        is_found(prometheus, &panel, &expression, deadline).await?;
    }
    let rules = loop {
        let rules = prometheus.rules().await?;
        let Some(faulty) = rules.iter().find(|rule| rule.health != "ok") else { break rules };
        let Rule { name, health, error, .. } = faulty;
        ensure!(Instant::now() < deadline, "{name} is not evaluated without an error: {health} {error}");
        sleep(LOOK_AGAIN).await;
    };
    ensure!(rules.len() > 10, "few rules were read: {rules:#?}");
    for rule in &rules {
        // A rule that keeps still finds nothing; what it looks at must be there all the same.
        for selector in selectors(&rule.expression) {
            is_found(prometheus, &rule.name, &selector, deadline).await?;
        }
    }
    Ok(())
}

/// Asks until there is a number among what is found.
async fn is_found(
    prometheus: &Prometheus,
    asked_by: &str,
    expression: &str,
    deadline: Instant,
) -> anyhow::Result<()> {
    while !prometheus.query(expression).await?.iter().any(|value| value.is_finite()) {
        ensure!(Instant::now() < deadline, "{asked_by} finds nothing: {expression}");
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

/// The series that an expression looks at.
fn selectors(expression: &str) -> BTreeSet<String> {
    let begins = expression.match_indices("onefold_").map(|(at, _)| at);
    begins
        .map(|at| {
            let rest = &expression[at..];
            let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let name = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
            let labels = match rest[name..].starts_with('{') {
                true => rest[name..].find('}').map_or(0, |end| end + 1),
                false => 0,
            };
            rest[..name + labels].to_owned()
        })
        .collect()
}

#[test]
fn the_series_of_an_expression_are_its_names_with_their_labels() {
    let expression = r#"sum(rate(onefold_a_total{x=~"1|2"}[5m])) / sum(onefold_b) > onefold_c"#;
    let found: Vec<String> = selectors(expression).into_iter().collect();
    assert_eq!(found, [r#"onefold_a_total{x=~"1|2"}"#, "onefold_b", "onefold_c"]);
}

/// Has one request answered with a 5xx, as a server does that lacks a migration.
async fn fail_once(server: &TestServer) -> anyhow::Result<()> {
    let pool = sqlx::PgPool::connect_with(server.database.clone()).await?;
    let newest = "UPDATE _sqlx_migrations SET version = -version
        WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
    sqlx::query(newest).execute(&pool).await?;
    let unready = server.anonymous().get("/readyz").await?;
    ensure!(unready.status == 503, "{unready:?}");
    sqlx::query("UPDATE _sqlx_migrations SET version = -version WHERE version < 0").execute(&pool).await?;
    pool.close().await;
    Ok(())
}

/// Something of everything, over and over: orders, repeats, refusals, wrong keys, and payments at a provider.
async fn load(server: &TestServer) -> anyhow::Result<()> {
    let (demo, anonymous) = (&server.demo, server.anonymous());
    let mut rounds = interval(ROUND);
    for round in 0_u64.. {
        rounds.tick().await;
        let key = format!("load-{round}");
        demo.order(&key, "0.01").await?;
        demo.order(&key, "0.01").await?;
        demo.order(&key, "0.02").await?;
        let too_much = format!("much-{round}");
        demo.order(&too_much, "99999999.00").await?;
        demo.order(&too_much, "99999999.00").await?;
        demo.get(&format!("/v1/accounts/{ALICE}")).await?;
        let payment_no = format!("PAY-{round}");
        let mut body = order_body(ALICE, &payment_no, "1.00");
        body["payment"] = json!({ "method": "provider", "provider": "stripe", "payment_no": payment_no });
        demo.post("/v1/orders", &payment_no, &body).await?;
        let paid = Event {
            id: format!("evt_{round}"),
            at: SystemClock.now(),
            payment: Payment {
                payment_no,
                provider_payment_id: format!("pi_{round}"),
                amount: Amount::parse("1.00").map_err(|fault| anyhow::anyhow!("{fault:?}"))?,
                currency: "CNY".to_owned(),
            },
            what: What::Succeeded,
        };
        deliver(&anonymous, Provider::Stripe, &paid, paid.at).await?;
        let forged = anonymous.request("POST", "/v1/callbacks/stripe").body("{}");
        onefold_tests::http::send(forged).await?;
    }
    Ok(())
}
