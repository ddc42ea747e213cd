//! From the outbox to the broker: at least once, and in order for each thing that events tell of.
//!
//! Every server runs a relay. What one of them claims is a partition, all that waits of one client, by an advisory lock
//! that ends with its transaction, so that two never publish of one thing at once. A batch is read by thing and version: whoever
//! sees a version sees those before it, for they were committed before it was decided. So nothing of a thing is published
//! without what came before it, in whatever order transactions commit.
//!
//! An event whose publishing was not seen to succeed is published again, under the same id; then the order begins anew from it.
//! A broker that is away costs a batch in memory and a look every few seconds, for as long as it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::broker::{Broker, BrokerFault};
use crate::message::Pending;
use crate::{Message, store};

/// How many events a batch has at most: so many are in memory, and so many are published again after a fault.
const BATCH_MAX: i64 = 256;

/// How many batches of one client are published in a row, so that one client's backlog does not keep the others waiting.
const BATCHES_IN_A_ROW: usize = 8;

/// How long a broker may take to accept a batch.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two looks when nobody wakes the relay: for what other servers have left.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause after a fault, at first and at most.
const FAULT_PAUSE: Duration = Duration::from_millis(100);
const FAULT_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Between two counts of what waits.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// Between two deletions of what is published for long enough.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// How many rows one transaction deletes.
const PRUNED_AT_ONCE: i64 = 500;

/// What waits to be published, as counted some seconds ago at most.
#[derive(Debug, Default)]
pub struct Lag {
    waiting: AtomicI64,
    oldest_age_ms: AtomicI64,
    published: AtomicI64,
}

impl Lag {
    /// How many events wait; of each client no more than 10,000 are counted.
    pub fn waiting(&self) -> i64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The age of the oldest of those, in milliseconds; 0 if none waits.
    pub fn oldest_age_ms(&self) -> i64 {
        self.oldest_age_ms.load(Ordering::Relaxed)
    }

    /// How many events this relay has published, repetitions included.
    pub fn published(&self) -> i64 {
        self.published.load(Ordering::Relaxed)
    }
}

/// A relay.
#[expect(missing_debug_implementations, reason = "the broker has nothing to show")]
pub struct Relay {
    /// How to connect to the database, as the service's role.
    pub database: PgConnectOptions,
    /// Where events go.
    pub broker: Arc<dyn Broker>,
    /// Rung after every commit of events in this process.
    pub committed: Arc<Notify>,
    /// What waits.
    pub lag: Arc<Lag>,
    /// For how long a published event is kept.
    pub retention: TimeDelta,
    /// The time.
    pub now: fn() -> DateTime<Utc>,
}

/// Why a round ended early.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    #[error("the broker has not accepted a batch within {} s", PUBLISH_TIMEOUT.as_secs())]
    TooSlow,
}

/// A connection, and when it last did what is not done each round.
struct Rounds {
    connection: PgConnection,
    counted: Option<Instant>,
    pruned: Option<Instant>,
}

impl Relay {
    /// Publishes until `stop`; then ends after the batch that it has in hand.
    pub async fn run(self, stop: CancellationToken) {
        let mut pause = FAULT_PAUSE;
        let mut faulty = false;
        while !stop.is_cancelled() {
            let Err(fault) = self.rounds(&stop, &mut faulty, &mut pause).await else { return };
            // Once, for it will fail alike in a moment.
            if !faulty {
                faulty = true;
                tracing::warn!(%fault, "events wait: the relay cannot publish, and tries on");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(FAULT_PAUSE_MAX);
        }
    }

    async fn rounds(
        &self,
        stop: &CancellationToken,
        faulty: &mut bool,
        pause: &mut Duration,
    ) -> Result<(), Fault> {
        let limit = (PUBLISH_TIMEOUT * 2).as_millis().to_string();
        let options = self.database.clone().application_name("onefold relay").options([
            ("statement_timeout", "10000".to_owned()),
            ("idle_in_transaction_session_timeout", limit),
            // Losing the mark of an event means publishing it again, which is allowed; so nobody waits for the flush.
            ("synchronous_commit", "off".to_owned()),
        ]);
        let connection = PgConnection::connect_with(&options).await?;
        let mut rounds = Rounds { connection, counted: None, pruned: None };
        while !stop.is_cancelled() {
            let clients = client::store::all_client_ids(&mut rounds.connection).await?;
            let more = self.round(&mut rounds.connection, &clients, stop).await?;
            if *faulty {
                tracing::info!("events are published again");
            }
            (*faulty, *pause) = (false, FAULT_PAUSE);
            self.now_and_then(&mut rounds, &clients).await?;
            if !more {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = self.committed.notified() => {}
                    () = sleep(PAUSE) => {}
                }
            }
        }
        rounds.connection.close().await?;
        Ok(())
    }

