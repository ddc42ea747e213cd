//! The whole service on a free port of this process, and a client that speaks to it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use desk::{Clock, Hooks, Settings};
use serde_json::{Value, json};
use server::configuration::Configuration;
use server::listen::reserve;
use server::serve::{Server, ServerSettings};
use sqlx::postgres::PgConnectOptions;
use uuid::Uuid;

use crate::database::new_database;

/// alice's account in CNY, which opens with 10000.00.
pub const ALICE: &str = "01900000-0000-7000-8000-00000000000a";
/// bob's account in CNY, empty.
pub const BOB: &str = "01900000-0000-7000-8000-00000000000b";
/// alice's account in JPY, which opens with 500000.
pub const ALICE_JPY: &str = "01900000-0000-7000-8000-00000000000c";

/// A server with the demo data, on a database of its own.
pub struct TestServer {
    server: Server,
    /// How to connect to its database, as the owner.
    pub database: PgConnectOptions,
    /// The demo client, speaking to it.
    pub demo: Caller,
}

impl TestServer {
    /// A server with the default settings, on a new database.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(new_database().await?, |_| {}).await
    }

    /// A server on this database, with settings changed by `change`.
    pub async fn start_with(
        database: PgConnectOptions,
        change: impl FnOnce(&mut ServerSettings),
    ) -> anyhow::Result<Self> {
        let mut settings =
            ServerSettings::new(reserve("127.0.0.1:0").await?, database.clone(), &Configuration::default());
        settings.demo = true;
        // Consumers add records a moment after each request, which a test that counts records would meet now and then.
        settings.consumers = Vec::new();
        change(&mut settings);
        let server = Server::start(settings).await?;
        let demo = Caller::new(&format!("http://{}", server.address()), "demo-key");
        Ok(Self { server, database, demo })
    }

    /// A server on a new database with a clock of the test's, settings of the desk, and hooks.
    pub async fn start_at(clock: Arc<dyn Clock>, desk: Settings, hooks: Hooks) -> anyhow::Result<Self> {
        let database = new_database().await?;
        Self::start_with(database, |settings| {
            settings.clock = clock;
            settings.desk = desk;
            settings.hooks = hooks;
        })
        .await
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Where it serves.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Somebody without an API key.
    pub fn anonymous(&self) -> Anonymous {
        Anonymous { base: self.url() }
    }

    /// Adds a client and answers a caller with its key.
    pub async fn another_client(&self) -> anyhow::Result<Caller> {
        let pool = sqlx::PgPool::connect_with(self.database.clone()).await?;
        let id = client::ClientId(Uuid::new_v4());
        let key = client::ApiKey::generate();
        let now = desk::SystemClock.now();
        client::store::insert_client(&pool, id, &id.to_string(), now).await?;
        client::store::insert_api_key(&pool, id, key.hash(), false, &client::Scopes::All, now).await?;
        pool.close().await;
        Ok(Caller::new(&self.url(), key.reveal()))
    }

    /// Shuts the server down, keeping its database.
    pub async fn shutdown(self) -> PgConnectOptions {
        self.server.shutdown().await;
        self.database
    }
}

/// Somebody without an API key, who may still knock.
#[derive(Clone, Debug)]
pub struct Anonymous {
    base: String,
}

impl Anonymous {
    /// A request without credentials, to be completed by the test.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        http_client().request(method, format!("{}{path}", self.base))
    }

    /// GET.
    pub async fn get(&self, path: &str) -> anyhow::Result<Exchange> {
        send(self.request("GET", path)).await
    }
}

/// An answer, read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The status.
    pub status: u16,
    /// The headers, lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub bytes: Vec<u8>,
}

impl Exchange {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(&self.bytes)))
    }

    /// The slug of the problem it is, if it is one.
    pub fn slug(&self) -> Option<String> {
        if self.header("content-type") != Some("application/problem+json") {
            return None;
        }
        self.json()["type"].as_str().and_then(|uri| uri.strip_prefix("/problems/")).map(str::to_owned)
    }

    /// Whether it is marked as a replay.
    pub fn replayed(&self) -> bool {
        self.header("idempotency-replayed") == Some("true")
    }
}

/// Somebody who calls the service with an API key.
#[derive(Clone, Debug)]
pub struct Caller {
    http: reqwest::Client,
    base: String,
    api_key: String,
}

impl Caller {
    /// A caller with connections of its own.
    pub fn new(base: &str, api_key: &str) -> Self {
        Self { http: http_client(), base: base.to_owned(), api_key: api_key.to_owned() }
    }

    /// The same caller at another server.
    pub fn at(&self, base: &str) -> Self {
        Self::new(base, &self.api_key)
    }

    /// A request with the API key, to be completed by the test.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("a method");
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.api_key)
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Exchange> {
        send(request).await
    }

    /// GET.
    pub async fn get(&self, path: &str) -> anyhow::Result<Exchange> {
        self.send(self.request("GET", path)).await
    }

    /// POST of a JSON body under a key.
    pub async fn post(&self, path: &str, key: &str, body: &Value) -> anyhow::Result<Exchange> {
        self.post_text(path, key, &body.to_string()).await
    }

    /// POST of a body's very text under a key.
    pub async fn post_text(&self, path: &str, key: &str, body: &str) -> anyhow::Result<Exchange> {
        self.send(
            self.request("POST", path)
                .header("idempotency-key", key)
                .header("content-type", "application/json")
                .body(body.to_owned()),
        )
        .await
    }

    /// Places an order from alice's account, with the key as its number.
    pub async fn order(&self, key: &str, amount: &str) -> anyhow::Result<Exchange> {
        self.post("/v1/orders", key, &order_body(ALICE, key, amount)).await
    }
}

fn http_client() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60));
    builder.build().expect("a client without TLS can always be made")
}

/// Sends a request and reads the answer.
pub async fn send(request: reqwest::RequestBuilder) -> anyhow::Result<Exchange> {
    let response = request.send().await.context("no answer")?;
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    Ok(Exchange { status, headers, bytes: response.bytes().await?.to_vec() })
}

/// The body of an order in CNY, paid from the balance.
pub fn order_body(account: &str, number: &str, amount: &str) -> Value {
    json!({
        "account_id": account,
        "client_order_no": number,
        "currency": "CNY",
        "amount": amount,
        "payment": { "method": "balance" },
    })
}
