//! From the outbox to the broker: at least once, and in order for each thing that events tell of.
//!
//! Every server runs a relay. What one of them claims is a partition, all that waits of one client, by an advisory lock
//! that ends with its transaction, so that two never publish of one thing at once.
//!
//! A client's events are read in the order of their [places](crate::Place), as far as no transaction that still runs can add
//! any (`migrations/0022_event_streams.sql` says why that holds): so none is passed over, in whatever order transactions
//! commit, and none comes before one that it rests upon. A transaction that hangs holds up what was written after it, and
//! loses nothing; the desk's own end within seconds.
//!
//! An event whose publishing was not seen to succeed is published again, under the same id, and so is what came after it. A
//! broker that is away costs a batch in memory and a look every few seconds, for as long as it takes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::broker::{Broker, BrokerFault};
use crate::message::Pending;
use crate::{Message, Place, store};

/// How many events a batch has at most: so many are in memory, and so many are published again after a fault.
const BATCH_MAX: usize = 256;

/// How many batches of one client are published in a row, so that one client's backlog does not keep the others waiting.
const BATCHES_IN_A_ROW: usize = 8;

/// How long a broker may take to accept a batch, unless a relay is told otherwise.
pub const ACCEPTED_WITHIN: Duration = Duration::from_secs(10);

/// The pause between two looks when nobody wakes the relay: for what other servers have left.
const PAUSE: Duration = Duration::from_secs(1);

/// Between the beginnings of two rounds at least, while nothing is left over: what commits meanwhile goes out together. A round
/// costs the database the same for one event as for a hundred, and it is the database that orders wait for.
const PACE: Duration = Duration::from_millis(25);

/// For how long the list of clients is believed: so late may the first event of a new client be.
const CLIENTS_KNOWN_FOR: Duration = PAUSE;

/// The pause, at first, when events wait for older transactions to end. It doubles up to [`PAUSE`].
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

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
    oldest_age_ms: AtomicU64,
    published: AtomicU64,
    broker_away: AtomicBool,
}

impl Lag {
    /// How many events wait; of each client no more than 10,000 are counted.
    pub fn waiting(&self) -> i64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The age of the oldest of those; zero if none waits.
    pub fn oldest_age(&self) -> Duration {
        Duration::from_millis(self.oldest_age_ms.load(Ordering::Relaxed))
    }

    /// Whether the broker has not taken what it was given last. Nothing is lost: events wait in the outbox.
    pub fn broker_is_away(&self) -> bool {
        self.broker_away.load(Ordering::Relaxed)
    }

    /// How many events this relay has published, repetitions included.
    pub fn published(&self) -> u64 {
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
    /// For how long an event is kept, if it is published by then.
    pub retention: TimeDelta,
    /// The time.
    pub now: Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    /// How long the broker may take to accept a batch; [`ACCEPTED_WITHIN`] for a server.
    pub accepted_within: Duration,
}

/// What is left of a client's events, or of all clients', after a round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Left {
    /// Nothing, or what another relay is at.
    Nothing,
    /// What may be published as soon as older transactions have ended.
    Unsettled,
    /// What may be published.
    More,
}

/// Why a round ended early.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    #[error("the broker has not accepted an event in time")]
    TooSlow,
}

/// A connection, to which cluster it leads, and when it last did what is not done each round.
struct Rounds {
    connection: PgConnection,
    cluster_id: i64,
    clients: Vec<ClientId>,
    /// Of clients whose batches the broker has not accepted in time: how many events the next one has.
    shortened: HashMap<ClientId, usize>,
    listed: Option<Instant>,
    counted: Option<Instant>,
    pruned: Option<Instant>,
}

/// Whether it is so long ago that it is due again.
fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}

