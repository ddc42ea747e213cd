//! A server that is told to stop while it is at work.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use desk::{Hooks, Step};
use embedded_postgres::{Cluster, Settings};
use reqwest::{Client, Response, StatusCode};
use serde_json::json;
use server::configuration::Configuration;
use server::demo;
use server::listen::reserve;
use server::serve::{Server, ServerSettings};
use sqlx::Postgres;
use sqlx::migrate::MigrateDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Holds a batch that has written everything and committed nothing.
#[derive(Clone, Default)]
struct BeforeCommit {
    reached: Arc<Notify>,
    release: Arc<Notify>,
}

impl BeforeCommit {
    fn hooks(&self) -> Hooks {
        let held = self.clone();
        Hooks::pausing(move |step| {
            let held = held.clone();
            async move {
                if step == Step::Saved {
                    held.reached.notify_one();
                    held.release.notified().await;
                }
            }
        })
    }
}

const KEY: &str = "order-1";

fn order() -> String {
    let order = json!({
        "account_id": demo::ACCOUNT_A.0,
        "client_order_no": "A-1",
        "currency": "CNY",
        "amount": "128.00",
        "payment": { "method": "balance" },
    });
    order.to_string()
}

async fn place_order(address: SocketAddr) -> Response {
    let request = Client::new().post(format!("http://{address}/v1/orders")).bearer_auth(demo::API_KEY);
    let request =
        request.header("Idempotency-Key", KEY).header("Content-Type", "application/json").body(order());
    request.send().await.expect("an answer")
}

/// A duplicate that waits for the first one's answer. It has reached its handler when this returns: only a handler that
/// reads the body has the client told to send it (RFC 9110, 10.1.1).
async fn wait_for_answer(address: SocketAddr) -> TcpStream {
    let (key, body) = (demo::API_KEY, order());
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nIdempotency-Key: {KEY}\r\n\
         Prefer: wait=30\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = *b"HTTP/1.1 100 Continue\r\n\r\n";
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(told, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_committed_and_answered_to_whoever_asked_and_to_whoever_waits() {
    let everybody = fs::Permissions::from_mode(0o755);
    let directory = tempfile::Builder::new().prefix("onefold").permissions(everybody).tempdir().unwrap();
    let settings = Settings { durable: false, ..Settings::new(directory.path().join("data")) };
    let cluster = Cluster::attach_or_start(settings).await.unwrap();
    let database_url = cluster.database_url("shutdown");
    Postgres::create_database(&database_url).await.unwrap();
    let start = async |hooks| {
        let listen = reserve("127.0.0.1:0").await.unwrap();
        let settings = ServerSettings::new(listen, database_url.parse().unwrap(), &Configuration::default());
        Server::start(ServerSettings { demo: true, hooks, ..settings }).await.unwrap()
    };

    let before_commit = BeforeCommit::default();
    let server = start(before_commit.hooks()).await;
    let address = server.address();
    let first = tokio::spawn(place_order(address));
    before_commit.reached.notified().await;
    let mut waiting = wait_for_answer(address).await;

    let stopping = tokio::spawn(server.shutdown());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    before_commit.release.notify_one();
    let first = first.await.unwrap();
    assert_eq!(first.status(), StatusCode::CREATED);
    let answer = first.text().await.unwrap();
    let mut replayed = String::new();
    waiting.read_to_string(&mut replayed).await.unwrap();
    assert!(
        replayed.starts_with("HTTP/1.1 201 ") && replayed.contains("idempotency-replayed: true"),
        "{replayed}"
    );
    assert!(replayed.ends_with(&answer), "{replayed}");
    stopping.await.unwrap();

    let server = start(Hooks::default()).await;
    let replayed = place_order(server.address()).await;
    assert_eq!(replayed.headers()["Idempotency-Replayed"], "true");
    assert_eq!(replayed.text().await.unwrap(), answer);
    server.shutdown().await;
    cluster.stop().await.unwrap();
}
