//! Where a collector is named, each request is a span of its caller's trace, and so is what follows from it.

use onefold_tests::collector::{Collector, Told};
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Exchange, order_body};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::program::{Program, until, url_of};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// OpenTelemetry's numbers.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// An endpoint of the demo's client.
const ENDPOINT: &str = "
    INSERT INTO webhook_endpoints (client_id, endpoint_id, url, secrets, event_types, status, created_at)
    SELECT client_id, gen_random_uuid(), $1, ARRAY['whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='],
           ARRAY['onefold.order.*'], 'active', now()
    FROM clients WHERE name = 'demo'";

async fn program(collector: &Collector, configuration: &str) -> anyhow::Result<Program> {
    program_on(&new_database().await?, collector, configuration).await
}

async fn program_on(
    database: &PgConnectOptions,
    collector: &Collector,
    configuration: &str,
) -> anyhow::Result<Program> {
    let url = url_of(database).await?;
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    Program::start_with(&url, configuration, &variables).await
}

async fn order(program: &Program, key: &str, traceparent: &str) -> anyhow::Result<Exchange> {
    let demo = program.demo();
    let request = demo.request("POST", "/v1/orders").header("idempotency-key", key);
    let request = request.header("content-type", "application/json").header("traceparent", traceparent);
    demo.send(request.body(order_body(ALICE, key, "1.00").to_string())).await
}

/// Waits for a span, of which there must be one.
async fn the_span(collector: &Collector, what: &str, is_it: impl Fn(&Told) -> bool) -> Told {
    until(what, async || collector.spans().iter().any(&is_it)).await;
    let spans: Vec<Told> = collector.spans().into_iter().filter(is_it).collect();
    let [span] = spans.as_slice() else { panic!("{what}: {spans:#?}") };
    span.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_span_of_its_callers_trace_and_the_desks_work_a_part_of_it() -> anyhow::Result<()> {
    let collector = Collector::open().await?;
    let program = program(&collector, "").await?;
    let placed = order(&program, "traced", &format!("00-{TRACE}-{CALLER}-01")).await?;
    assert_eq!(placed.status, 201);
    let request = the_span(&collector, "the request's span", |span| span.name == "POST /v1/orders").await;
    assert_eq!((request.trace_id.as_str(), request.parent.as_str()), (TRACE, CALLER));
    assert_eq!((request.service.as_str(), request.kind, request.failed), ("onefold", SERVER, false));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/orders"),
        ("http.response.status_code", "201"),
        ("onefold.outcome", "ok"),
        ("onefold.request_id", placed.header("x-request-id").expect("a request has an id")),
    ] {
        assert_eq!(request.attribute(key), value, "{request:#?}");
    }
    let desk = the_span(&collector, "the desk's span", |span| span.name == "desk").await;
    assert_eq!((&desk.trace_id, &desk.parent, desk.kind), (&request.trace_id, &request.id, INTERNAL));
    assert_eq!(desk.attribute("onefold.answered"), "ran");
    // It is written when the request is answered, some milliseconds after that.
    let line_of_request = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        line["operation"] == "POST /v1/orders" && line["trace_id"] == TRACE
    };
    until("the log has a line of the trace", async || program.log().lines().any(line_of_request)).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_carries_the_trace_of_the_request_that_caused_it_and_a_repetition_causes_none()
