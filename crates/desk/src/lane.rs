//! A lane: one task with one database connection, which runs whatever waits in its queue as one transaction.
//!
//! It never waits for more to arrive: at rest a batch is one command, under load it is many.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use idempotency::{Answer, Record};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use crate::batch::Bench;
use crate::desk::Answered;
use crate::fault::{Conflict, Fault};
use crate::ids::Ids;
use crate::in_flight::Ticket;
use crate::{Metrics, Request, Step};

/// How often a batch may find a key taken, each time but the first with all that it reads locked, before its commands are
/// tried one by one.
const KEY_TAKEN_TRIES: u32 = 3;

/// The longest pause between two tries at a contended batch.
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(64);

/// The pause between two attempts to get a connection back, or to learn what became of a commit.
const AWAY_PAUSE: Duration = Duration::from_millis(60);

/// A request on its way through a lane, with the obligation to answer it.
#[derive(Debug)]
pub struct Job {
    /// What is asked, under which name.
    pub request: Request,
    /// The ids that its effect will have.
    pub ids: Ids,
    /// When it was taken.
    pub asked_at: DateTime<Utc>,
    /// Since when it waits for its lane.
    pub queued_at: Instant,
    /// What its earlier attempts may have left behind.
    pub standing: Standing,
    /// The record of a refusal that is tried again.
    pub failed_before: Option<Record>,
    /// The trace that it came in, which its events carry on.
    pub traceparent: Option<String>,
    ticket: Ticket,
}

impl Job {
    /// A request that has just come.
    pub fn new(
        request: Request,
        traceparent: Option<String>,
        ids: Ids,
        asked_at: DateTime<Utc>,
        ticket: Ticket,
    ) -> Self {
        Self {
            request,
            ids,
            asked_at,
            queued_at: Instant::now(),
            standing: Standing::Fresh,
            failed_before: None,
            traceparent,
            ticket,
        }
    }

    /// Notes that it has no record that answers it, and runs.
    pub fn note_running(&self) {
        self.ticket.running();
    }

    /// Notes that the commit of its effect is being sent: whoever loses the job now does not know what happened.
    pub fn note_commit_sent(&mut self) {
        self.ticket.if_lost(Answered::OutcomeUnknown);
    }

    /// Notes that PostgreSQL said that the commit did not happen.
    pub fn note_commit_refused(&mut self) {
        self.ticket.if_lost(Answered::Failed);
    }

    /// Answers it.
    pub fn answer(self, answered: Answered) {
        self.ticket.answer(answered);
    }
}

/// What a job's earlier attempts may have left behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing: every attempt so far was rolled back.
    Fresh,
    /// A connection was lost before its commit was sent. Nothing happened, but PostgreSQL may not have noticed
    /// yet, and hold the name.
    Lost {
        /// When.
        since: Instant,
    },
    /// A connection was lost after its commit was sent.
    Unknown {
        /// When.
        since: Instant,
        /// What would have been answered, if it was committed.
        answer: Answer,
    },
}

impl Standing {
    /// The standing after a commit whose result was lost.
    pub fn commit_lost(&self, answer: Answer) -> Self {
        let since = match self {
            Self::Unknown { since, .. } => *since,
            Self::Fresh | Self::Lost { .. } => Instant::now(),
        };
        Self::Unknown { since, answer }
    }

    /// Notes that a connection was lost before its commit was sent. A commit that was lost earlier remains what
    /// is to be found out.
    pub fn note_lost(&mut self) {
        if *self == Self::Fresh {
            *self = Self::Lost { since: Instant::now() };
        }
    }

    /// Whether a transaction of this very job may be alive, and hold its name.
    pub fn may_still_hold_its_name(&self) -> bool {
        match self {
            Self::Fresh => false,
            Self::Lost { .. } | Self::Unknown { .. } => true,
        }
    }

    /// Whether this is what the lost commit of this very job would have answered: then it was committed, and
    /// this is no replay. Answers name ids that are drawn for one job only, or its request's id.
    pub fn is_answer_of_lost_commit(&self, recorded: &Answer) -> bool {
        matches!(self, Self::Unknown { answer, .. } if answer == recorded)
    }
}

