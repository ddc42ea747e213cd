//! A server whose clock the test moves, and what is asked of it. Whoever asks makes the keys up itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use desk::{Hooks, Settings};
use onefold_tests::clock::ManualClock;
use onefold_tests::database::{audit, new_database};
use onefold_tests::http::{Caller, Exchange, TestServer};
use serde_json::{Value, json};
use server::serve::ServerSettings;

/// How long the service may take for what it does by itself.
const SOON: Duration = Duration::from_secs(20);

/// A server, a client of its own, and the clock.
pub(crate) struct Books {
    pub(crate) server: TestServer,
    pub(crate) caller: Caller,
    pub(crate) clock: ManualClock,
    keys: AtomicU64,
}

impl Books {
    pub(crate) async fn open() -> anyhow::Result<Self> {
        let clock = ManualClock::at_present();
        let server =
            TestServer::start_at(Arc::new(clock.clone()), Settings::default(), Hooks::default()).await?;
        let caller = server.another_client().await?;
        Ok(Self { server, caller, clock, keys: AtomicU64::new(0) })
    }

    /// The same, as the demo's client, whom providers can call.
    pub(crate) async fn open_as_demo() -> anyhow::Result<Self> {
        Self::open_asking(|_| ()).await
    }

    /// The same, where this is set about providers.
    pub(crate) async fn open_asking(change: impl FnOnce(&mut ServerSettings)) -> anyhow::Result<Self> {
        let clock = ManualClock::at_present();
        let server = TestServer::start_with(new_database().await?, |settings| {
            settings.clock = Arc::new(clock.clone());
            change(settings);
        })
        .await?;
        let caller = server.another_client().await?;
        let books = Self { server, caller, clock, keys: AtomicU64::new(0) };
        // What happens at the very moment of the demo's making counts as the demo's.
        books.clock.advance(Duration::from_millis(1));
        Ok(Self { caller: books.server.demo.clone(), ..books })
    }

    /// A key, reference or number that was not used yet.
    pub(crate) fn key(&self) -> String {
        format!("key-{}", self.keys.fetch_add(1, Ordering::Relaxed))
    }

    /// Posts under a new key.
    pub(crate) async fn post(&self, path: &str, body: Value) -> anyhow::Result<Exchange> {
        self.caller.post(path, &self.key(), &body).await
    }

    /// Opens an account in CNY and puts money on it; answers its id.
    pub(crate) async fn account(&self, available: &str) -> anyhow::Result<String> {
        self.account_in("CNY", available).await
    }