-> anyhow::Result<()> {
    let collector = Collector::open().await?;
    let database = new_database().await?;
    let program = program_on(&database, &collector, "").await?;
    order(&program, "told", &format!("00-{TRACE}-{CALLER}-01")).await?;
    let other_trace = "0af7651916cd43dd8448eb211c80319c";
    assert!(order(&program, "told", &format!("00-{other_trace}-{CALLER}-01")).await?.replayed());
    let is_of_first = |span: &Told| span.name == "desk" && span.trace_id == TRACE;
    let desk = the_span(&collector, "the desk's span", is_of_first).await;
    let mut connection = PgConnection::connect_with(&database).await?;
    let told = "SELECT traceparent FROM outbox_events WHERE event_type = 'onefold.order.paid.v1'";
    let told: Vec<Option<String>> = sqlx::query_scalar(told).fetch_all(&mut connection).await?;
    assert_eq!(told, [Some(desk.traceparent())]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_goes_on_to_the_relay_the_consumers_and_the_endpoint_that_is_told() -> anyhow::Result<()> {
    let collector = Collector::open().await?;
    let database = new_database().await?;
    let program = program_on(&database, &collector, "[webhooks]\nlocal_endpoints = true\n").await?;
    let mut owner = PgConnection::connect_with(&database).await?;
    sqlx::query(ENDPOINT).bind(format!("{}/hook", collector.url)).execute(&mut owner).await?;
    // An endpoint is known a second after it was added: what happens before that may not be told.
    let mut orders = 0_u32;
    until("an endpoint is told", async || {
        orders += 1;
        let placed = order(&program, &format!("on-{orders}"), &format!("00-{orders:032x}-{CALLER}-01")).await;
        assert_eq!(placed.expect("an answer").status, 201);
        !collector.asked_by().is_empty()
    })
    .await;

    let told_by = collector.asked_by().remove(0);
    let webhook = the_span(&collector, "the webhook's span", |span| span.traceparent() == told_by).await;
    assert_eq!((webhook.name.as_str(), webhook.kind), ("webhook onefold.order.paid.v1", CLIENT));
    assert_eq!((webhook.attribute("http.response.status_code"), webhook.failed), ("404", true));
    let notifying = the_span(&collector, "the notifying span", |span| span.id == webhook.parent).await;
    assert_eq!((notifying.name.as_str(), notifying.kind), ("notifications onefold.order.paid.v1", CONSUMER));
    assert_eq!((notifying.attribute("onefold.outcome"), notifying.failed), ("acknowledged", false));
    let desk = the_span(&collector, "the desk's span", |span| span.id == notifying.parent).await;
    assert_eq!(desk.name, "desk");
    for (kind, name) in
        [(PRODUCER, "publish onefold.order.paid.v1"), (CONSUMER, "read-model onefold.order.paid.v1")]
    {
        let is_it = |span: &Told| span.parent == desk.id && span.name == name;
        assert_eq!(the_span(&collector, name, is_it).await.kind, kind);
    }
    for span in [&webhook, &notifying] {
        assert_eq!(span.trace_id, desk.trace_id, "{span:#?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_is_not_traced_is_not_and_one_that_says_nothing_or_nonsense_begins_a_trace()
-> anyhow::Result<()> {
    let collector = Collector::open().await?;
    let program = program(&collector, "").await?;
    for (key, traceparent) in [
        ("not-sampled", format!("00-{TRACE}-{CALLER}-00")),
        ("nonsense", "00-nonsense-01".to_owned()),
        ("all-zero", format!("00-{}-{CALLER}-01", "0".repeat(32))),
    ] {
        assert_eq!(order(&program, key, &traceparent).await?.status, 201, "{key}");
    }
    let of_orders = || collector.spans().into_iter().filter(|span| span.name == "POST /v1/orders");
    until("two requests have begun traces", async || of_orders().count() >= 2).await;
    // The one before them would have come with them.
    let spans: Vec<Told> = of_orders().collect();
    assert_eq!(spans.len(), 2, "{spans:#?}");
    assert!(spans.iter().all(|span| span.parent.is_empty() && span.trace_id != TRACE), "{spans:#?}");
    assert_ne!(spans[0].trace_id, spans[1].trace_id);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_asked_is_told_which_span_asks() -> anyhow::Result<()> {
    let collector = Collector::open().await?;
    let endpoint = format!(
        "[callbacks.standard]
provider = \"standard\"
client = \"demo\"
secrets = [\"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"]
poll_after_s = 1
api = {{ key = \"a-key-of-the-shop\", base_url = \"{}\" }}
",
        collector.url
    );
    let program = program(&collector, &endpoint).await?;
    let mut body = order_body(ALICE, "asked", "1.00");
    body["payment"] = json!({ "method": "provider", "provider": "standard", "payment_no": "PAY-asked" });
    let placed = program.demo().post("/v1/orders", "asked", &body).await?;
    assert_eq!(placed.status, 201, "{}", placed.json());
    until("the provider is asked", async || !collector.asked_by().is_empty()).await;
    let traceparent = &collector.asked_by()[0];
    let query = the_span(&collector, "the query's span", |span| span.traceparent() == *traceparent).await;
    assert_eq!((query.name.as_str(), query.kind), ("standard query", CLIENT));
    assert_eq!(query.attribute("onefold.provider"), "standard");
    Ok(())
}