/// A lane.
pub struct Lane {
    bench: Bench,
    metrics: Metrics,
    tasks: TaskTracker,
    /// Since when there is no connection to be had.
    away_since: Option<Instant>,
}

impl Lane {
    /// A lane of a desk. `tasks` keeps track of the work that outlives a batch.
    pub fn new(bench: Bench, metrics: Metrics, tasks: TaskTracker) -> Self {
        Self { bench, metrics, tasks, away_since: None }
    }

    /// Runs what comes, until the queue is closed and empty.
    ///
    /// A batch that panics answers for itself, each job by its ticket, and the lane goes on with the next: else
    /// one mistake in a rule would close this lane's accounts until somebody restarts the service.
    pub async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let batch_max = self.bench.settings.batch_max;
        let mut jobs = Vec::with_capacity(batch_max);
        while queue.recv_many(&mut jobs, batch_max).await > 0 {
            let size = jobs.len();
            let begun = Instant::now();
            self.metrics.batch_taken(size, begun.duration_since(jobs[0].queued_at));
            let batch = self.run_all(std::mem::take(&mut jobs));
            // What is kept from batch to batch is the connection, which may be in the middle of an answer and is
            // given up; the statements composed so far; and the collecting accounts that are committed.
            if AssertUnwindSafe(batch).catch_unwind().await.is_err() {
                tracing::error!(commands = size, "a batch panicked");
                self.bench.connection.give_up();
            }
            self.metrics.batch_ended(begun.elapsed());
        }
    }

    /// Runs these jobs, as one batch if it can be, in smaller ones if it must be.
    async fn run_all(&mut self, jobs: Vec<Job>) {
        let mut batches = vec![jobs];
        while let Some(batch) = batches.pop() {
            batches.extend(self.run_batch(batch).await);
        }
    }

    /// Runs a batch until everybody in it is answered, or answers the smaller batches it must be split into, the
    /// last to be run first.
    async fn run_batch(&mut self, mut jobs: Vec<Job>) -> Vec<Vec<Job>> {
        let mut tries = 0;
        // Optimistic at first. Whoever has lost once locks what it reads, and cannot lose for ever.
        let mut locked = false;
        while !jobs.is_empty() {
            let fault = match self.bench.attempt(&mut jobs, locked).await {
                Ok(()) => {
                    self.away_since = None;
                    // Their names are held by a transaction that this lane lost and PostgreSQL has not missed yet.
                    self.inquire(std::mem::take(&mut jobs));
                    continue;
                }
                Err(fault) => fault,
            };
            match fault {
                Fault::Conflict(conflict) => {
                    self.metrics.conflict(conflict);
                    locked = true;
                    tries += 1;
                    // Whoever has looked again under locks and finds the key taken all the same has a neighbour's
                    // trouble, or a trouble of its own that will not end: either way each is to be tried alone.
                    if conflict == Conflict::KeyTaken && tries >= KEY_TAKEN_TRIES && jobs.len() > 1 {
                        return one_by_one(jobs);
                    }
                    if tries >= self.bench.settings.tries_max {
                        self.metrics.contended.inc();
                        tracing::warn!(tries, conflict = conflict.as_str(), "gave up a contended batch");
                        answer_all(&mut jobs, &Answered::Contended);
                    } else {
                        self.metrics.retried(tries);
                        sleep(conflict_pause(tries)).await;
                    }
                }
                Fault::OutOfLocks if jobs.len() > 1 => {
                    tracing::warn!(
                        commands = jobs.len(),
                        "PostgreSQL's lock table is full, halving the batch"
                    );
                    let rest = jobs.split_off(jobs.len() / 2);
                    return vec![rest, jobs];
                }
                Fault::OutOfLocks => {
                    tracing::error!("PostgreSQL's lock table is full: raise max_locks_per_transaction");
                    answer_all(&mut jobs, &Answered::Contended);
                }
                // So that no command fails for its neighbour's sake.
                Fault::Command(_) if jobs.len() > 1 => return one_by_one(jobs),
                Fault::Command(error) => {
                    for job in &jobs {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            operation = job.request.operation,
                            request_id = job.request.request_id,
                            "the database did not take a command"
                        );
                    }
                    answer_all(&mut jobs, &Answered::Failed);
                }
                Fault::Lost(error) => {
                    tracing::warn!(%error, "lost the connection before a commit, beginning anew");
                    jobs.iter_mut().for_each(|job| job.standing.note_lost());
                    self.wait_for_the_database(&mut jobs).await;
                }
                Fault::NoConnection(error) => {
                    tracing::debug!(%error, "cannot connect");
                    self.wait_for_the_database(&mut jobs).await;
                }
                Fault::Unknown(error) => {
                    tracing::warn!(%error, "lost the connection during a commit, asking what became of it");
                    self.metrics.commits_unknown.inc();
                    self.inquire(std::mem::take(&mut jobs));
                }
            }
        }
        Vec::new()
    }

    /// Gives the database some time to come back: counted from when it went, so that a queue that has filled
    /// meanwhile is not told one batch after the other.
    async fn wait_for_the_database(&mut self, jobs: &mut Vec<Job>) {
        let since = *self.away_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.bench.settings.reconnect_wait {
            answer_all_away(jobs);
        } else {
            sleep(AWAY_PAUSE).await;
        }
    }

    /// Asks again under the same names, on a connection and a task of its own: other commands go on meanwhile.
    ///
    /// The claim must first win the names' locks, which the old transaction holds for as long as it can still
    /// commit; then the records tell.
    fn inquire(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut inquiry = self.sibling();
        self.tasks.spawn(async move {
            let mut jobs = jobs;
            while !jobs.is_empty() {
                inquiry.give_up_on_overdue(&mut jobs);
                inquiry.bench.hooks.after(Step::Inquiring).await;
                match inquiry.bench.attempt(&mut jobs, true).await {
                    Ok(()) => {}
                    Err(Fault::Command(_)) if jobs.len() > 1 => {
                        jobs.into_iter().for_each(|job| inquiry.inquire(vec![job]));
                        return;
                    }
                    Err(Fault::Command(error)) => {
                        // The names were claimed and have no record: the lost commit did not happen.
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            "the database did not take a command"
                        );
                        answer_all(&mut jobs, &Answered::Failed);
                    }
                    Err(fault) => tracing::debug!(?fault, "still asking what became of a commit"),
                }
                if !jobs.is_empty() {
                    sleep(AWAY_PAUSE).await;
                }
            }
        });
    }

    fn sibling(&self) -> Self {
        Self::new(self.bench.sibling(), self.metrics.clone(), self.tasks.clone())
    }

    /// Answers those who have waited long enough for an old transaction to end.
    fn give_up_on_overdue(&self, jobs: &mut Vec<Job>) {
        let settings = &self.bench.settings;
        let overdue = |job: &Job| match job.standing {
            Standing::Fresh => false,
            Standing::Lost { since } | Standing::Unknown { since, .. } => {
                since.elapsed() >= settings.unknown_wait
            }
        };
        let (mut late, rest): (Vec<Job>, Vec<Job>) = jobs.drain(..).partition(overdue);
        *jobs = rest;
        answer_all_away(&mut late);
    }
}

/// Says that nothing happened, or, of a commit that was lost, that nobody knows.
fn answer_all_away(jobs: &mut Vec<Job>) {
    for job in jobs.drain(..) {
        let answered = match job.standing {
            Standing::Fresh | Standing::Lost { .. } => Answered::Unavailable,
            Standing::Unknown { .. } => Answered::OutcomeUnknown,
        };
        job.answer(answered);
    }
}

/// Each job as a batch of its own. Batches are run from the last on, so the first job is run first.
fn one_by_one(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    jobs.into_iter().rev().map(|job| vec![job]).collect()
}

fn answer_all(jobs: &mut Vec<Job>, answered: &Answered) {
    jobs.drain(..).for_each(|job| job.answer(answered.clone()));
}

/// Twice as long after each conflict, and by chance between nothing and that, so that two who met do not meet
/// again.
fn conflict_pause(tries: u32) -> Duration {
    let longest = Duration::from_millis(1 << tries.min(10)).min(CONFLICT_PAUSE_MAX);
    rand::random_range(Duration::ZERO..=longest)
}
