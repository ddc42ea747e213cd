//! A consumer that writes down what it is given, and the relays that give it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use chrono::TimeDelta;
use desk::schema::Database;
use desk::{Clock, Desk, Hooks, Settings, SystemClock};
use events::brokers::in_process::InProcess;
use events::relay::{ACCEPTED_WITHIN, Lag, Relay};
use events::{Broker, Message};
use onefold_tests::database::new_service_database;
use onefold_tests::desks;
use sqlx::PgConnection;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

const READER: &str = "reader";

/// Longer than anything here takes: whoever waits so long waits in vain.
pub const LONG: Duration = Duration::from_secs(60);

/// A database with a client.
pub async fn database() -> anyhow::Result<Database> {
    let database = new_service_database().await?;
    let mut owner = connection(&database).await?;
    client::store::insert_client(&mut owner, desks::client(), "reader", SystemClock.now()).await?;
    Ok(database)
}

/// A connection of the tables' owner.
pub async fn connection(database: &Database) -> anyhow::Result<PgConnection> {
    use sqlx::Connection;
    Ok(PgConnection::connect_with(database.owner_options()).await?)
}

/// A desk.
pub fn desk(database: &Database) -> Desk {
    desks::open(database, Settings::default(), Hooks::default())
}

/// What was read, by whatever reads on its behalf, as it came.
#[derive(Clone, Default)]
pub struct Reader(Arc<Inner>);

#[derive(Default)]
struct Inner {
    read: Mutex<Vec<Message>>,
    grew: Notify,
}

/// A relay like that of a server, with the reader as its one consumer. Ends when it is dropped.
pub struct Relaying {
    pub lag: Arc<Lag>,
    relay: JoinHandle<()>,
    stop: CancellationToken,
    _stops: DropGuard,
}

impl Relaying {
    /// Ends it as a server does.
    pub async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        Ok(timeout(LONG, self.relay).await.context("the relay does not end")??)
    }
}

impl Reader {
    /// Starts a relay that is rung by this desk's commits.
    pub fn relay(&self, database: &Database, desk: &Desk) -> Relaying {
        self.relay_dropping(database, desk, 0)
    }

    /// Starts a relay whose consumer drops every so manieth delivery, unless it has dropped that event before, and
    /// acknowledges the others. 0: none.
    pub fn relay_dropping(&self, database: &Database, desk: &Desk, every: u32) -> Relaying {
        let broker = Arc::new(InProcess::new([READER]));
        let lag = Arc::new(Lag::default());
        let stop = CancellationToken::new();
        let relay = Relay {
            database: database.service_options().clone(),
            broker: broker.clone(),
            committed: desk.events_committed(),
            lag: lag.clone(),
            retention: TimeDelta::days(7),
            now: Arc::new(|| SystemClock.now()),
            accepted_within: ACCEPTED_WITHIN,
        };
        let relay = tokio::spawn(relay.run(stop.clone()));
        let reader = self.clone();
        let reading = reader.read_on(broker, every);
        let until = stop.clone();
        tokio::spawn(async move { until.run_until_cancelled(reading).await });
        Relaying { lag, relay, stop: stop.clone(), _stops: stop.drop_guard() }
    }

    async fn read_on(self, broker: Arc<InProcess>, dropping_every: u32) {
        let mut subscription = broker.subscribe(READER).await.expect("a subscription");
        let mut count = 0;
        let mut dropped = HashSet::new();
        loop {
            let delivery = subscription.next().await.expect("a delivery");
            count += 1;
            let unlucky = dropping_every != 0 && count % dropping_every == 0;
            if unlucky && dropped.insert(delivery.message.id) {
                continue;
            }
            self.0.read.lock().unwrap_or_else(PoisonError::into_inner).push(delivery.message.clone());
            delivery.ack().await.expect("it is acknowledged");
            self.0.grew.notify_waiters();
        }
    }

    /// What was read until now.
    pub fn read(&self) -> Vec<Message> {
        self.0.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until each of these was read at least once.
    pub async fn has_read(&self, ids: &[Uuid]) -> anyhow::Result<()> {
        let all = async {
            loop {
                let grew = self.0.grew.notified();
                let read: HashSet<Uuid> = self.read().iter().map(|message| message.id.0).collect();
                if ids.iter().all(|id| read.contains(id)) {
                    return;
                }
                // It may have grown while it was looked at.
                let _ = timeout(Duration::from_millis(50), grew).await;
            }
        };
        timeout(LONG, all)
            .await
            .with_context(|| format!("of {} events, {} deliveries were read", ids.len(), self.read().len()))
    }
}

/// The ids of all events that stand in the outbox.
pub async fn written(database: &Database) -> anyhow::Result<Vec<Uuid>> {
    Ok(sqlx::query_scalar("SELECT event_id FROM outbox_events").fetch_all(database.pool()).await?)
}
