//! The deliveries of `sequences.json`, to the byte, each with the end that it must come to.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use desk::sweeper::{self, SweepSettings};
use futures::future::join_all;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::{Exchange, TestServer, send};
use payment_callback::{ProviderKind, Purpose};
use serde_json::{Value, json};
use server::endpoints::Endpoint;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::stage::{audited, booked};

/// The vectors of every provider, by id.
fn vectors() -> anyhow::Result<HashMap<String, Value>> {
    let mut vectors = HashMap::new();
    for name in ["stripe", "alipay", "wechatpay", "standardwebhooks"] {
        for vector in file(name)?["vectors"].as_array().context("a list of vectors")? {
            vectors.insert(vector["id"].as_str().context("an id")?.to_owned(), vector.clone());
        }
    }
    Ok(vectors)
}

fn file(name: &str) -> anyhow::Result<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/payment-callback/tests/vectors");
    Ok(serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json")))?)?)
}

/// A server that has the endpoint and the order of a vector, at the vector's time.
struct Stage {
    server: TestServer,
    clock: ManualClock,
    provider: String,
    payment_no: String,
}

impl Stage {
    async fn of(vector: &Value) -> anyhow::Result<Self> {
        let stage = Self::on(new_database().await?, vector).await?;
        stage.place(&vector["order"]).await?;
        Ok(stage)
    }

    /// The same on books that are there, without an order.
    async fn on(database: PgConnectOptions, vector: &Value) -> anyhow::Result<Self> {
        let id = vector["id"].as_str().context("an id")?;
        let provider = id.split('/').next().context("a provider")?.replace("standardwebhooks", "standard");
        let kind = ProviderKind::from_word(&provider).context("a provider that there is")?;
        let adapter = kind.build(vector["config"].clone(), Purpose::Diagnosis)?;
        let now = vector["now"].as_i64().and_then(|now| DateTime::from_timestamp(now, 0));
        let clock = ManualClock::at(now.context("a time")?);
        let server = TestServer::start_with(database, |settings| {
            settings.clock = Arc::new(clock.clone());
            settings.endpoints = vec![Endpoint {
                name: provider.clone(),
                client: "demo".to_owned(),
                provider: Arc::from(adapter),
                payment_expires_in_s: 1_800,
                polled_after: None,
                body_kept: TimeDelta::days(1),
            }];
        })
        .await?;
        // What happens at the very moment of the demo's making counts as the demo's.
        clock.advance(Duration::from_micros(1));
        let payment_no = vector["order"]["order_id"].as_str().context("a number")?.to_owned();
        Ok(Self { server, clock, provider, payment_no })
    }

    async fn place(&self, order: &Value) -> anyhow::Result<()> {
        let currency = &order["currency"];
        let opening = json!({ "owner": "alice", "currency": currency });
        let account = self.server.demo.post("/v1/accounts", "open", &opening).await?.json();
        let body = json!({
            "account_id": account["id"], "client_order_no": "1", "currency": currency, "amount": order["amount"],
            "payment": { "method": "provider", "provider": self.provider, "payment_no": self.payment_no },
        });
        let placed = self.server.demo.post("/v1/orders", "place", &body).await?;
        ensure!(placed.status == 201, "{}", String::from_utf8_lossy(&placed.bytes));
        Ok(())
    }

    async fn deliver(&self, vector: &Value) -> anyhow::Result<Exchange> {
        let path = format!("/v1/callbacks/{}", self.provider);
        let mut request = self.server.anonymous().request("POST", &path);
        for header in vector["request"]["headers"].as_array().context("headers")? {
            let (name, value) = (header[0].as_str(), header[1].as_str());
            request = request.header(name.context("a name")?, value.context("a value")?);
        }
        let body = vector["request"]["body_base64"].as_str().context("a body")?;
        send(request.body(STANDARD.decode(body)?)).await
    }

