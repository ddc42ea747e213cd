//! A desk whose events are handed to a consumer by the test, as often and in whatever order it likes.

use std::sync::Arc;
use std::time::Duration;

use account::{AccountId, Parties};
use anyhow::Context;
use chrono::{DateTime, SecondsFormat, Utc};
use client::ClientId;
use consumers::{Came, Consumer, Consuming, Endpoints, Failures, Rebuilds};
use desk::schema::Database;
use desk::{CaptureTerms, Command, Desk, Hooks, Settings};
use events::{EventId, Message};
use onefold_tests::clock::ManualClock;
use onefold_tests::daily_books::{Totals, counted, of_books};
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{account_with, body, cny, open_at, request, status};
use order::{OrderId, PaymentTerms};
use serde_json::{Value, json};
use uuid::Uuid;

/// For how long the desk keeps its records.
pub const RETENTION: Duration = Duration::from_secs(72 * 60 * 60);

/// A desk, and what consumers need.
pub struct Stage {
    pub database: Database,
    pub desk: Desk,
    pub clock: ManualClock,
    pub consuming: Consuming,
}

impl Stage {
    /// An empty one, at this time.
    pub async fn at(time: DateTime<Utc>) -> anyhow::Result<Self> {
        Self::on(new_service_database().await?, ManualClock::at(time))
    }

    /// Another desk and other consumers on a database: like a process that was started anew.
    pub fn on(database: Database, clock: ManualClock) -> anyhow::Result<Self> {
        let settings = Settings { retention: RETENTION, ..Settings::default() };
        let desk = open_at(&database, settings, Hooks::default(), Arc::new(clock.clone()));
        let consuming = Consuming {
            desk: desk.clone(),
            pool: database.pool().clone(),
            clock: Arc::new(clock.clone()),
            retention: RETENTION,
            endpoints: Endpoints::default(),
            rebuilds: Rebuilds::default(),
            failures: Failures::default(),
        };
        Ok(Self { database, desk, clock, consuming })
    }

    /// Everything that is counted happens at least once: money comes and goes, orders are paid at once, in parts and not at
    /// all, and refunded.
    pub async fn live(&self, round: usize) -> anyhow::Result<()> {
        let key = |what: &str| format!("{what}-{round}");
        let (alice, bob) = (account_with(&self.desk, "100.00").await?, account_with(&self.desk, "0").await?);
        let parties = Parties::Transfer { from: alice, to: bob };
        self.ran(&key("transfer"), Command::Move { parties, amount: cny("7.25"), reference: key("t") })
            .await?;
        let parties = Parties::Withdrawal { from: bob };
        self.ran(&key("withdrawal"), Command::Move { parties, amount: cny("0.25"), reference: key("w") })
            .await?;

        let paid = self.order(&key("paid"), alice, "20.00", PaymentTerms::Balance).await?;
        self.refund(&key("refund-1"), paid, "5.00").await?;
        self.refund(&key("refund-2"), paid, "15.00").await?;
        let held = PaymentTerms::Hold { expires_in_s: 600 };
        let captured = self.order(&key("captured"), alice, "30.00", held.clone()).await?;
        self.capture(&key("capture-1"), captured, "10.00", false).await?;
        self.capture(&key("capture-2"), captured, "12.00", true).await?;
        let cancelled = self.order(&key("cancelled"), alice, "8.00", held.clone()).await?;
        self.ran(&key("cancel"), Command::CancelOrder { order_id: cancelled, account_id: None }).await?;
        let expired = self.order(&key("expired"), alice, "9.00", held).await?;
        self.capture(&key("capture-3"), expired, "4.00", false).await?;
        self.clock.advance(Duration::from_secs(601));
        self.ran(&key("expire"), Command::ExpireOrder { order_id: expired, account_id: None }).await?;
        let provider =
            PaymentTerms::Provider { provider: "stripe", payment_no: key("P-0001"), expires_in_s: 600 };
        let waiting = self.order(&key("waiting"), alice, "3.00", provider).await?;
        self.ran(&key("cancel-waiting"), Command::CancelOrder { order_id: waiting, account_id: None })
            .await?;
        Ok(())
    }

    async fn order(
        &self,
        key: &str,
        account_id: AccountId,
        amount: &str,
        payment: PaymentTerms,
    ) -> anyhow::Result<OrderId> {
        let (client_order_no, items) = (key.to_owned(), Vec::new());
        let placing =
            Command::PlaceOrder { account_id, client_order_no, amount: cny(amount), items, payment };
        let placed = self.ran(key, placing).await?;
        Ok(OrderId(placed["id"].as_str().context("an id")?.parse()?))
    }

    async fn capture(&self, key: &str, order_id: OrderId, amount: &str, last: bool) -> anyhow::Result<()> {
        let terms = CaptureTerms { amount: Some(cny(amount)), last, reference: Some(key.to_owned()) };
        self.ran(key, Command::CaptureOrder { order_id, account_id: None, terms }).await.map(drop)
    }

    async fn refund(&self, key: &str, order_id: OrderId, amount: &str) -> anyhow::Result<()> {
        let refund = Command::RefundOrder {
            order_id,
            account_id: None,
            amount: Some(cny(amount)),
            reference: key.to_owned(),
            askable: Vec::new(),
            items: Vec::new(),
        };
        self.ran(key, refund).await.map(drop)
    }

    async fn ran(&self, key: &str, command: Command) -> anyhow::Result<Value> {
        let answered = self.desk.submit(request(key, command), None).await.answered;
        anyhow::ensure!(status(&answered).is_some_and(|status| status < 300), "{key}: {answered:?}");
        body(&answered).context("a body")
    }

    /// Every event that was written, as a broker delivers it.
    pub async fn events(&self) -> anyhow::Result<Vec<Message>> {
        type Row = (Uuid, Uuid, String, String, Uuid, i64, String, DateTime<Utc>);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data::text, occurred_at
             FROM outbox_events
             ORDER BY occurred_at, event_id",
        )
        .fetch_all(self.database.pool())
        .await?;
        rows.into_iter()
            .map(|(client, id, event_type, aggregate_type, aggregate, sequence, data, at)| {
                let data: Value = serde_json::from_str(&data)?;
                let subject = format!("{aggregate_type}/{aggregate}");
                let body = json!({
                    "specversion": "1.0",
                    "id": id,
                    "source": "/onefold",
                    "type": event_type,
                    "subject": subject,
                    "time": at.to_rfc3339_opts(SecondsFormat::Micros, true),
                    "data": data,
                });
                Ok(message(ClientId(client), id, event_type, subject, sequence, body.to_string()))
            })
            .collect()
    }

    /// Has a consumer take an event.
    pub async fn take(&self, consumer: Consumer, message: &Message) -> Came {
        self.consuming.take(consumer, message, 1).await
    }

    /// The totals must be what the books say. Answers them.
    pub async fn totals_of_books(&self) -> anyhow::Result<Totals> {
        let pool = self.database.pool();
        let (counted, said) = (counted(pool).await?, of_books(pool).await?);
        anyhow::ensure!(counted == said, "counted {counted:#?}, and the books say {said:#?}");
        Ok(counted)
    }
}

/// An event as it is delivered.
pub fn message(
    client_id: ClientId,
    id: Uuid,
    event_type: String,
    subject: String,
    sequence: i64,
    body: String,
) -> Message {
    Message {
        id: EventId(id),
        client_id,
        event_type,
        subject,
        sequence,
        body: body.into(),
        traceparent: None,
    }
}