impl Relay {
    /// Publishes until `stop`; then ends after the batch that it has in hand.
    pub async fn run(self, stop: CancellationToken) {
        let mut pause = FAULT_PAUSE;
        let mut faulty = false;
        while !stop.is_cancelled() {
            let Err(fault) = self.rounds(&stop, &mut faulty, &mut pause).await else { return };
            let broker_away = matches!(fault, Fault::Broker(_) | Fault::TooSlow);
            self.lag.broker_away.store(broker_away, Ordering::Relaxed);
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
        let limit = (self.accepted_within * 2).as_millis().to_string();
        let options = self.database.clone().application_name("onefold relay").options([
            ("statement_timeout", "10000".to_owned()),
            ("idle_in_transaction_session_timeout", limit),
            // Losing the mark of an event means publishing it again, which is allowed; so nobody waits for the flush.
            ("synchronous_commit", "off".to_owned()),
        ]);
        let mut connection = PgConnection::connect_with(&options).await?;
        let cluster_id = store::cluster_id(&mut connection).await?;
        let mut rounds = Rounds {
            connection,
            cluster_id,
            clients: Vec::new(),
            shortened: HashMap::new(),
            listed: None,
            counted: None,
            pruned: None,
        };
        let mut settling = SETTLING_PAUSE;
        while !stop.is_cancelled() {
            let began = Instant::now();
            if is_due(rounds.listed, CLIENTS_KNOWN_FOR) {
                rounds.clients = client::store::all_client_ids(&mut rounds.connection).await?;
                rounds.listed = Some(began);
            }
            // Before the round: while the broker is away no round ends, and what waits is to be known then above all.
            self.count(&mut rounds).await?;
            let left = self.round(&mut rounds, stop).await?;
            if *faulty {
                tracing::info!("events are published again");
            }
            (*faulty, *pause) = (false, FAULT_PAUSE);
            self.lag.broker_away.store(false, Ordering::Relaxed);
            self.prune(&mut rounds).await?;
            settling = if left == Left::Unsettled { (settling * 2).min(PAUSE) } else { SETTLING_PAUSE };
            let rest = match left {
                Left::More => continue,
                Left::Unsettled => settling,
                Left::Nothing => PAUSE,
            };
            let rung = async {
                // Where nobody listens nobody waits either.
                match self.broker.has_listeners() {
                    true => self.committed.notified().await,
                    false => std::future::pending().await,
                }
                sleep_until(began + PACE).await;
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = rung => {}
                () = sleep(rest) => {}
            }
        }
        rounds.connection.close().await?;
        Ok(())
    }

    /// Publishes what waits of each client; answers the most that is left of one.
    async fn round(&self, rounds: &mut Rounds, stop: &CancellationToken) -> Result<Left, Fault> {
        let Rounds { connection, cluster_id, clients, shortened, .. } = rounds;
        let mut most = Left::Nothing;
        let mut too_slow = false;
        for client in store::clients_with_pending(&mut *connection, clients, *cluster_id).await? {
            let mut left = Left::More;
            for _ in 0..BATCHES_IN_A_ROW {
                if stop.is_cancelled() {
                    return Ok(Left::Nothing);
                }
                let size = shortened.get(&client).copied().unwrap_or(BATCH_MAX);
                left = match self.batch(connection, *cluster_id, client, size).await {
                    // Events of one thing go out one after the other, so that a slow broker may have no time for a whole
                    // batch of them. The others do not wait for these.
                    Err(Fault::TooSlow) if size > 1 => {
                        tracing::debug!(client_id = %client, size, "a batch was not accepted in time, halving it");
                        shortened.insert(client, size / 2);
                        most = Left::More;
                        break;
                    }
                    Err(Fault::TooSlow) => {
                        too_slow = true;
                        break;
                    }
                    batch => batch?,
                };
                shortened.retain(|of, size| {
                    *size *= if *of == client { 2 } else { 1 };
                    *size < BATCH_MAX
                });
                if left != Left::More {
                    break;
                }
            }
            most = most.max(left);
        }
        if too_slow { Err(Fault::TooSlow) } else { Ok(most) }
    }

    /// Publishes a batch of a client, of `size` events at most, unless another relay does.
    async fn batch(
        &self,
        connection: &mut PgConnection,
        cluster_id: i64,
        client: ClientId,
        size: usize,
    ) -> Result<Left, Fault> {
        let mut transaction = connection.begin().await?;
        if !store::claim(&mut *transaction, client).await? {
            transaction.rollback().await?;
            return Ok(Left::Nothing);
        }
        let Some(place) = store::place(&mut *transaction, client, cluster_id).await? else {
            begin_anew(&mut transaction, cluster_id, client).await?;
            transaction.commit().await?;
            return Ok(Left::More);
        };
        if !self.broker.has_listeners() {
            if let Some(last) = store::last_settled(&mut *transaction, client, &place).await? {
                store::advance(&mut *transaction, client, cluster_id, &last).await?;
            }
            transaction.commit().await?;
            return Ok(Left::Nothing);
        }
        let pending = store::pending(&mut *transaction, client, &place, size as i64).await?;
        let Some(place) = pending.last().map(Pending::place) else {
            transaction.rollback().await?;
            return Ok(Left::Unsettled);
        };
        let messages: Vec<Message> = pending.into_iter().map(Pending::message).collect();
        timeout(self.accepted_within, self.broker.publish(&messages)).await.map_err(|_| Fault::TooSlow)??;
        store::advance(&mut *transaction, client, cluster_id, &place).await?;
        transaction.commit().await?;
        self.lag.published.fetch_add(messages.len() as u64, Ordering::Relaxed);
        Ok(if messages.len() == size { Left::More } else { Left::Nothing })
    }

    /// Counts what waits, now and then.
    async fn count(&self, rounds: &mut Rounds) -> Result<(), Fault> {
        let cluster_id = rounds.cluster_id;
        if is_due(rounds.counted, COUNT_EVERY) {
            rounds.counted = Some(Instant::now());
            let (waiting, oldest) = store::lag(&mut rounds.connection, &rounds.clients, cluster_id).await?;
            let age = oldest.map_or(0, |oldest| ((self.now)() - oldest).num_milliseconds());
            self.lag.waiting.store(waiting, Ordering::Relaxed);
            self.lag.oldest_age_ms.store(u64::try_from(age).unwrap_or(0), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Deletes what is published for long enough, now and then.
    async fn prune(&self, rounds: &mut Rounds) -> Result<(), Fault> {
        let cluster_id = rounds.cluster_id;
        if is_due(rounds.pruned, PRUNE_EVERY) {
            rounds.pruned = Some(Instant::now());
            for client in &rounds.clients {
                prune(&mut rounds.connection, cluster_id, *client, (self.now)() - self.retention).await?;
            }
        }
        Ok(())
    }
}

/// Begins a client's stream, whose events are from before it was read, or from another cluster: whatever is kept of them is
/// published (again), in order, before all that comes.
async fn begin_anew(connection: &mut PgConnection, cluster_id: i64, client: ClientId) -> Result<(), Fault> {
    // Many rows if a large database has been restored from a dump, and once: with a limit it would never end.
    store::lift_time_limit(&mut *connection).await?;
    store::begin_anew(&mut *connection, client).await?;
    store::advance(&mut *connection, client, cluster_id, &Place::start()).await?;
    Ok(())
}

/// Deletes a client's published events that were made before this time, in small transactions, and notes how far that went;
/// answers how many they were.
pub async fn prune(
    connection: &mut PgConnection,
    cluster_id: i64,
    client: ClientId,
    before: DateTime<Utc>,
) -> sqlx::Result<u64> {
    let mut pruned_in_all = 0;
    loop {
        let mut transaction = connection.begin().await?;
        let pruned = store::prune(&mut *transaction, client, cluster_id, before, PRUNED_AT_ONCE).await?;
        if pruned == 0 {
            transaction.rollback().await?;
            return Ok(pruned_in_all);
        }
        store::note_pruned(&mut *transaction, client, before).await?;
        transaction.commit().await?;
        pruned_in_all += pruned;
    }
}