    /// Lets the order's time run out, and the sweeper find it.
    async fn close(&self) -> anyhow::Result<()> {
        self.clock.advance(Duration::from_secs(1_800));
        let server = self.server.server();
        sweeper::once(server.desk(), server.database(), SweepSettings::default(), &self.clock).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_sequence_of_deliveries_comes_to_the_end_it_must() -> anyhow::Result<()> {
    let vectors = vectors()?;
    let sequences = file("sequences")?;
    let sequences = sequences["sequences"].as_array().context("a list of sequences")?;
    assert!(sequences.len() >= 10);
    for sequence in sequences {
        let id = sequence["id"].as_str().context("an id")?;
        run(sequence, &vectors).await.with_context(|| format!("the sequence {id}"))?;
    }
    Ok(())
}

/// The twin of the given sequence of a wrong amount and the right one.
#[tokio::test]
async fn the_wrong_currency_first_does_not_keep_the_right_money_from_paying() -> anyhow::Result<()> {
    let sequence = json!({
        "deliveries": [
            { "vector": "stripe/currency-mismatch", "expect_ack": 200 },
            { "vector": "stripe/duplicate-other-event-id", "expect_ack": 200 },
        ],
        "expect": { "order": "paid", "credited": "88.80", "held": 1 },
    });
    run(&sequence, &vectors()?).await
}

#[tokio::test]
async fn what_was_not_ours_by_a_wrong_configuration_pays_once_that_is_corrected() -> anyhow::Result<()> {
    let vector = vectors()?.remove("stripe/livemode-mismatch").context("the vector")?;
    let wrong = Stage::of(&vector).await?;
    check_acknowledgement(&wrong.deliver(&vector).await?, &json!(200))?;
    let path = format!("/v1/payments/{}", wrong.payment_no);
    assert_eq!(wrong.server.demo.get(&path).await?.json()["status"], "pending");
    let database = wrong.server.shutdown().await;
    let mut connection = PgConnection::connect_with(&database).await?;
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM quarantined_bodies").fetch_one(&mut connection).await?;
    assert_eq!(kept, 1, "its bytes are kept, for it may be the configuration that is wrong");
    connection.close().await?;

    let mut corrected = vector.clone();
    corrected["config"]["livemode"] = json!(true);
    let right = Stage::on(database, &corrected).await?;
    for _ in 0..2 {
        check_acknowledgement(&right.deliver(&vector).await?, &json!(200))?;
    }
    let payment = right.server.demo.get(&path).await?.json();
    assert_eq!((&payment["status"], booked(&payment)), (&json!("settled"), vec!["payment_settled"]));
    assert_eq!(right.server.demo.get("/v1/payment-alerts").await?.json()["data"], json!([]));
    audited(&right.server.shutdown().await).await
}

async fn run(sequence: &Value, vectors: &HashMap<String, Value>) -> anyhow::Result<()> {
    let deliveries = sequence["deliveries"].as_array().context("deliveries")?;
    let named = |delivery: &Value| {
        let id = delivery["vector"].as_str().unwrap_or_default();
        vectors.get(id).with_context(|| format!("no vector {id}"))
    };
    let stage = Stage::of(named(&deliveries[0])?).await?;
    for delivery in deliveries {
        let vector = named(delivery)?;
        if delivery["given"]["order_status"] == "closed" {
            stage.close().await?;
        }
        // What dies before its commit has left nothing: to the books it is as if it had not come. The deaths themselves are
        // the matter of the proofs.
        if delivery["fault"] == "crash_before_commit" {
            continue;
        }
        set_clock(&stage.clock, vector)?;
        let times = delivery["times"].as_u64().unwrap_or(1);
        let answers = join_all((0..times).map(|_| stage.deliver(vector))).await;
        for answer in answers {
            check_acknowledgement(&answer?, &delivery["expect_ack"])?;
        }
    }
    check_end(&stage, sequence).await?;
    let database = stage.server.shutdown().await;
    audited(&database).await
}

/// A redelivery is signed later.
fn set_clock(clock: &ManualClock, vector: &Value) -> anyhow::Result<()> {
    let now: DateTime<Utc> =
        vector["now"].as_i64().and_then(|now| DateTime::from_timestamp(now, 0)).context("a time")?;
    let ahead = now - desk::Clock::now(clock);
    if let Ok(ahead) = ahead.to_std() {
        clock.advance(ahead);
    }
    Ok(())
}

fn check_acknowledgement(answer: &Exchange, expected: &Value) -> anyhow::Result<()> {
    let body = String::from_utf8_lossy(&answer.bytes);
    let fits = match expected {
        Value::Number(status) => status.as_u64() == Some(answer.status.into()),
        Value::String(text) if text == "success" => answer.status == 200 && body == "success",
        // Whoever loses a race may be told to come again; here all are told at once.
        Value::String(_) => answer.status == 200,
        _ => false,
    };
    ensure!(fits, "{expected} was expected, and {} {body:?} was answered", answer.status);
    Ok(())
}

async fn check_end(stage: &Stage, sequence: &Value) -> anyhow::Result<()> {
    let expect = &sequence["expect"];
    let demo = &stage.server.demo;
    let order = demo.get("/v1/orders?client_order_no=1").await?.json()["data"][0].clone();
    let payment = demo.get(&format!("/v1/payments/{}", stage.payment_no)).await?.json();
    let status = order["status"].as_str().unwrap_or_default();
    match expect["order"].as_str().context("a state of the order")? {
        "paid" => ensure!(status == "paid", "the order is {status}"),
        "paid, partially refunded" | "partially refunded" => {
            ensure!(status == "partially_refunded", "the order is {status}");
        }
        // Ours: the order stays expired, and the money is owed back.
        "per policy" => ensure!(status == "expired", "the order is {status}"),
        other => anyhow::bail!("an end that nobody knows: {other}"),
    }
    if let Some(credited) = expect["credited"].as_str() {
        ensure!(order["captured_amount"] == credited, "{order}");
    }
    if let Some(refunded) = expect["refunded"].as_str() {
        ensure!(order["refunded_amount"] == refunded, "{order}");
    }
    if let Some(entries) = expect["ledger_entries"].as_u64() {
        ensure!(booked(&payment).len() as u64 == entries, "{payment}");
    }
    if let Some(rows) = expect["inbox_rows"].as_u64() {
        ensure!(payment["deliveries"].as_array().map(Vec::len) == usize::try_from(rows).ok(), "{payment}");
    }
    let alerts = demo.get("/v1/payment-alerts").await?.json()["data"].as_array().context("a list")?.clone();
    let held = expect["held"].as_u64().unwrap_or(0);
    let late = u64::from(expect["money_recorded"].is_string());
    ensure!(alerts.len() as u64 == held + late, "{alerts:#?}");
    if let Some(recorded) = expect["money_recorded"].as_str() {
        ensure!(payment["receipts"][0]["amount"] == recorded, "{payment}");
        ensure!(payment["receipts"][0]["state"] == "late", "{payment}");
    }
    Ok(())
}