    pub(crate) async fn account_in(&self, currency: &str, available: &str) -> anyhow::Result<String> {
        let opened = self.post("/v1/accounts", json!({ "currency": currency, "owner": "alice" })).await?;
        let id = text(&created(&opened), "id");
        if available.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
            let body = json!({ "amount": available, "currency": currency, "reference": self.key() });
            created(&self.post(&format!("/v1/accounts/{id}/deposits"), body).await?);
        }
        Ok(id)
    }

    /// What an account has available and held.
    pub(crate) async fn figures(&self, account: &str) -> anyhow::Result<(String, String)> {
        let account = ok(&self.caller.get(&format!("/v1/accounts/{account}")).await?);
        Ok((text(&account, "available"), text(&account, "held")))
    }

    /// Freezes money of an account in CNY.
    pub(crate) async fn hold(&self, account: &str, amount: &str) -> anyhow::Result<Exchange> {
        self.hold_for(account, amount, None).await
    }

    pub(crate) async fn hold_for(
        &self,
        account: &str,
        amount: &str,
        seconds: Option<u32>,
    ) -> anyhow::Result<Exchange> {
        let mut body = json!({ "amount": amount, "currency": "CNY", "reference": self.key() });
        if let Some(seconds) = seconds {
            body["expires_in_seconds"] = json!(seconds);
        }
        self.post(&format!("/v1/accounts/{account}/holds"), body).await
    }

    /// An order paid by hold, with a number of its own.
    pub(crate) async fn authorized(&self, account: &str, amount: &str) -> anyhow::Result<String> {
        let placed = self.order(account, amount, json!([]), json!({ "method": "hold" })).await?;
        Ok(text(&created(&placed), "id"))
    }

    /// An order paid from the balance, with a number of its own.
    pub(crate) async fn paid(&self, account: &str, amount: &str) -> anyhow::Result<String> {
        let placed = self.order(account, amount, json!([]), json!({ "method": "balance" })).await?;
        Ok(text(&created(&placed), "id"))
    }

    pub(crate) async fn order(
        &self,
        account: &str,
        amount: &str,
        items: Value,
        payment: Value,
    ) -> anyhow::Result<Exchange> {
        let body = json!({
            "account_id": account, "client_order_no": self.key(), "currency": "CNY", "amount": amount,
            "items": items, "payment": payment,
        });
        self.post("/v1/orders", body).await
    }

    pub(crate) async fn refund(&self, order: &str, amount: &str) -> anyhow::Result<Exchange> {
        let body = json!({ "amount": amount, "reference": self.key() });
        self.post(&format!("/v1/orders/{order}/refunds"), body).await
    }

    /// Makes or sets a sku, priced in CNY.
    pub(crate) async fn put_sku(&self, sku: &str, price: &str, total: u64) -> anyhow::Result<Exchange> {
        let body = json!({ "price": { "amount": price, "currency": "CNY" }, "total": total });
        self.put(&format!("/v1/skus/{sku}"), &body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Exchange> {
        let request = self.caller.request("PUT", path).header("content-type", "application/json");
        self.caller.send(request.body(body.to_string())).await
    }

    /// How many pieces of a sku are available, reserved and sold.
    pub(crate) async fn stock(&self, sku: &str) -> anyhow::Result<(u64, u64, u64)> {
        let sku = ok(&self.caller.get(&format!("/v1/skus/{sku}")).await?);
        let count = |name: &str| sku[name].as_u64().expect("a count");
        Ok((count("available"), count("reserved"), count("sold")))
    }

    /// A body that is read at a path.
    pub(crate) async fn read(&self, path: &str) -> anyhow::Result<Value> {
        Ok(ok(&self.caller.get(path).await?))
    }

    /// Reads a path until what is there satisfies a condition.
    ///
    /// # Panics
    ///
    /// If it does not soon.
    pub(crate) async fn read_until(
        &self,
        path: &str,
        satisfied: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let begun = Instant::now();
        loop {
            let there = self.read(path).await?;
            if satisfied(&there) {
                return Ok(there);
            }
            ensure!(begun.elapsed() < SOON, "waited in vain at {path}: {there}");
            tokio::task::yield_now().await;
        }
    }

    /// Checks the books from outside, when all is over: by the tests' own queries, and by the service's auditor.
    pub(crate) async fn audit(&self) {
        audit(&self.server.database).await;
        let settings = ::audit::Settings { retention: Settings::default().retention, listed_max: 100 };
        let report = ::audit::audit(&self.server.database, settings, &mut |_| {}).await.expect("an audit");
        let wrong: Vec<_> = report.checks.iter().filter(|check| check.differences > 0).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// A text member of a body.
#[track_caller]
pub(crate) fn text(body: &Value, name: &str) -> String {
    body[name].as_str().unwrap_or_else(|| panic!("no text {name} in {body}")).to_owned()
}

/// The body of a 201.
#[track_caller]
pub(crate) fn created(exchange: &Exchange) -> Value {
    assert_eq!(exchange.status, 201, "{}", String::from_utf8_lossy(&exchange.bytes));
    exchange.json()
}

/// The body of a 200.
#[track_caller]
pub(crate) fn ok(exchange: &Exchange) -> Value {
    assert_eq!(exchange.status, 200, "{}", String::from_utf8_lossy(&exchange.bytes));
    exchange.json()
}

/// The document of a problem of this status and kind.
#[track_caller]
pub(crate) fn refused(exchange: &Exchange, status: u16, slug: &str) -> Value {
    let shown = String::from_utf8_lossy(&exchange.bytes);
    assert_eq!((exchange.status, exchange.slug().as_deref()), (status, Some(slug)), "{shown}");
    exchange.json()
}
