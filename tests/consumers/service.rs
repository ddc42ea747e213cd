//! The whole service: what is asked for over HTTP comes back as a report, and at an endpoint.

use std::time::Duration;

use client::ClientId;
use consumers::Consumer;
use notifications::store::endpoints;
use notifications::{Endpoint, EndpointId, Reach, Secret};
use onefold_tests::daily_books::{self, Totals};
use onefold_tests::database::new_database;
use onefold_tests::http::{Caller, TestServer};
use serde_json::Value;
use server::serve::ServerSettings;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::webhook_receiver::Receiver;

const REPORT: &str = "/v1/reports/daily";

fn with_consumers(settings: &mut ServerSettings) {
    settings.consumers = Consumer::ALL.to_vec();
    settings.webhooks.reach = Reach::Anywhere;
    settings.webhooks.pause = Duration::from_millis(20);
}

/// Looks at the report until it has counted so many paid orders.
async fn report_with(caller: &Caller, paid: u64) -> anyhow::Result<Vec<Value>> {
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..1_500 {
        looks.tick().await;
        let days = caller.get(REPORT).await?.json()["data"].as_array().cloned().unwrap_or_default();
        // The orders may lie on both sides of a midnight.
        let counted: u64 = days.iter().filter_map(|day| day["orders_paid"]["count"].as_u64()).sum();
        if counted == paid {
            return Ok(days);
        }
    }
    anyhow::bail!("{paid} paid orders are never counted")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_comes_to_what_the_books_say_and_is_its_clients_own() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, with_consumers).await?;
    for number in 0..5 {
        assert_eq!(server.demo.order(&format!("k-{number}"), "12.50").await?.status, 201);
    }
    assert_eq!(server.demo.order("k-0", "12.50").await?.status, 201, "a replay, which has no event");
    let days = report_with(&server.demo, 5).await?;
    let day = days.iter().find(|day| day["currency"] == "CNY").expect("the orders' currency");
    assert_eq!(day["orders_placed"], day["orders_paid"]);
    assert_eq!(day["orders_refunded"], serde_json::json!({"count": 0, "amount": "0.00"}));
    let pool = server.server().database().pool();
    let (counted, said) = (daily_books::counted(pool).await?, daily_books::of_books(pool).await?);
    let of_orders = |totals: Totals| -> Totals {
        totals.into_iter().filter(|((.., line), _)| line.starts_with("orders_")).collect()
    };
    assert_eq!(of_orders(counted), of_orders(said));

    let stranger = server.another_client().await?;
    assert_eq!(stranger.get(REPORT).await?.json()["data"], serde_json::json!([]));
    server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_is_asked_for_by_day_and_currency_and_page() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let demo: ClientId = {
        let mut owner = PgConnection::connect_with(&server.database).await?;
        let made =
            "INSERT INTO daily_totals (client_id, day, currency, line, count, amount, version, updated_at)
            SELECT client_id, d.day, c.code, 'deposits', 1, 10, 1, now()
            FROM clients
            CROSS JOIN (VALUES (date '2026-01-30'), (date '2026-01-31')) AS d (day)
            CROSS JOIN (VALUES ('CNY'), ('EUR'), ('JPY')) AS c (code)
            RETURNING client_id";
        sqlx::query_scalar(made).fetch_all(&mut owner).await?.pop().expect("the demo's client")
    };
    assert_ne!(demo, ClientId(Uuid::nil()));
    let listed = async |query: &str| -> anyhow::Result<(Vec<String>, Value)> {
        let answer = server.demo.get(&format!("{REPORT}{query}")).await?;
        anyhow::ensure!(answer.status == 200, "{answer:?}");
        let body = answer.json();
        let days = body["data"].as_array().cloned().unwrap_or_default();
        let named = |day: &Value| format!("{} {}", day["date"], day["currency"]).replace('"', "");
        Ok((days.iter().map(named).collect(), body["next_cursor"].clone()))
    };
    let (all, cursor) = listed("").await?;
    assert_eq!(
        all,
        [
            "2026-01-31 JPY",
            "2026-01-31 EUR",
            "2026-01-31 CNY",
            "2026-01-30 JPY",
            "2026-01-30 EUR",
            "2026-01-30 CNY"
        ]
    );
    assert!(cursor.is_null());
    assert_eq!(listed("?from=2026-01-31&currency=EUR").await?.0, ["2026-01-31 EUR"]);
    assert_eq!(listed("?to=2026-01-30&currency=JPY").await?.0, ["2026-01-30 JPY"]);
    let (mut paged, mut query) = (Vec::new(), "?limit=4".to_owned());
    loop {
        let (days, cursor) = listed(&query).await?;
        paged.extend(days);
        let Some(cursor) = cursor.as_str() else { break };
        query = format!("?limit=4&cursor={cursor}");
    }
    assert_eq!(paged, all, "pages neither lose a day nor repeat one");
    for (query, pointer) in [
        ("?from=2026-1-31", "/from"),
        ("?to=yesterday", "/to"),
        ("?from=2026-02-01&to=2026-01-31", "/to"),
        ("?currency=XYZ", "/currency"),
        ("?day=2026-01-31", "/day"),
    ] {
        let answer = server.demo.get(&format!("{REPORT}{query}")).await?;
        assert_eq!((answer.status, answer.slug().as_deref()), (422, Some("validation-failed")), "{query}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{query}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_over_http_is_told_to_its_clients_endpoint_and_to_nobody_elses() -> anyhow::Result<()> {
    let (receiver, others) = (Receiver::open(&[]).await?, Receiver::open(&[]).await?);
    let server = TestServer::start_with(new_database().await?, with_consumers).await?;
    server.another_client().await?;
    let mut owner = PgConnection::connect_with(&server.database).await?;
    let clients: Vec<(ClientId, bool)> = sqlx::query_as(
        "SELECT client_id, EXISTS (SELECT FROM api_keys k WHERE k.client_id = c.client_id AND demo) FROM clients c",
    )
    .fetch_all(&mut owner)
    .await?;
    for (number, (client_id, is_demo)) in (1..).zip(clients) {
        let endpoint = Endpoint {
            client_id,
            id: EndpointId(Uuid::from_u128(number)),
            url: if is_demo { receiver.url() } else { others.url() },
            secrets: vec![Secret::of_random([7; 32])],
            event_types: vec!["onefold.order.*".to_owned()],
        };
        endpoints::insert_endpoint(&mut owner, &endpoint, "2026-01-31T12:00:00Z".parse()?).await?;
    }
    owner.close().await?;
    // An endpoint is known a second after it was added: what happens before that may not be told.
    let mut orders = 0;
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    while receiver.received().is_empty() {
        looks.tick().await;
        orders += 1;
        anyhow::ensure!(orders < 150, "nothing is ever told");
        assert_eq!(server.demo.order(&format!("k-{orders}"), "1.00").await?.status, 201);
    }
    let told = receiver.received().remove(0);
    assert!(told.is_signed_with(&Secret::of_random([7; 32]).reveal())?);
    let event: Value = serde_json::from_slice(&told.body)?;
    assert_eq!(
        (event["type"].as_str(), &event["data"]["amount"]),
        (Some("onefold.order.paid.v1"), &"1.00".into())
    );
    assert!(others.received().is_empty());
    server.shutdown().await;
    Ok(())
}
