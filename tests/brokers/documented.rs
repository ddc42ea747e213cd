//! What is written down about events, and what is emitted: the page, the AsyncAPI document and the service agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use desk::Clock;
use events::Place;
use events::message::Pending;
use jsonschema::Validator;
use onefold_tests::callbacks::{deliver, ensure_acknowledged};
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, BOB, Exchange, TestServer, order_body};
use provider_simulator::event::{Outcome, Payment, Refund, What};
use provider_simulator::{Amount, Event, Provider};
use serde_json::{Value, json};
use server::asyncapi::event_types::EVENT_TYPES;
use server::asyncapi::shapes::SHAPES;
use sqlx::PgPool;

use crate::spectator::until;

/// The page about events, from the tests' own folder.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/events.md");

#[tokio::test]
async fn every_type_is_emitted_as_its_schema_says() -> anyhow::Result<()> {
    let schemas = schemas()?;
    let emitted = one_of_each().await?;
    for event in &emitted {
        let name = event["type"].as_str().context("a type")?;
        valid(&schemas, event).with_context(|| format!("an event {name}"))?;
    }
    let seen: BTreeSet<&str> = emitted.iter().filter_map(|event| event["type"].as_str()).collect();
    let documented: BTreeSet<&str> = EVENT_TYPES.iter().map(|event_type| event_type.name).collect();
    assert_eq!(seen, documented);
    Ok(())
}

#[test]
fn the_page_has_every_type_with_an_example_that_its_schema_allows() -> anyhow::Result<()> {
    let schemas = schemas()?;
    let page = fs::read_to_string(PAGE)?;
    let mut documented = Vec::new();
    for section in page.split("\n### `onefold.").skip(1) {
        let (address, section) = section.split_once('`').context("a heading ends")?;
        let event_type = EVENT_TYPES
            .iter()
            .find(|event_type| event_type.address() == address)
            .with_context(|| format!("there is no type onefold.{address}"))?;
        ensure!(section.contains(event_type.summary), "{address}: {:?} is missing", event_type.summary);
        let carries = format!("[{}](#{})", event_type.shape, event_type.shape.to_lowercase());
        ensure!(section.contains(&carries), "{address}: {carries} is missing");
        let (_, example) =
            section.split_once("```json\n").with_context(|| format!("{address}: no example"))?;
        let (example, _) = example.split_once("```").context("an example ends")?;
        let example: Value = serde_json::from_str(example).with_context(|| address.to_owned())?;
        assert_eq!(example["type"], event_type.name);
        valid(&schemas, &example).with_context(|| format!("the example of {address}"))?;
        documented.push(event_type.name);
    }
    let all: Vec<_> = EVENT_TYPES.iter().map(|event_type| event_type.name).collect();
    assert_eq!(documented, all);
    Ok(())
}

#[test]
fn the_page_has_every_field_of_every_shape() -> anyhow::Result<()> {
    let page = fs::read_to_string(PAGE)?;
    let fields_of = |heading: &str| -> anyhow::Result<BTreeSet<String>> {
        let (_, section) = page.split_once(&format!("\n### {heading}\n")).context(heading.to_owned())?;
        let section = section.split("\n#").next().unwrap_or_default();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        Ok(rows.map(|(field, _)| field.to_owned()).collect())
    };
    for shape in SHAPES {
        let schema = (shape.schema)();
        assert_eq!(fields_of(shape.name)?, properties(&schema), "{}", shape.name);
    }
    let envelope = &server::asyncapi::document()["components"]["schemas"]["Event"];
    assert_eq!(fields_of("Event")?, properties(envelope));
    Ok(())
}

fn properties(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
}

/// The schema of each type, as the AsyncAPI document has it, but that no other field is allowed: what is emitted is
/// documented.
fn schemas() -> anyhow::Result<BTreeMap<&'static str, Validator>> {
    let mut components = server::asyncapi::document()["components"].clone();
    for schema in components["schemas"].as_object_mut().context("schemas")?.values_mut() {
        schema["additionalProperties"] = json!(false);
        let refund = schema["properties"].get_mut("refund").and_then(Value::as_object_mut);
        refund
            .into_iter()
            .for_each(|refund| drop(refund.insert("additionalProperties".into(), false.into())));
    }
    let schema = |name: &'static str| {
        let schema =
            json!({ "$ref": format!("#/components/messages/{name}/payload"), "components": components });
        let validator = jsonschema::options().should_validate_formats(true).build(&schema);
        Ok((name, validator.map_err(|error| anyhow::anyhow!("{name}: {error}"))?))
    };
    EVENT_TYPES.iter().map(|event_type| schema(event_type.name)).collect()
}

