//! When several things are wrong with a request, the first of these answers: no `Host`, 404 route / 405, 401, 429, 403, 413, 415,
//! key header, JSON, schema, reuse or replay of the key, then the rules.

use std::num::NonZeroU32;

use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Exchange, TestServer, order_body};
use onefold_tests::raw_http;

use crate::expect;

/// The wrongs in their order of precedence, and what each is answered.
const ORDER: [(Wrong, u16, &str); 12] = [
    (Wrong::Host, 400, "malformed-request"),
    (Wrong::Route, 404, "not-found"),
    (Wrong::Method, 405, "method-not-allowed"),
    (Wrong::ApiKey, 401, "unauthorized"),
    (Wrong::Rate, 429, "rate-limited"),
    (Wrong::Size, 413, "content-too-large"),
    (Wrong::MediaType, 415, "unsupported-media-type"),
    (Wrong::KeyMalformed, 400, "idempotency-key-malformed"),
    (Wrong::Json, 400, "malformed-json"),
    (Wrong::Schema, 422, "validation-failed"),
    (Wrong::Reuse, 422, "idempotency-key-reused"),
    (Wrong::Rules, 402, "insufficient-funds"),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    Host,
    Route,
    Method,
    ApiKey,
    Rate,
    Size,
    MediaType,
    KeyMalformed,
    Json,
    Schema,
    Reuse,
    Rules,
}

/// A request with these wrongs, as bytes: some of them no HTTP library would send.
fn request_with(wrongs: &[Wrong]) -> Vec<u8> {
    let has = |wrong| wrongs.contains(&wrong);
    let host = if has(Wrong::Host) { "" } else { "host: test\r\n" };
    let path = if has(Wrong::Route) { "/v1/nothing" } else { "/v1/orders" };
    let method = if has(Wrong::Method) { "PUT" } else { "POST" };
    let api_key = if has(Wrong::ApiKey) { "wrong-key" } else { "demo-key" };
    let media_type = if has(Wrong::MediaType) { "text/plain" } else { "application/json" };
    let key = match (has(Wrong::KeyMalformed), has(Wrong::Reuse)) {
        (true, _) => "\"broken",
        (false, true) => "used",
        (false, false) => "unused",
    };
    let amount = if has(Wrong::Rules) { "999999.00" } else { "2.00" };
    let mut body = order_body(ALICE, "new", amount);
    if has(Wrong::Schema) {
        body["amount"] = "-1".into();
    }
    let mut body = body.to_string();
    if has(Wrong::Json) {
        body.push('}');
    }
    if has(Wrong::Size) {
        body.push_str(&" ".repeat(64 * 1024));
    }
    format!(
        "{method} {path} HTTP/1.1\r\n{host}connection: close\r\nauthorization: Bearer {api_key}\r\n\
         content-type: {media_type}\r\nidempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn sent(server: &TestServer, wrongs: &[Wrong]) -> anyhow::Result<Exchange> {
    raw_http::exchange(&server.url(), &request_with(wrongs)).await
}

#[tokio::test]
async fn of_two_wrongs_the_first_in_the_order_answers() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let limited = TestServer::start_with(new_database().await?, |settings| {
        settings.http.requests_per_second = Some(NonZeroU32::MIN);
    })
    .await?;
    expect::created(&server.demo.order("used", "1.00").await?);

    for (at, (first, status, slug)) in ORDER.into_iter().enumerate() {
        for (second, ..) in &ORDER[at..] {
            let wrongs = [first, *second];
            if wrongs == [Wrong::Route, Wrong::Method] || wrongs.contains(&Wrong::Rate) && at > 4 {
                continue;
            }
            let exchange = if wrongs.contains(&Wrong::Rate) {
                emptied(&limited).await?;
                sent(&limited, &wrongs).await?
            } else {
                sent(&server, &wrongs).await?
            };
            assert_eq!(exchange.slug().as_deref(), Some(slug), "{wrongs:?}");
            expect::problem(&exchange, status, slug);
        }
    }
    Ok(())
}

/// Asks until the bucket is empty.
async fn emptied(limited: &TestServer) -> anyhow::Result<()> {
    while limited.demo.get("/v1/accounts").await?.status != 429 {}
    Ok(())
}

#[tokio::test]
async fn everything_wrong_at_once_is_told_one_after_the_other() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    expect::created(&server.demo.order("used", "1.00").await?);
    for (at, (wrong, status, slug)) in ORDER.into_iter().enumerate() {
        if wrong == Wrong::Rate {
            continue;
        }
        let rest: Vec<_> = ORDER[at..].iter().map(|(wrong, ..)| *wrong).collect();
        expect::problem(&sent(&server, &rest).await?, status, slug);
    }
    Ok(())
}

#[tokio::test]
async fn a_replay_comes_before_the_rules() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let all = server.demo.order("all", "10000.00").await?;
    expect::created(&all);
    let again = server.demo.order("all", "10000.00").await?;
    assert!(again.replayed(), "the balance was asked before the key");
    expect::same(&all, &again);
    Ok(())
}

#[tokio::test]
async fn a_client_above_its_rate_is_told_when_to_come_back_and_its_key_stays_free() -> anyhow::Result<()> {
    let limited = TestServer::start_with(new_database().await?, |settings| {
        settings.http.requests_per_second = Some(NonZeroU32::MIN);
    })
    .await?;
    emptied(&limited).await?;
    let mut told = 0;
    let placed = loop {
        let answer = limited.demo.order("k", "1.00").await?;
        if answer.status == 201 {
            break answer;
        }
        expect::problem(&answer, 429, "rate-limited");
        assert!(
            answer
                .header("retry-after")
                .and_then(|wait| wait.parse::<u32>().ok())
                .is_some_and(|wait| wait > 0)
        );
        assert!(answer.headers.iter().any(|(name, _)| name.starts_with("ratelimit")));
        told += 1;
    };
    assert!(told > 0 && !placed.replayed());
    // Another client has a bucket of its own.
    emptied(&limited).await?;
    expect::ok(&limited.another_client().await?.get("/v1/accounts").await?);
    Ok(())
}
