//! A server with the demo's endpoints and a clock of the test's, and the four providers, who sign with the demo's keys.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use desk::sweeper::{self, SweepSettings};
use desk::{Clock, Hooks, Settings};
use onefold_tests::callbacks::{deliver, ensure_acknowledged, post};
use onefold_tests::clock::ManualClock;
use onefold_tests::database::new_database;
use onefold_tests::http::{ALICE, Caller, Exchange, TestServer};
use provider_simulator::event::{Outcome, Payment, Refund, What};
use provider_simulator::{Amount, Event, Message, Provider, demo_keys};
use ring::hmac;
use serde_json::{Value, json};
use server::provider_calls::CallSettings;
use server::serve::ServerSettings;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// What orders of these tests cost unless they say otherwise.
pub const AMOUNT: &str = "88.80";

/// A server, and the time.
pub struct Stage {
    pub server: TestServer,
    pub clock: ManualClock,
}

impl Stage {
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(Settings::default(), Hooks::default()).await
    }

    pub async fn start_with(desk: Settings, hooks: Hooks) -> anyhow::Result<Self> {
        Self::start_on(new_database().await?, desk, hooks).await
    }

    pub async fn start_on(database: PgConnectOptions, desk: Settings, hooks: Hooks) -> anyhow::Result<Self> {
        Self::start_changed(database, |settings| {
            settings.desk = desk;
            settings.hooks = hooks;
        })
        .await
    }

    /// A server whose providers can be asked at this address.
    pub async fn start_asking(providers: &str) -> anyhow::Result<Self> {
        Self::start_asking_on(new_database().await?, providers).await
    }

    pub async fn start_asking_on(database: PgConnectOptions, providers: &str) -> anyhow::Result<Self> {
        Self::start_asking_with(database, providers, Hooks::default()).await
    }

    pub async fn start_asking_with(
        database: PgConnectOptions,
        providers: &str,
        hooks: Hooks,
    ) -> anyhow::Result<Self> {
        let quickly = CallSettings { timeout: Duration::from_secs(1), ..CallSettings::default() };
        Self::start_changed(database, |settings| {
            settings.hooks = hooks;
            ask_at(settings, providers, quickly);
        })
        .await
    }

    /// A server that asks its providers at this address in this way, when the test says so and never by itself.
    pub async fn start_calling(providers: &str, calls: CallSettings) -> anyhow::Result<Self> {
        Self::start_changed(new_database().await?, |settings| ask_at(settings, providers, calls)).await
    }

    /// A server like this one, on its database, with other settings, and its own clock.
    pub async fn start_again(self, change: impl FnOnce(&mut ServerSettings)) -> anyhow::Result<Self> {
        Self::start_changed(self.server.shutdown().await, change).await
    }

    async fn start_changed(
        database: PgConnectOptions,
        change: impl FnOnce(&mut ServerSettings),
    ) -> anyhow::Result<Self> {
        let clock = ManualClock::at_present();
        let server = TestServer::start_with(database, |settings| {
            settings.clock = Arc::new(clock.clone());
            change(settings);
        })
        .await?;
        // What happens at the very moment of the demo's making counts as the demo's.
        clock.advance(Duration::from_millis(1));
        Ok(Self { server, clock })
    }

    pub fn now(&self) -> chrono::DateTime<chrono::Utc> {
        self.clock.now()
    }

    pub fn demo(&self) -> &Caller {
        &self.server.demo
    }

    /// Places an order of [`AMOUNT`] CNY that this provider's payment shall pay; the number is its order number too.
    pub async fn place(&self, provider: Provider, payment_no: &str) -> anyhow::Result<Value> {
        let answer = self.try_to_place(provider, payment_no).await?;
        ensure!(answer.status == 201, "{}", String::from_utf8_lossy(&answer.bytes));
        Ok(answer.json())
    }

    pub async fn try_to_place(&self, provider: Provider, payment_no: &str) -> anyhow::Result<Exchange> {
        let body = order_of(provider, payment_no);
        self.demo().post("/v1/orders", &format!("place-{payment_no}"), &body).await
    }

    /// Delivers what a provider has to say of an event, signed now.
    pub async fn deliver(&self, provider: Provider, event: &Event) -> anyhow::Result<Exchange> {
        deliver(&self.server.anonymous(), provider, event, self.clock.now()).await
    }

    /// Delivers, and expects the provider's acknowledgement.
    pub async fn acknowledged(&self, provider: Provider, event: &Event) -> anyhow::Result<()> {
        ensure_acknowledged(provider, &self.deliver(provider, event).await?)
    }

    /// Stripe tells of one of its objects, signed now: what the simulator's Stripe never says.
    pub async fn stripe_says(&self, id: &str, kind: &str, object: &Value) -> anyhow::Result<()> {
        let event = json!({
            "id": id, "object": "event", "type": kind, "livemode": demo_keys::stripe::LIVEMODE,
            "data": { "object": object },
        });
        let body = serde_json::to_vec(&event)?;
        let time = self.now().timestamp();
        let signed = [format!("{time}.").as_bytes(), &body].concat();
        let key = hmac::Key::new(hmac::HMAC_SHA256, demo_keys::stripe::SECRET.as_bytes());
        let mac = hmac::sign(&key, &signed);
        let hex: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let headers = vec![("stripe-signature", format!("t={time},v1={hex}"))];
        let answer = post(&self.server.anonymous(), "stripe", Message { headers, body }).await?;
        ensure_acknowledged(Provider::Stripe, &answer)
    }

    pub async fn payment(&self, payment_no: &str) -> anyhow::Result<Value> {
        let answer = self.demo().get(&format!("/v1/payments/{payment_no}")).await?;
        ensure!(answer.status == 200, "{payment_no}: {}", answer.status);
        Ok(answer.json())
    }

    /// The order of this number.
    pub async fn order(&self, number: &str) -> anyhow::Result<Value> {
        let list = self.demo().get(&format!("/v1/orders?client_order_no={number}")).await?.json();
        list["data"].get(0).cloned().with_context(|| format!("no order {number}"))
    }

    /// The alerts of these parameters, newest first.
    pub async fn alerts(&self, query: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.demo().get(&format!("/v1/payment-alerts?{query}")).await?.json();
        Ok(list["data"].as_array().context("a list")?.clone())
    }

    pub async fn resolve(&self, alert: &Value, action: &str) -> anyhow::Result<Exchange> {
        let path = format!("/v1/payment-alerts/{}/resolve", alert["id"].as_str().context("an id")?);
        let key = format!("{action}-{}", alert["id"]).replace('"', "");
        self.demo().post(&path, &key, &json!({ "action": action, "note": "as agreed" })).await
    }

    /// One round of the sweeper, now.
    pub async fn sweep(&self) -> anyhow::Result<usize> {
        let server = self.server.server();
        Ok(sweeper::once(server.desk(), server.database(), SweepSettings::default(), &self.clock)
            .await?
            .swept)
    }

    /// One round of asking providers, now; answers about how many payments.
    pub async fn poll(&self) -> anyhow::Result<usize> {
        Ok(self.server.server().polling().once().await?)
    }

    /// One round of asking providers for refunds, now; answers for how many.
    pub async fn ask_for_refunds(&self) -> anyhow::Result<usize> {
        Ok(self.server.server().refunding().once().await?)
    }

    /// Asks for a refund of the order of this number.
    pub async fn refund(&self, number: &str, amount: &str, reference: &str) -> anyhow::Result<Exchange> {
        self.refund_under(&format!("refund-{reference}"), number, amount, reference).await
    }

    pub async fn refund_under(
        &self,
        key: &str,
        number: &str,
        amount: &str,
        reference: &str,
    ) -> anyhow::Result<Exchange> {
        let order = self.order(number).await?;
        let path = format!("/v1/orders/{}/refunds", order["id"].as_str().context("an id")?);
        let body = json!({ "amount": amount, "reference": reference });
        self.demo().post(&path, key, &body).await
    }

    /// The refund as it is now.
    pub async fn refund_now(&self, refund: &Value) -> anyhow::Result<Value> {
        let path = format!("/v1/refunds/{}", refund["id"].as_str().context("an id")?);
        Ok(self.demo().get(&path).await?.json())
    }

    /// What a collecting account of CNY holds: credits less debits, in text.
    pub async fn collected(&self, name: &str) -> anyhow::Result<String> {
        let mut connection = PgConnection::connect_with(&self.server.database).await?;
        let sum: Option<String> = sqlx::query_scalar(
            "SELECT (sum(t.credits) - sum(t.debits))::numeric(28, 2)::text
             FROM collecting_accounts c
             JOIN collecting_totals t ON t.client_id = c.client_id AND t.account_id = c.account_id
             WHERE c.name = $1 AND c.currency = 'CNY'",
        )
        .bind(name)
        .fetch_one(&mut connection)
        .await?;
        Ok(sum.unwrap_or_else(|| "0.00".to_owned()))
    }

    /// How many rows a table has.
    pub async fn count(&self, table: &str) -> anyhow::Result<i64> {
        let mut connection = PgConnection::connect_with(&self.server.database).await?;
        let sql = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        Ok(sqlx::query_scalar(sql).fetch_one(&mut connection).await?)
    }

    /// Ends the server, and audits its books with the service's own auditor.
    pub async fn finish(self) -> anyhow::Result<()> {
        let database = self.server.shutdown().await;
        audited(&database).await
    }

    /// The same, where records were deleted by a clock that ran ahead of the database's.
    pub async fn finish_without_records(self) -> anyhow::Result<()> {
        let database = self.server.shutdown().await;
        audited_keeping(&database, Duration::ZERO).await
    }
}