fn valid(schemas: &BTreeMap<&'static str, Validator>, event: &Value) -> anyhow::Result<()> {
    let schema = event["type"].as_str().and_then(|name| schemas.get(name));
    let schema = schema.with_context(|| format!("{} is no type", event["type"]))?;
    let faults: Vec<_> =
        schema.iter_errors(event).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    ensure!(faults.is_empty(), "{faults:?} in {event:#}");
    Ok(())
}

/// What a service emits that does everything once.
async fn one_of_each() -> anyhow::Result<Vec<Value>> {
    let clock = ManualClock::at_present();
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.clock = Arc::new(clock.clone());
        // Providers that can be asked, and are not there.
        settings.demo_providers = Some("http://127.0.0.1:1".to_owned());
    })
    .await?;
    clock.advance(Duration::from_millis(1));
    let asking = Asking { server: &server, clock: &clock };

    let account = asking.post("/v1/accounts", json!({ "owner": "dora", "currency": "CNY" })).await?;
    let path = location(&account)?;
    let money = json!({ "amount": "20.00", "currency": "CNY", "reference": "in" });
    asking.post(&format!("{path}/deposits"), money).await?;
    let money = json!({ "amount": "20.00", "currency": "CNY", "reference": "out" });
    asking.post(&format!("{path}/withdrawals"), money).await?;
    asking.post(&format!("{path}/close"), json!({})).await?;
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "5.00", "currency": "CNY", "reference": "gift",
    });
    asking.post("/v1/transfers", transfer).await?;

    asking.holds().await?;
    asking.orders().await?;
    asking.payments().await?;
    let sku = json!({ "price": { "amount": "9.90", "currency": "CNY" }, "total": 7 });
    asking.put("/v1/skus/tea", &sku).await?;

    clock.advance(Duration::from_secs(3_600));
    let pool = PgPool::connect_with(server.database.clone()).await?;
    // What is due is seen to by the server itself.
    let ended = async || {
        let ended =
            "SELECT count(DISTINCT event_type) FROM outbox_events WHERE event_type LIKE '%.expired.v1'";
        Ok(sqlx::query_scalar::<_, i64>(ended).fetch_one(&pool).await? == 2)
    };
    until(|| "an order and a hold expire".to_owned(), ended).await?;
    server.shutdown().await;

    // Nothing is read that is younger than the oldest transaction which runs in the cluster, and other tests run some.
    let mut emitted = Vec::new();
    let all_are_read = async || {
        emitted = read(&pool).await?;
        let written: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox_events").fetch_one(&pool).await?;
        Ok(i64::try_from(emitted.len())? == written)
    };
    until(|| "all that is written is read".to_owned(), all_are_read).await?;
    Ok(emitted)
}

/// All events that may be published, of each client in their order.
async fn read(pool: &PgPool) -> anyhow::Result<Vec<Value>> {
    let mut emitted = Vec::new();
    for client in client::store::all_client_ids(pool).await? {
        let pending = events::store::pending(pool, client, &Place::start(), 10_000).await?;
        let documents = pending.into_iter().map(Pending::message);
        let documents = documents.map(|message| serde_json::from_slice(&message.body));
        emitted.extend(documents.collect::<Result<Vec<Value>, _>>()?);
    }
    Ok(emitted)
}

/// The demo client, who makes up a key for each request.
struct Asking<'s> {
    server: &'s TestServer,
    clock: &'s ManualClock,
}

