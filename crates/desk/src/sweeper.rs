//! The timer's way through the door: whatever has become due is looked for, and a command about it is submitted under a
//! name that follows from what is due. So any number of servers may sweep at once, and each thing that is due has one
//! effect.
//!
//! The name has the version of the row in it: a row that becomes due once more, after something has happened to it, is
//! another effect, and not answered from the record of the first.
//!
//! Nothing depends on the sweeper being in time: every command treats what is due as expired by itself. To let another
//! kind of row become due: two functions like `clients_with_payments_due` and `payments_due`, and an entry in `SOURCES`.

use std::sync::Arc;
use std::time::Duration;

use account::store::holds;
use account::{Hold, HoldPurpose};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use futures::stream::{self, StreamExt, TryStreamExt};
use idempotency::fingerprint::Meaning;
use idempotency::{Key, Name};
use order::OrderId;
use payment_callback::ProviderKind;
use payment_callback::store::{payments, receipts};
use sqlx::PgPool;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::command::PaymentCommand;
use crate::schema::Database;
use crate::{Answered, Clock, Command, Desk, Request};

/// The pause after a round that has reached all that is due: so late may something due be reached.
const PAUSE: Duration = Duration::from_millis(500);

/// How many of a client and a kind are looked for at once.
const DUE_MAX: i64 = 100;

/// How many commands are on their way at once, whosever they are: an order that comes in the midst of a backlog has as many
/// before it in its lane's queue at the most, however long that is.
const ON_THEIR_WAY_MAX: usize = 100;

/// How many clients are swept at once: many who have one thing due each are then no slower than one who has many. Each
/// takes a connection of the pool while it is looked for.
const CLIENTS_AT_ONCE: usize = 4;

/// How many batches of them one round submits, so that one client's backlog does not keep the others waiting.
const BATCHES_MAX: usize = 10;

/// What stands for the id of a request in the sweeper's commands.
const REQUEST_ID: &str = "sweeper";

/// What can be set about sweeping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SweepSettings {
    /// For how long money may be parked under a number that nobody has asked for, until a person is asked.
    pub unmatched_asked_after: TimeDelta,
}

impl Default for SweepSettings {
    fn default() -> Self {
        Self { unmatched_asked_after: TimeDelta::minutes(15) }
    }
}

/// Something that is due: a command, and what its name follows from.
#[derive(Clone, Debug)]
pub struct Due {
    operation: &'static str,
    /// The parts of its name: the same for the same thing that is due, whoever finds it.
    name: Vec<String>,
    command: Command,
}

/// A kind of thing that becomes due.
struct Source {
    clients: Having,
    due: Looking,
}

/// Looks which of the clients have something due: one statement, however many clients there are.
type Having = for<'a> fn(&'a PgPool, &'a [ClientId], &'a Moment) -> Looked<'a, ClientId>;

/// Looks for what is due of a client.
type Looking = for<'a> fn(&'a PgPool, ClientId, &'a Moment) -> Looked<'a, Due>;

/// What was found.
type Looked<'a, T> = BoxFuture<'a, sqlx::Result<Vec<T>>>;

/// Every kind of thing that becomes due.
const SOURCES: &[Source] = &[
    Source { clients: clients_with_payments_due, due: payments_due },
    Source { clients: clients_with_holds_due, due: holds_due },
    Source { clients: clients_with_receipts_unmatched, due: receipts_unmatched },
];

/// When it is looked.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    now: DateTime<Utc>,
    settings: SweepSettings,
}

impl Moment {
    /// What was parked at this time or before is asked about now.
    fn parked_since(&self) -> DateTime<Utc> {
        self.now - self.settings.unmatched_asked_after
    }
}

fn clients_with_payments_due<'a>(
    pool: &'a PgPool,
    clients: &'a [ClientId],
    moment: &'a Moment,
) -> Looked<'a, ClientId> {
    payments::clients_due(pool, clients, moment.now).boxed()
}

/// Payments whose time is over.
///
/// Their names, as those of holds, have the minute in them: a clock that is put back between the look and the decision has
/// a payment found not due, and the record of that must not answer for ever. That a payment ends once is its version's care.
fn payments_due<'a>(pool: &'a PgPool, client: ClientId, moment: &'a Moment) -> Looked<'a, Due> {
    async move {
        let minute = minute_of(moment);
        let due = payments::due(pool, client, moment.now, DUE_MAX).await?;
        let expire = |(payment_no, version): (String, i64)| Due {
            operation: "expire payment",
            name: vec![payment_no.clone(), version.to_string(), minute.clone()],
            command: Command::Payment(PaymentCommand::Expire { payment_no }),
        };
        Ok(due.into_iter().map(expire).collect())
    }
    .boxed()
}

fn minute_of(moment: &Moment) -> String {
    (moment.now.timestamp() / 60).to_string()
}

fn clients_with_holds_due<'a>(
    pool: &'a PgPool,
    clients: &'a [ClientId],
    moment: &'a Moment,
) -> Looked<'a, ClientId> {
    holds::clients_due(pool, clients, moment.now).boxed()
}