    /// Publishes what waits of each client; answers whether there is more.
    async fn round(
        &self,
        connection: &mut PgConnection,
        clients: &[ClientId],
        stop: &CancellationToken,
    ) -> Result<bool, Fault> {
        let mut more = false;
        for client in store::clients_with_pending(&mut *connection, clients).await? {
            for _ in 0..BATCHES_IN_A_ROW {
                if stop.is_cancelled() {
                    return Ok(false);
                }
                more = self.batch(connection, client).await?;
                if !more {
                    break;
                }
            }
        }
        Ok(more)
    }

    /// Publishes a batch of a client, unless another relay does; answers whether it was full.
    async fn batch(&self, connection: &mut PgConnection, client: ClientId) -> Result<bool, Fault> {
        let mut transaction = connection.begin().await?;
        if !store::claim(&mut *transaction, client).await? {
            transaction.rollback().await?;
            return Ok(false);
        }
        let pending = store::pending(&mut *transaction, client, BATCH_MAX).await?;
        if pending.is_empty() {
            transaction.rollback().await?;
            return Ok(false);
        }
        let messages: Vec<Message> = pending.into_iter().map(Pending::message).collect();
        timeout(PUBLISH_TIMEOUT, self.broker.publish(&messages)).await.map_err(|_| Fault::TooSlow)??;
        let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
        store::mark_published(&mut *transaction, client, &ids, (self.now)()).await?;
        transaction.commit().await?;
        let published = i64::try_from(ids.len()).expect("no more than a batch");
        self.lag.published.fetch_add(published, Ordering::Relaxed);
        Ok(published == BATCH_MAX)
    }

    async fn now_and_then(&self, rounds: &mut Rounds, clients: &[ClientId]) -> Result<(), Fault> {
        let due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        if due(rounds.counted, COUNT_EVERY) {
            rounds.counted = Some(Instant::now());
            let (waiting, oldest) = store::lag(&mut rounds.connection, clients).await?;
            let age = oldest.map_or(0, |oldest| ((self.now)() - oldest).num_milliseconds().max(0));
            self.lag.waiting.store(waiting, Ordering::Relaxed);
            self.lag.oldest_age_ms.store(age, Ordering::Relaxed);
        }
        if due(rounds.pruned, PRUNE_EVERY) {
            rounds.pruned = Some(Instant::now());
            for client in clients {
                prune(&mut rounds.connection, *client, (self.now)() - self.retention).await?;
            }
        }
        Ok(())
    }
}

/// Deletes a client's events that were published before this time, in small transactions, and notes how far that went; answers how
/// many they were.
pub async fn prune(
    connection: &mut PgConnection,
    client: ClientId,
    before: DateTime<Utc>,
) -> sqlx::Result<u64> {
    let mut pruned_in_all = 0;
    loop {
        let mut transaction = connection.begin().await?;
        let pruned = store::prune(&mut *transaction, client, before, PRUNED_AT_ONCE).await?;
        if pruned == 0 {
            transaction.rollback().await?;
            return Ok(pruned_in_all);
        }
        store::note_pruned(&mut *transaction, client, before).await?;
        transaction.commit().await?;
        pruned_in_all += pruned;
    }
}