impl Asking<'_> {
    async fn post(&self, path: &str, body: Value) -> anyhow::Result<Exchange> {
        let key = uuid::Uuid::new_v4().to_string();
        done(path, self.server.demo.post(path, &key, &body).await?)
    }

    async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Exchange> {
        let request = self.server.demo.request("PUT", path).header("content-type", "application/json");
        done(path, self.server.demo.send(request.body(body.to_string())).await?)
    }

    async fn holds(&self) -> anyhow::Result<()> {
        let hold = |seconds: u32| {
            let reference = format!("hold-{seconds}");
            let body = json!({ "amount": "9.00", "currency": "CNY", "reference": reference, "expires_in_seconds": seconds });
            async move { location(&self.post(&format!("/v1/accounts/{ALICE}/holds"), body).await?) }
        };
        let (captured, released) = (hold(60).await?, hold(61).await?);
        self.post(&format!("{captured}/capture"), json!({ "amount": "4.00" })).await?;
        self.post(&format!("{released}/release"), json!({})).await?;
        hold(62).await?;
        Ok(())
    }

    async fn orders(&self) -> anyhow::Result<()> {
        let paid = location(&self.post("/v1/orders", order_body(ALICE, "o-paid", "12.00")).await?)?;
        let refund = json!({ "amount": "2.00", "reference": "r-1" });
        self.post(&format!("{paid}/refunds"), refund).await?;
        for (number, end) in
            [("o-captured", Some("capture")), ("o-cancelled", Some("cancel")), ("o-due", None)]
        {
            let mut body = order_body(ALICE, number, "12.00");
            body["payment"] = json!({ "method": "hold", "expires_in_seconds": 60 });
            let order = location(&self.post("/v1/orders", body).await?)?;
            if let Some(end) = end {
                self.post(&format!("{order}/{end}"), json!({})).await?;
            }
        }
        Ok(())
    }

    async fn tell(&self, provider: Provider, event: &Event) -> anyhow::Result<()> {
        let answer = deliver(&self.server.anonymous(), provider, event, self.clock.now()).await?;
        ensure_acknowledged(provider, &answer)
    }

    async fn payments(&self) -> anyhow::Result<()> {
        for (number, provider, amount) in [
            ("p-exact", Provider::Alipay, "88.80"),
            ("p-closed", Provider::WechatPay, "88.80"),
            ("p-short", Provider::Stripe, "88.79"),
        ] {
            let mut body = order_body(ALICE, number, "88.80");
            let word = provider.to_string();
            body["payment"] = json!({ "method": "provider", "provider": word, "payment_no": number });
            let order = location(&self.post("/v1/orders", body).await?)?;
            let event = Event {
                id: format!("evt_{number}"),
                at: self.clock.now(),
                payment: Payment {
                    payment_no: number.to_owned(),
                    provider_payment_id: format!("pi_{number}"),
                    amount: Amount::parse(amount)?,
                    currency: "CNY".to_owned(),
                },
                what: What::Succeeded,
            };
            self.tell(provider, &event).await?;
            if number == "p-short" {
                continue;
            }
            let refund = json!({ "amount": "8.80", "reference": format!("r-{number}") });
            let refund = self.post(&format!("{order}/refunds"), refund).await?.json();
            let refund_no = refund["id"].as_str().context("an id")?.replace('-', "");
            let told = |id: &str, refund_no: &str, outcome| Event {
                id: format!("{id}-{number}"),
                what: What::Refunded(Refund {
                    refund_no: refund_no.to_owned(),
                    refund_id: format!("re-{number}"),
                    amount: Amount::parse("8.80").expect("an amount"),
                    refunded_total: Amount::parse("8.80").expect("an amount"),
                    outcome,
                }),
                ..event.clone()
            };
            match provider {
                Provider::WechatPay => {
                    self.tell(provider, &told("closed", &refund_no, Outcome::Closed)).await?
                }
                // The total is told by another refund's name first.
                _ => {
                    self.tell(provider, &told("total", "another", Outcome::Done)).await?;
                    self.tell(provider, &told("ours", &refund_no, Outcome::Done)).await?;
                }
            }
        }
        let alerts = self.server.demo.get("/v1/payment-alerts?status=open").await?.json();
        let alert = alerts["data"][0]["id"].as_str().context("the short payment is asked about")?;
        let resolution = json!({ "action": "dismiss", "note": "a test" });
        self.post(&format!("/v1/payment-alerts/{alert}/resolve"), resolution).await?;
        Ok(())
    }
}

fn done(path: &str, answer: Exchange) -> anyhow::Result<Exchange> {
    let text = || String::from_utf8_lossy(&answer.bytes).into_owned();
    ensure!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, text());
    Ok(answer)
}

/// Where a new thing is.
fn location(answer: &Exchange) -> anyhow::Result<String> {
    Ok(answer.header("location").context("a new thing has a place")?.to_owned())
}
