//! What a stranger could hold on to has a limit: headers and bodies that do not come, connections that do not end.

use std::time::{Duration, Instant};

use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, TestServer, order_body};
use onefold_tests::raw_http;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::expect;

/// How long anything here may take. It never does; a test that has hung shall say so.
const DEADLINE: Duration = Duration::from_secs(20);

/// The time limits of these servers, short enough to see them pass.
const SHORT: Duration = Duration::from_millis(300);

async fn impatient_server() -> anyhow::Result<TestServer> {
    TestServer::start_with(new_database().await?, |settings| {
        settings.limits.header_read_timeout = SHORT;
        settings.http.request_timeout = SHORT;
    })
    .await
}

#[tokio::test]
async fn headers_that_come_byte_by_byte_end_the_connection() -> anyhow::Result<()> {
    let server = impatient_server().await?;
    let mut slow = raw_http::connect(&server.url()).await?;
    let began = Instant::now();
    let (mut reading, mut writing) = slow.split();
    let drip = async {
        for byte in b"GET /healthz HTTP/1.1\r\nhost: test\r\nx-slow: ".iter().chain(std::iter::repeat(&b'x'))
        {
            if writing.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let mut heard = Vec::new();
    let closed = async {
        // Reset or closed, it has ended.
        let _ = reading.read_to_end(&mut heard).await;
    };
    timeout(DEADLINE, async {
        tokio::select! {
            () = drip => {}
            () = closed => {}
        }
    })
    .await?;
    assert!(began.elapsed() >= SHORT);
    expect::ok(&server.anonymous().get("/healthz").await?);
    Ok(())
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() -> anyhow::Result<()> {
    let server = impatient_server().await?;
    let mut silent = raw_http::connect(&server.url()).await?;
    let mut heard = Vec::new();
    timeout(DEADLINE, silent.read_to_end(&mut heard)).await??;
    assert!(heard.is_empty(), "{}", String::from_utf8_lossy(&heard));
    Ok(())
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408_and_leaves_the_key_free() -> anyhow::Result<()> {
    let server = impatient_server().await?;
    let body = order_body(ALICE, "A", "1.00").to_string();
    let request = raw_http::post("/v1/orders", &[b"idempotency-key: k"], body.as_bytes());
    let mut slow = raw_http::connect(&server.url()).await?;
    slow.write_all(&request[..request.len() - 1]).await?;
    let refused = timeout(DEADLINE, raw_http::read_to_end(&mut slow)).await??;
    expect::problem(&refused, 408, "request-timeout");
    let placed = server.demo.post_text("/v1/orders", "k", &body).await?;
    expect::created(&placed);
    assert!(!placed.replayed());
    Ok(())
}

#[tokio::test]
async fn a_body_that_is_announced_as_too_large_is_refused_before_it_comes() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let head = "POST /v1/orders HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer demo-key\r\n\
        content-type: application/json\r\nidempotency-key: k\r\ncontent-length: 10000000\r\n\r\n";
    let mut stream = raw_http::connect(&server.url()).await?;
    stream.write_all(head.as_bytes()).await?;
    let refused = timeout(Duration::from_secs(5), raw_http::read_to_end(&mut stream)).await??;
    expect::problem(&refused, 413, "content-too-large");
    Ok(())
}

#[tokio::test]
async fn a_large_body_that_nobody_reads_does_not_hide_the_answer() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let large = "x".repeat(900 * 1024);
    let refused = server.demo.post_text("/v1/orders", "k", &large).await?;
    expect::problem(&refused, 413, "content-too-large");
    Ok(())
}

#[tokio::test]
async fn a_request_whose_end_never_comes_leaves_no_trace() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = order_body(ALICE, "A", "1.00").to_string();
    let request = raw_http::post("/v1/orders", &[b"idempotency-key: k"], body.as_bytes());
    for end in [1, 20, request.len() - body.len(), request.len() - 1] {
        let mut stream = raw_http::connect(&server.url()).await?;
        stream.write_all(&request[..end]).await?;
        drop(stream);
    }
    expect::problem(&server.demo.get("/v1/idempotency-keys/k").await?, 404, "not-found");
    let placed = server.demo.post_text("/v1/orders", "k", &body).await?;
    assert!(!placed.replayed());
    expect::created(&placed);
    Ok(())
}

#[tokio::test]
async fn several_requests_on_one_connection_are_answered_in_order() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let mut stream = raw_http::connect(&server.url()).await?;
    let mut requests = String::new();
    for id in ["r-1", "r-2"] {
        requests.push_str(&format!("GET /v1/nothing HTTP/1.1\r\nhost: test\r\nx-request-id: {id}\r\n\r\n"));
    }
    requests.push_str("what is this\r\n\r\n");
    stream.write_all(requests.as_bytes()).await?;
    let mut heard = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut heard)).await??;
    let heard = String::from_utf8(heard)?;
    let at = |text: &str| heard.find(text).unwrap_or_else(|| panic!("no {text} in {heard}"));
    assert!(at("\"instance\":\"r-1\"") < at("\"instance\":\"r-2\""));
    assert!(at("\"instance\":\"r-2\"") < at("/problems/malformed-request"));
    assert_eq!(heard.matches("HTTP/1.1 ").count(), 3, "{heard}");
    Ok(())
}
