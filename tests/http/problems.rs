//! Errors have one shape, wherever in the server they arise; and every answer names its request.

use onefold_tests::http::{ALICE, Exchange, TestServer, order_body, send};
use onefold_tests::raw_http;
use serde_json::json;
use uuid::Uuid;

use crate::expect;

#[tokio::test]
async fn an_unknown_route_is_a_problem_too() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v2/orders",
        "/v1/orders/",
        "/v1/accounts/",
        "/V1/orders",
        "/v1/nothing",
        "/v1//orders",
        "/favicon.ico",
        "/healthz/",
        "/v1/orders/x/y/z",
        "/index.html",
        "/v1/holds",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let refused = send(server.anonymous().request(method, path)).await?;
            expect::problem(&refused, 404, "not-found");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_method_that_a_path_does_not_have_is_405_with_those_it_has() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = format!("/v1/orders/{ALICE}");
    let close = format!("/v1/accounts/{ALICE}/close");
    for (path, allowed) in [
        ("/v1/orders", vec!["GET", "HEAD", "POST"]),
        ("/v1/accounts", vec!["GET", "HEAD", "POST"]),
        (&order, vec!["GET", "HEAD"]),
        ("/v1/transfers", vec!["POST"]),
        (&close, vec!["POST"]),
        ("/v1/idempotency-keys/k", vec!["GET", "HEAD"]),
        ("/healthz", vec!["GET", "HEAD"]),
        ("/problems/not-found", vec!["GET", "HEAD"]),
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if allowed.contains(&method) {
                continue;
            }
            // HEAD has no body to look at; its status and headers are looked at below.
            let refused = send(server.anonymous().request(method, path)).await?;
            if method == "HEAD" {
                assert_eq!(refused.status, 405, "{path}");
                continue;
            }
            expect::problem(&refused, 405, "method-not-allowed");
            let mut told: Vec<_> =
                refused.header("allow").expect("Allow").split(',').map(str::trim).collect();
            told.sort_unstable();
            assert_eq!(told, allowed, "{method} {path}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn head_is_get_without_the_body() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for path in ["/healthz", "/v1/accounts", "/v1/accounts/1", "/v1/nothing", "/v1/orders?limit=0"] {
        let got = server.demo.get(path).await?;
        let head = server.demo.send(server.demo.request("HEAD", path)).await?;
        assert_eq!((head.status, head.bytes.len()), (got.status, 0), "{path}");
        assert_eq!(head.header("content-type"), got.header("content-type"), "{path}");
        assert!(head.header("x-request-id").is_some(), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_an_id_in_a_path_is_404() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let deposit = json!({"amount": "1.00", "currency": "CNY", "reference": "R"});
    for id in [
        "01900000-0000-7000-8000-00000000000A",
        "0190000000007000800000000000000a",
        "%7B01900000-0000-7000-8000-00000000000a%7D",
        "01900000-0000-4000-8000-00000000000a",
        "01900000-0000-7000-8000-0000000000ff",
        "00000000-0000-0000-0000-000000000000",
        "1",
        "alice",
        "%FF",
        "%00",
        "%2F",
        "%zz",
        "100%",
    ] {
        for path in [
            format!("/v1/accounts/{id}"),
            format!("/v1/accounts/{id}/entries"),
            format!("/v1/orders/{id}"),
            format!("/v1/movements/{id}"),
        ] {
            expect::problem(&server.demo.get(&path).await?, 404, "not-found");
        }
        for (path, body) in [("deposits", &deposit), ("withdrawals", &deposit), ("close", &json!({}))] {
            let refused =
                server.demo.post(&format!("/v1/accounts/{id}/{path}"), &format!("{path}-{id}"), body).await?;
            expect::problem(&refused, 404, "not-found");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_id_in_capitals_leaves_the_key_free() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let deposit = json!({"amount": "1.00", "currency": "CNY", "reference": "R"});
    let capitals = format!("/v1/accounts/{}/deposits", ALICE.to_uppercase());
    expect::problem(&server.demo.post(&capitals, "k", &deposit).await?, 404, "not-found");
    expect::created(&server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "k", &deposit).await?);
    Ok(())
}

#[tokio::test]
async fn a_query_that_cannot_be_read_does_not_fit_the_schema() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for (query, pointers) in [
        ("limit=%FF", vec!["/limit"]),
        ("cursor=%FF", vec!["/cursor"]),
        ("page=2", vec!["/page"]),
        ("page=2&page=3&limit=0", vec!["/limit", "/page"]),
        ("LIMIT=1", vec!["/LIMIT"]),
    ] {
        let mut told = expect::faults(&server.demo.get(&format!("/v1/orders?{query}")).await?);
        told.dedup();
        assert_eq!(told, pointers, "{query}");
    }
    Ok(())
}

/// A request id that the server made.
fn is_made(id: &str) -> bool {
    Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 7)
}

#[tokio::test]
async fn a_request_id_is_taken_if_it_is_1_to_128_printable_characters_and_made_if_not() -> anyhow::Result<()>
{
    let server = TestServer::start().await?;
    let longest = "r".repeat(128);
    for path in ["/healthz", "/v1/nothing", "/v1/accounts", "/docs", "/metrics", "/problems"] {
        for id in ["r", "r-1", "a b", "{\"}~!", "<script>", &longest] {
            let request = server.anonymous().request("GET", path).header("x-request-id", id);
            let answer = send(request).await?;
            assert_eq!(answer.header("x-request-id"), Some(id), "{path}");
            if answer.status >= 400 {
                assert_eq!(answer.json()["instance"], id, "{path}");
            }
        }
        let too_long = "r".repeat(129);
        for id in [None, Some(""), Some(too_long.as_str()), Some("caf\u{e9}")] {
            let mut request = server.anonymous().request("GET", path);
            if let Some(id) = id {
                request = request.header("x-request-id", id);
            }
            let answer = send(request).await?;
            assert!(answer.header("x-request-id").is_some_and(is_made), "{path} {id:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn two_requests_get_two_ids() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let first = server.demo.get("/v1/orders").await?;
    let second = server.demo.get("/v1/orders").await?;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    let placed = server.demo.order("k", "1.00").await?;
    let replayed = server.demo.order("k", "1.00").await?;
    assert!(replayed.replayed());
    assert_ne!(placed.header("x-request-id"), replayed.header("x-request-id"));
    Ok(())
}

#[tokio::test]
async fn a_refusal_that_is_replayed_names_the_request_that_was_refused() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let order = |id: &'static str| {
        let body = order_body(ALICE, "A", "10000.01").to_string();
        let request = server.demo.request("POST", "/v1/orders").header("idempotency-key", "k");
        request.header("content-type", "application/json").header("x-request-id", id).body(body)
    };
    let refused = server.demo.send(order("first")).await?;
    assert_eq!(expect::problem(&refused, 402, "insufficient-funds")["instance"], "first");
    let again = server.demo.send(order("second")).await?;
    expect::same(&refused, &again);
    assert_eq!(again.header("x-request-id"), Some("second"));
    Ok(())
}

/// Sends bytes that are not a good request, and looks at what the server says of them.
async fn said_of(server: &TestServer, request: &[u8]) -> anyhow::Result<Exchange> {
    raw_http::exchange(&server.url(), request).await
}

#[tokio::test]
async fn what_the_http_parser_refuses_is_a_problem_too() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for request in [
        &b"what is this\r\n\r\n"[..],
        b"GET /healthz HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: \x01\r\n\r\n",
        b"POST /v1/orders HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
        b"POST /v1/orders HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ] {
        let refused = said_of(&server, request).await?;
        expect::problem(&refused, 400, "malformed-request");
    }
    Ok(())
}

#[tokio::test]
async fn http_1_1_wants_one_host_and_http_1_0_none() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let get = |version: &str, hosts: &str| {
        format!("GET /healthz HTTP/{version}\r\n{hosts}connection: close\r\n\r\n").into_bytes()
    };
    for hosts in
        ["", "host: a\r\nhost: a\r\n", "host: a b\r\n", "host: a/b\r\n", "host: me@a\r\n", "host: a:b:c\r\n"]
    {
        let refused = said_of(&server, &get("1.1", hosts)).await?;
        expect::problem(&refused, 400, "malformed-request");
    }
    for hosts in
        ["host: a\r\n", "Host: a.example:8080\r\n", "host: [::1]:80\r\n", "host: my_service\r\n", "host:\r\n"]
    {
        expect::ok(&said_of(&server, &get("1.1", hosts)).await?);
    }
    expect::ok(&said_of(&server, &get("1.0", "")).await?);
    Ok(())
}

#[tokio::test]
async fn too_many_or_too_large_headers_and_too_long_a_path_are_problems_too() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let with = |line: &str, times: usize| {
        format!("GET /healthz HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{}\r\n", line.repeat(times))
            .into_bytes()
    };
    for request in [
        with("x-filler: x\r\n", 150),
        with("x-filler: x\r\n", 3_000),
        with(&format!("x-filler: {}\r\n", "x".repeat(1_000)), 20),
        with(&format!("x-filler: {}\r\n", "x".repeat(1_000)), 60),
        with(&format!("x-filler: {}\r\n", "x".repeat(500_000)), 1),
    ] {
        expect::problem(&said_of(&server, &request).await?, 431, "headers-too-large");
    }
    // Longer ones are too large for the parser before it knows whether they are a path.
    for length in [8_200, 9_000, 16_000] {
        let request =
            format!("GET /{} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n", "x".repeat(length));
        expect::problem(&said_of(&server, request.as_bytes()).await?, 414, "uri-too-long");
    }
    Ok(())
}
