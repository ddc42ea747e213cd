//! The door itself.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use idempotency::{Answer, FailedPolicy, Fingerprint, Name, Record, Verdict};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::batch::Bench;
use crate::command::LaneKey;
use crate::connection::LaneConnection;
use crate::ids::Ids;
use crate::in_flight::{Entered, InFlight, Ticket};
use crate::lane::{Job, Lane};
use crate::metrics::KeyOutcome;
use crate::poller::Poller;
use crate::remembered::{Recollection, Remembered};
use crate::schema::Database;
use crate::store::Statements;
use crate::{Clock, Hooks, Metrics, Render, Request, Settings};

/// How long a repeat waits to learn whether the request before it has a record or runs. That takes a batch or two.
const RECALL_PATIENCE: Duration = Duration::from_millis(100);

/// What a request is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answered {
    /// It ran, and this came of it; effect and record are committed.
    Ran(Answer),
    /// It had run before, and this came of it then.
    Replayed(Answer),
    /// It is running, here or in another process.
    InProgress,
    /// The key was another request's. Nothing of that one is told.
    Reused,
    /// It depends on something that a provider has not said yet. Nothing happened, and the name is free.
    Undecided,
    /// The optimistic lock lost every allowed try. Nothing happened.
    Contended,
    /// The queue is full. Nothing happened.
    Overloaded,
    /// The database is away, or the service is going down. Nothing happened.
    Unavailable,
    /// The database was lost during the commit and has not come back: it happened, or it did not. Only a retry
    /// under the same name is safe, and it learns which.
    OutcomeUnknown,
    /// A fault of the service's own, which its log describes. Nothing happened.
    Failed,
}

/// An answer, and how it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The answer.
    pub answered: Answered,
    /// Whether it waited for another request under the same name.
    pub waited: bool,
}

/// What is known of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookedUp {
    /// No record is committed and none is running.
    Unknown,
    /// It is running.
    InProgress {
        /// What was asked; known only for what this process runs.
        operation: Option<String>,
        /// Since when; known only for what this process runs.
        first_seen_at: Option<DateTime<Utc>>,
    },
    /// It has finished.
    Finished(Box<Record>),
}

/// The one door. Cheap to clone; all clones are one desk.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    in_flight: InFlight,
    remembered: Arc<Remembered>,
    /// What a record of a refusal does to the same request.
    failed: FailedPolicy,
    poller: Poller,
    /// Emptied when the desk is drained.
    lanes: Mutex<Vec<mpsc::Sender<Job>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    events_committed: Arc<Notify>,
}

impl Desk {
    /// Opens a desk on a migrated database. Its lanes connect when the first command comes; a database that is
    /// away then is told to whoever asks.
    ///
    /// # Panics
    ///
    /// If the settings name no lane, or an empty batch or queue.
    pub fn open(
        database: Database,
        settings: Settings,
        clock: Arc<dyn Clock>,
        render: Render,
        hooks: Hooks,
        metrics: Metrics,
    ) -> Self {
        assert!(settings.lanes > 0, "a desk needs a lane");
        assert!(settings.batch_max > 0 && settings.queue_max > 0, "a lane needs room for a command");
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let poller = Poller::default();
        let events_committed = Arc::new(Notify::new());
        let remembered = Arc::new(Remembered::new(settings.remembered_bytes, settings.failed));
        tasks.spawn(poller.clone().run(database.pool().clone(), settings.poll_interval, stop.clone()));
        let bench = Bench {
            connection: LaneConnection::new(database.service_options(), &settings),
            settings: settings.clone(),
            clock: clock.clone(),
            render,
            hooks,
            metrics: metrics.clone(),
            statements: Statements::default(),
            remembered: remembered.clone(),
            collecting_known: HashSet::new(),
            events_committed: events_committed.clone(),
        };
        let lanes = (0..settings.lanes)
            .map(|_| {
                let (queue, commands) = mpsc::channel(settings.queue_max);
                tasks.spawn(Lane::new(bench.sibling(), metrics.clone(), tasks.clone()).run(commands));
                queue
            })
            .collect();
        Self(Arc::new(Inner {
            database,
            clock,
            metrics,
            in_flight: InFlight::default(),
            remembered,
            failed: settings.failed,
            poller,
            lanes: Mutex::new(lanes),
            tasks,
            stop,
            events_committed,
        }))
    }