/// Holds of clients and of orders, which end with them.
///
/// Of the minute in their names see [`payments_due`]: a hold that is not due is refused, and that is recorded too.
fn holds_due<'a>(pool: &'a PgPool, client: ClientId, moment: &'a Moment) -> Looked<'a, Due> {
    async move {
        let minute = minute_of(moment);
        let due = holds::due(pool, client, moment.now, DUE_MAX).await?;
        let expire = |hold: Hold| {
            let (name, account_id) = (vec![hold.id.to_string(), minute.clone()], Some(hold.account_id));
            let (operation, command) = match hold.purpose {
                HoldPurpose::Client { .. } => {
                    ("expire hold", Command::ExpireHold { hold_id: hold.id, account_id })
                }
                HoldPurpose::Order => {
                    ("expire order", Command::ExpireOrder { order_id: OrderId(hold.id.0), account_id })
                }
            };
            Due { operation, name, command }
        };
        Ok(due.into_iter().map(expire).collect())
    }
    .boxed()
}

fn clients_with_receipts_unmatched<'a>(
    pool: &'a PgPool,
    clients: &'a [ClientId],
    moment: &'a Moment,
) -> Looked<'a, ClientId> {
    receipts::clients_parked_since(pool, clients, moment.parked_since()).boxed()
}

fn receipts_unmatched<'a>(pool: &'a PgPool, client: ClientId, moment: &'a Moment) -> Looked<'a, Due> {
    async move {
        let parked = receipts::parked_since(pool, client, moment.parked_since(), DUE_MAX).await?;
        let ask = |(provider, provider_payment_id, version): (ProviderKind, String, i64)| Due {
            operation: "ask about unmatched money",
            name: vec![provider.word().to_owned(), provider_payment_id.clone(), version.to_string()],
            command: Command::Payment(PaymentCommand::AskAboutUnmatched { provider, provider_payment_id }),
        };
        Ok(parked.into_iter().map(ask).collect())
    }
    .boxed()
}

impl Due {
    fn into_request(self, client_id: ClientId) -> Request {
        let Self { operation, name, command } = self;
        let parts: Vec<&[u8]> = name.iter().map(String::as_bytes).collect();
        let key = Key::of_service(operation, &parts);
        let meaning = name.iter().fold(Meaning::of(operation), |meaning, part| meaning.field("name", part));
        Request {
            name: Name { client_id, key },
            fingerprint: meaning.fingerprint(),
            operation,
            command,
            request_id: REQUEST_ID.to_owned(),
        }
    }
}

/// What one round came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// How many commands had run.
    pub swept: usize,
    /// Whether a client had as much due of a kind as a round submits, so that there may be more: the next round makes
    /// headway too, and no pause is due before it.
    pub more: bool,
}

/// Sweeps until `stop`. It pauses when all that is due has been reached, or when nothing can be done about it now.
pub async fn run(
    desk: Desk,
    database: Database,
    settings: SweepSettings,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut pause = PAUSE;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(pause) => {}
        }
        let began = clock.now();
        let round = match once(&desk, &database, settings, clock.as_ref()).await {
            Ok(round) => {
                if !round.more {
                    desk.metrics().swept_at.set(began.timestamp());
                }
                round
            }
            Err(error) => {
                tracing::debug!(%error, "cannot sweep now");
                Round::default()
            }
        };
        if round.swept > 0 {
            tracing::debug!(swept = round.swept, "swept what was due");
        }
        pause = if round.more { Duration::ZERO } else { PAUSE };
    }
}

/// One round.
pub async fn once(
    desk: &Desk,
    database: &Database,
    settings: SweepSettings,
    clock: &dyn Clock,
) -> sqlx::Result<Round> {
    let pool = database.pool();
    let mut round = Round::default();
    let clients = client::store::all_client_ids(pool).await?;
    let places = Semaphore::new(ON_THEIR_WAY_MAX);
    for source in SOURCES {
        let having = (source.clients)(pool, &clients, &Moment { now: clock.now(), settings }).await?;
        let sweep = async |client| {
            let mut of_client = Round::default();
            for batch in 1..=BATCHES_MAX {
                let due = (source.due)(pool, client, &Moment { now: clock.now(), settings }).await?;
                let full = i64::try_from(due.len()).is_ok_and(|count| count == DUE_MAX);
                let requests = due.into_iter().map(|due| submit(desk, &places, due.into_request(client)));
                let ran = join_all(requests).await.into_iter().filter(|ran| *ran).count();
                of_client.swept += ran;
                // Whoever makes no headway (another server is at it, the database is away) does not insist.
                if !full || ran == 0 {
                    break;
                }
                of_client.more |= batch == BATCHES_MAX;
            }
            Ok::<Round, sqlx::Error>(of_client)
        };
        let mut swept = stream::iter(having).map(sweep).buffer_unordered(CLIENTS_AT_ONCE);
        while let Some(of_client) = swept.try_next().await? {
            round.swept += of_client.swept;
            round.more |= of_client.more;
        }
    }
    Ok(round)
}

/// Asks for an expiry when there is a place for it; answers whether it has run.
async fn submit(desk: &Desk, places: &Semaphore, request: Request) -> bool {
    let _place = places.acquire().await;
    matches!(desk.submit(request, None).await.answered, Answered::Ran(_))
}