fn ask_at(settings: &mut ServerSettings, providers: &str, calls: CallSettings) {
    settings.demo_providers = Some(providers.to_owned());
    settings.provider_calls = CallSettings { pause: Duration::from_secs(60 * 60), ..calls };
}

/// Fails if the auditor finds anything.
pub async fn audited(database: &PgConnectOptions) -> anyhow::Result<()> {
    audited_keeping(database, Settings::default().retention).await
}

async fn audited_keeping(database: &PgConnectOptions, retention: Duration) -> anyhow::Result<()> {
    let settings = audit::Settings { retention, listed_max: 100 };
    let report = audit::audit(database, settings, &mut |_| {}).await?;
    let wrong: Vec<_> = report.checks.iter().filter(|check| check.differences > 0).collect();
    ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// The body of an order that this provider's payment shall pay.
pub fn order_of(provider: Provider, payment_no: &str) -> Value {
    json!({
        "account_id": ALICE, "client_order_no": payment_no, "currency": "CNY", "amount": AMOUNT,
        "payment": { "method": "provider", "provider": provider.to_string(), "payment_no": payment_no },
    })
}

/// That [`AMOUNT`] was paid under a number, in this provider's event `id`.
pub fn paid(id: &str, payment_no: &str, provider_payment_id: &str) -> Event {
    paid_with(id, payment_no, provider_payment_id, AMOUNT, "CNY")
}

pub fn paid_with(
    id: &str,
    payment_no: &str,
    provider_payment_id: &str,
    amount: &str,
    currency: &str,
) -> Event {
    Event {
        id: id.to_owned(),
        at: ManualClock::at_present().now(),
        payment: Payment {
            payment_no: payment_no.to_owned(),
            provider_payment_id: provider_payment_id.to_owned(),
            amount: Amount::parse(amount).expect("an amount"),
            currency: currency.to_owned(),
        },
        what: What::Succeeded,
    }
}

/// The same payment, of which something else is told.
pub fn of(event: &Event, id: &str, what: What) -> Event {
    Event { id: id.to_owned(), what, ..event.clone() }
}

/// That so much was given back, and so much in all.
pub fn refunded(refund_no: &str, amount: &str, total: &str) -> What {
    What::Refunded(Refund {
        refund_no: refund_no.to_owned(),
        refund_id: format!("re_{refund_no}"),
        amount: Amount::parse(amount).expect("an amount"),
        refunded_total: Amount::parse(total).expect("an amount"),
        outcome: Outcome::Done,
    })
}

/// The state of the receipt, of those of a payment, that has this id at the provider.
pub fn state_of<'p>(payment: &'p Value, provider_payment_id: &str) -> Option<&'p str> {
    let receipts = payment["receipts"].as_array()?;
    receipts.iter().find(|receipt| receipt["provider_payment_id"] == provider_payment_id)?["state"].as_str()
}

/// The kinds of a payment's journal rows, oldest first.
pub fn booked(payment: &Value) -> Vec<&str> {
    let journal = payment["journal"].as_array().map(Vec::as_slice).unwrap_or_default();
    journal.iter().filter_map(|entry| entry["kind"].as_str()).collect()
}

/// The effects of a payment's deliveries, oldest first.
pub fn verdicts(payment: &Value) -> Vec<&str> {
    let deliveries = payment["deliveries"].as_array().map(Vec::as_slice).unwrap_or_default();
    deliveries.iter().rev().filter_map(|delivery| delivery["verdict"].as_str()).collect()
}