    /// Rung after each commit of events, so that whoever publishes them need not look again and again. One is woken.
    pub fn events_committed(&self) -> Arc<Notify> {
        self.0.events_committed.clone()
    }

    /// Asks for an effect under a name, and answers when it is committed, refused, or known to be impossible.
    ///
    /// A request whose name is being run is told so at once, or, with `wait`, waits so long for the first one's
    /// answer. Dropping the returned future changes nothing: what was taken runs on.
    pub async fn submit(&self, request: Request, wait: Option<Duration>) -> Reply {
        self.submit_in(None, request, wait).await
    }

    /// The same, in a trace: the `traceparent` of what asks, in the words of
    /// [Trace Context](https://www.w3.org/TR/trace-context/). The events of the effect carry it on. It is no part of what is
    /// asked: a repetition in another trace is the same request.
    pub async fn submit_in(
        &self,
        traceparent: Option<&str>,
        request: Request,
        wait: Option<Duration>,
    ) -> Reply {
        let deadline = wait.map(|wait| Instant::now() + wait);
        let mut waited = false;
        let answered = loop {
            let answered = self.ask(&request, traceparent, deadline, &mut waited).await;
            let Some(deadline) = deadline else { break answered };
            if answered != Answered::InProgress || Instant::now() >= deadline {
                break answered;
            }
            // Another process runs it. When that has ended, ask again: there is a record, or the name is free.
            waited = true;
            if !self.0.poller.freed(&request.name, deadline).await {
                break Answered::InProgress;
            }
        };
        self.count(&answered);
        Reply { answered, waited }
    }

    /// Asks once: runs the request, or waits for the same one in this process.
    async fn ask(
        &self,
        request: &Request,
        traceparent: Option<&str>,
        deadline: Option<Instant>,
        waited: &mut bool,
    ) -> Answered {
        loop {
            let now = self.0.clock.now();
            match self.0.remembered.recall(&request.name, request.fingerprint, now) {
                Some(Recollection::Replay { answer, .. }) => return Answered::Replayed(answer),
                Some(Recollection::Reused) => return Answered::Reused,
                None => {}
            }
            let entered = self.0.in_flight.enter(&request.name, request.fingerprint, request.operation, now);
            let (same_request, first) = match entered {
                Entered::First(ticket, awaited) => {
                    self.enqueue(request.clone(), traceparent, now, ticket);
                    return awaited.answer().await;
                }
                Entered::Occupied { same_request, awaited } => (same_request, awaited),
            };
            let told = match (same_request, deadline) {
                (true, Some(deadline)) => {
                    *waited = true;
                    timeout_at(deadline, first.answer()).await.ok()
                }
                // Whoever is there may be a repeat of what has finished, or a reuse of it: that is known as soon as
                // its record has been looked for. Until then nobody can say which of the two requests is the reuse,
                // and only the answer that invites to ask again is never wrong.
                (_, _) => match timeout(RECALL_PATIENCE, first.answer_unless_running()).await {
                    Ok(told) => told,
                    Err(_) => return Answered::InProgress,
                },
            };
            match told {
                None if same_request => return Answered::InProgress,
                None => return Answered::Reused,
                Some(Answered::Ran(answer) | Answered::Replayed(answer)) if same_request => {
                    return Answered::Replayed(answer);
                }
                Some(Answered::Ran(_) | Answered::Replayed(_)) => return Answered::Reused,
                Some(told @ (Answered::InProgress | Answered::Reused)) if same_request => return told,
                // The other one was a reuse, or has vanished without a record: this one is judged by itself.
                Some(
                    Answered::InProgress
                    | Answered::Reused
                    | Answered::Undecided
                    | Answered::Contended
                    | Answered::Overloaded
                    | Answered::Unavailable
                    | Answered::OutcomeUnknown
                    | Answered::Failed,
                ) => {}
            }
        }
    }

    fn enqueue(&self, request: Request, traceparent: Option<&str>, now: DateTime<Utc>, ticket: Ticket) {
        let lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.is_empty() {
            return ticket.answer(Answered::Unavailable);
        }
        let lane = lane_of(&request, lanes.len());
        let job =
            Job::new(request, traceparent.map(str::to_owned), Ids::beginning_with(new_id()), now, ticket);
        match lanes[lane].try_send(job) {
            Ok(()) => self.0.metrics.queued(),
            Err(TrySendError::Full(job)) => job.answer(Answered::Overloaded),
            Err(TrySendError::Closed(job)) => job.answer(Answered::Unavailable),
        }
    }

