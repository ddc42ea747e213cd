//! Who may ask, and what a client sees: what is its own.

use onefold_tests::http::{ALICE, BOB, TestServer, order_body, send};
use onefold_tests::raw_http;
use serde_json::json;

use crate::expect;

#[tokio::test]
async fn every_business_path_wants_an_api_key_and_says_how_to_show_it() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let account = format!("/v1/accounts/{ALICE}");
    for (method, path) in [
        ("POST", "/v1/accounts"),
        ("GET", "/v1/accounts"),
        ("GET", &account),
        ("POST", &format!("{account}/deposits")),
        ("POST", &format!("{account}/withdrawals")),
        ("POST", &format!("{account}/close")),
        ("GET", &format!("{account}/entries")),
        ("POST", "/v1/transfers"),
        ("GET", &format!("/v1/movements/{ALICE}")),
        ("GET", "/v1/collecting-accounts"),
        ("POST", "/v1/orders"),
        ("GET", "/v1/orders"),
        ("GET", "/v1/orders?client_order_no=A"),
        ("GET", &format!("/v1/orders/{ALICE}")),
        ("GET", "/v1/idempotency-keys/k"),
    ] {
        let refused = send(server.anonymous().request(method, path)).await?;
        expect::problem(&refused, 401, "unauthorized");
        let challenge = refused.header("www-authenticate").expect("a challenge");
        assert!(challenge.starts_with("Bearer"), "{method} {path}: {challenge}");
    }
    Ok(())
}

#[tokio::test]
async fn an_api_key_is_shown_as_bearer_whatever_the_case_of_the_scheme() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for good in ["Bearer demo-key", "bearer demo-key", "BEARER demo-key"] {
        let request = server.anonymous().request("GET", "/v1/accounts").header("authorization", good);
        expect::ok(&send(request).await?);
    }
    for bad in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer demo-key2",
        "Bearer DEMO-KEY",
        "demo-key",
        "Basic ZGVtbzpkZW1v",
        "Bearer demo-key x",
    ] {
        let request = server.anonymous().request("GET", "/v1/accounts").header("authorization", bad);
        let refused = send(request).await?;
        expect::problem(&refused, 401, "unauthorized");
        assert!(refused.header("www-authenticate").is_some(), "{bad:?}");
    }
    let long = format!("Bearer {}", "x".repeat(8_000));
    let refused =
        send(server.anonymous().request("GET", "/v1/accounts").header("authorization", long)).await?;
    expect::problem(&refused, 401, "unauthorized");
    let not_text = b"GET /v1/accounts HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer d\xE9mo\r\n\r\n";
    expect::problem(&raw_http::exchange(&server.url(), not_text).await?, 401, "unauthorized");
    Ok(())
}

#[tokio::test]
async fn another_clients_ids_are_404_on_every_call_and_nothing_moves() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = expect::created(&server.demo.order("mine", "1.00").await?);
    let body = json!({"amount": "1.00", "currency": "CNY", "reference": "R"});
    let deposit = server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "deposit", &body).await?;
    let movement = expect::created(&deposit)["id"].as_str().expect("an id").to_owned();
    let before = server.demo.get(&format!("/v1/accounts/{ALICE}")).await?;

    let stranger = server.another_client().await?;
    let own = stranger.post("/v1/accounts", "own", &json!({"owner": "s", "currency": "CNY"})).await?;
    let own = expect::created(&own)["id"].as_str().expect("an id").to_owned();
    for path in [
        format!("/v1/accounts/{ALICE}"),
        format!("/v1/accounts/{ALICE}/entries"),
        format!("/v1/movements/{movement}"),
        format!("/v1/orders/{}", order["id"].as_str().expect("an id")),
        "/v1/idempotency-keys/mine".to_owned(),
    ] {
        expect::problem(&stranger.get(&path).await?, 404, "not-found");
    }
    let transfer = |from: &str, to: &str| json!({"from_account_id": from, "to_account_id": to, "amount": "1.00", "currency": "CNY", "reference": "T"});
    let attempts = [
        (format!("/v1/accounts/{ALICE}/deposits"), body.clone()),
        (format!("/v1/accounts/{ALICE}/withdrawals"), body),
        (format!("/v1/accounts/{BOB}/close"), json!({})),
        ("/v1/transfers".to_owned(), transfer(ALICE, &own)),
        ("/v1/transfers".to_owned(), transfer(&own, ALICE)),
        ("/v1/orders".to_owned(), order_body(ALICE, "A", "1.00")),
    ];
    for (number, (path, body)) in attempts.iter().enumerate() {
        let refused = stranger.post(path, &format!("attempt-{number}"), body).await?;
        expect::problem(&refused, 404, "not-found");
    }
    let listed = expect::ok(&stranger.get("/v1/orders").await?);
    assert_eq!(listed, json!({"data": [], "next_cursor": null}));
    let listed = expect::ok(&stranger.get("/v1/orders?client_order_no=mine").await?);
    assert_eq!(listed["data"], json!([]));
    assert_eq!(expect::ok(&stranger.get("/v1/accounts").await?)["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.demo.get(&format!("/v1/accounts/{ALICE}")).await?.bytes, before.bytes);
    Ok(())
}

#[tokio::test]
async fn what_is_unknown_and_what_is_anothers_are_told_in_the_same_words() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let stranger = server.another_client().await?;
    let words = |exchange: &onefold_tests::http::Exchange| {
        let document = expect::problem(exchange, 404, "not-found");
        (document["title"].clone(), document["detail"].clone())
    };
    let anothers = stranger.get(&format!("/v1/accounts/{ALICE}")).await?;
    let unknown = stranger.get("/v1/accounts/01900000-0000-7000-8000-0000000000ff").await?;
    assert_eq!(words(&anothers), words(&unknown));
    Ok(())
}

#[tokio::test]
async fn two_clients_may_use_the_same_key_the_same_order_number_and_the_same_reference() -> anyhow::Result<()>
{
    let server = TestServer::start().await?;
    let stranger = server.another_client().await?;
    let own = stranger.post("/v1/accounts", "open", &json!({"owner": "s", "currency": "CNY"})).await?;
    let own = expect::created(&own)["id"].as_str().expect("an id").to_owned();
    let deposit = json!({"amount": "5.00", "currency": "CNY", "reference": "1"});
    let demos = server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "d", &deposit).await?;
    let strangers = stranger.post(&format!("/v1/accounts/{own}/deposits"), "d", &deposit).await?;
    assert_ne!(expect::created(&demos)["id"], expect::created(&strangers)["id"]);

    let demos = server.demo.post("/v1/orders", "1", &order_body(ALICE, "1", "1.00")).await?;
    let strangers = stranger.post("/v1/orders", "1", &order_body(&own, "1", "1.00")).await?;
    assert!(!strangers.replayed(), "the key of one client has answered another");
    assert_ne!(expect::created(&demos)["id"], expect::created(&strangers)["id"]);
    Ok(())
}