    /// What is known of a name: for a client that was told "in progress", or lost an answer.
    pub async fn look_up(&self, name: &Name) -> sqlx::Result<LookedUp> {
        // In this order: what ends between the questions is found by the last one.
        let here = self.0.in_flight.running(name);
        let pool = self.0.database.pool();
        let elsewhere = idempotency::store::running(pool, std::slice::from_ref(name)).await?.contains(&true);
        if let Some(record) = idempotency::store::find(pool, name).await? {
            return Ok(LookedUp::Finished(Box::new(record)));
        }
        Ok(match here {
            Some((operation, first_seen_at)) => LookedUp::InProgress {
                operation: Some(operation.to_owned()),
                first_seen_at: Some(first_seen_at),
            },
            None if elsewhere => LookedUp::InProgress { operation: None, first_seen_at: None },
            None => LookedUp::Unknown,
        })
    }

    /// What a request is answered whose name was used before, without running anything: for whoever lacks what it takes to
    /// run it, and must refuse nothing that is finished. `None`: the name is free, or the same request may run again.
    ///
    /// # Errors
    ///
    /// Those of the database.
    pub async fn answered_before(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
    ) -> sqlx::Result<Option<Answered>> {
        let answered = match self.look_up(name).await? {
            LookedUp::Unknown => return Ok(None),
            LookedUp::InProgress { .. } => Answered::InProgress,
            LookedUp::Finished(record) => match record.judge(fingerprint, self.0.failed) {
                Verdict::Replay => Answered::Replayed(record.answer),
                Verdict::Reused => Answered::Reused,
                Verdict::RunAgain => return Ok(None),
            },
        };
        self.count(&answered);
        Ok(Some(answered))
    }

    /// Answers a repeat whose answer this process remembers, without asking the database: for whoever would have to look
    /// something up to make the command of a first request. `None`, if it remembers nothing, and for another request under
    /// the name: of that, what else is wrong may have to be told first, and [`Desk::submit`] knows it as well.
    pub fn replay(&self, name: &Name, fingerprint: Fingerprint) -> Option<Answered> {
        let Recollection::Replay { answer, .. } = self.recall(name, fingerprint)? else { return None };
        let answered = Answered::Replayed(answer);
        self.count(&answered);
        Some(answered)
    }

    /// What this process remembers of a name, without asking the database: for whoever tells other processes of it, or asks
    /// them. Nothing, if it remembers nothing, if the record may be deleted already, or if what it says may change.
    pub fn recall(&self, name: &Name, fingerprint: Fingerprint) -> Option<Recollection> {
        self.0.remembered.recall(name, fingerprint, self.0.clock.now())
    }

    /// Takes note of a replay that did not come here, since the caller had the answer from another process: it is counted,
    /// and remembered. The caller must know that the answer is committed, and never changes.
    pub fn note_replayed(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
        answer: &Answer,
        expires_at: DateTime<Utc>,
    ) {
        self.0.remembered.note_final(name, fingerprint, answer, expires_at);
        self.count(&Answered::Replayed(answer.clone()));
    }

    /// What it counts.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Takes no more commands, and waits until every one that was taken is answered.
    pub async fn drain(&self) {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    fn count(&self, answered: &Answered) {
        self.0.metrics.key(match answered {
            Answered::Ran(answer) if answer.status < 400 => KeyOutcome::Executed,
            Answered::Ran(_) => KeyOutcome::Refused,
            Answered::Replayed(answer) if answer.status < 400 => KeyOutcome::Replayed,
            Answered::Replayed(_) => KeyOutcome::FailedReplayed,
            Answered::InProgress => KeyOutcome::InProgress,
            Answered::Reused => KeyOutcome::Reused,
            Answered::Undecided
            | Answered::Contended
            | Answered::Overloaded
            | Answered::Unavailable
            | Answered::OutcomeUnknown
            | Answered::Failed => KeyOutcome::NotRun,
        });
    }
}

/// Commands that have something in common meet in one lane; a command that has nothing goes by its name.
fn lane_of(request: &Request, lanes: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    match request.command.lane_key(request.name.client_id) {
        LaneKey::Nothing => request.name.hash(&mut hasher),
        key => key.hash(&mut hasher),
    }
    usize::try_from(hasher.finish() % lanes as u64).expect("less than the number of lanes")
}

#[expect(clippy::disallowed_methods, reason = "this is the edge where new ids come in")]
fn new_id() -> Uuid {
    Uuid::now_v7()
}
