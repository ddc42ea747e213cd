//! One attempt at a batch: claim and recall, load, decide, save, commit; then answer everybody.
//!
//! An attempt either commits, and everybody in it is answered; or it leaves nothing behind, and says why.

use std::collections::HashSet;
use std::sync::Arc;

use account::Collecting;
use account::{Entry, Origin, Side};
use chrono::{DateTime, Utc};
use client::ClientId;
use idempotency::store::Claim;
use idempotency::{Name, Record, RecordStatus, Verdict};
use payment_callback::{Alert, DeliveryRecord};
use sqlx::PgConnection;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::business_keys::{BusinessKeys, TakenKeys};
use crate::connection::LaneConnection;
use crate::decide::{Decision, decide};
use crate::desk::Answered;
use crate::fault::{Conflict, Fault, judge, judge_commit};
use crate::lane::Job;
use crate::load::load;
use crate::metrics::Phase;
use crate::remembered::Remembered;
use crate::store::recall::{Recalled, look_again, recall};
use crate::store::{self, Saved, Statements, Writes};
use crate::working_set::WorkingSet;
use crate::{Clock, Command, Hooks, Metrics, Outcome, Render, Settings, Step};

/// What a lane needs for an attempt.
pub struct Bench {
    /// Its connection.
    pub connection: LaneConnection,
    /// What is set about the desk.
    pub settings: Settings,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How outcomes are put into words.
    pub render: Render,
    /// Where tests may stop it.
    pub hooks: Hooks,
    /// What it counts.
    pub metrics: Metrics,
    /// The statements it has composed so far.
    pub statements: Statements,
    /// Finished answers, shared by all lanes.
    pub remembered: Arc<Remembered>,
    /// Collecting accounts that are known to be there.
    pub collecting_known: HashSet<Collecting>,
    /// Rung when events are committed.
    pub events_committed: Arc<Notify>,
}

/// A job that has its outcome, waiting for the commit.
struct Decided {
    job: Job,
    record: Record,
}

impl Bench {
    /// A bench like this one, with a connection of its own that is not made yet.
    pub fn sibling(&self) -> Self {
        Self {
            connection: self.connection.sibling(),
            settings: self.settings.clone(),
            clock: self.clock.clone(),
            render: self.render.clone(),
            hooks: self.hooks.clone(),
            metrics: self.metrics.clone(),
            statements: Statements::default(),
            remembered: self.remembered.clone(),
            collecting_known: self.collecting_known.clone(),
            events_committed: self.events_committed.clone(),
        }
    }

    /// Tries to run these jobs as one transaction.
    ///
    /// On success everybody in it is answered, and `jobs` keeps those alone that have to be asked again: their
    /// names are held by a transaction that was lost and may still be alive. On a fault `jobs` keeps whatever
    /// was not answered from a record, nothing happened (or, for [`Fault::Unknown`], nobody knows), and the
    /// connection has no transaction open.
    pub async fn attempt(&mut self, jobs: &mut Vec<Job>, locked: bool) -> Result<(), Fault> {
        self.connection.ensure().await.map_err(Fault::NoConnection)?;
        let result = self.attempt_connected(jobs, locked).await;
        match &result {
            Ok(()) => {}
            Err(Fault::Lost(_) | Fault::Unknown(_) | Fault::NoConnection(_)) => self.connection.give_up(),
            Err(Fault::Conflict(_) | Fault::OutOfLocks | Fault::Command(_)) => self.roll_back(jobs).await,
        }
        result
    }

    async fn attempt_connected(&mut self, jobs: &mut Vec<Job>, locked: bool) -> Result<(), Fault> {
        let mut phase_began = Instant::now();
        self.connection.ask(store::begin).await.map_err(judge)?;
        self.hooks.after(Step::Begun).await;

        let Recalled { claims, taken } = self.ask_for_records_and_keys(jobs).await?;
        self.note_phase(Phase::Claim, &mut phase_began);
        self.hooks.after(Step::Claimed).await;
        let (runnable, held) = self.recall(std::mem::take(jobs), claims);
        if runnable.is_empty() {
            *jobs = held;
            self.roll_back(jobs).await;
            return Ok(());
        }

        let set = match load(&mut self.connection, commands(&runnable), taken.clone(), locked).await {
            Ok(set) => set,
            Err(fault) => return Err(give_back(jobs, held, runnable, fault)),
        };
        self.note_phase(Phase::Load, &mut phase_began);
        self.hooks.after(Step::Loaded).await;

        let now = self.clock.now();
        let (mut decided, writes) = self.decide(set, runnable, now);
        let collecting = writes.collecting.clone();
        let raised = writes.rows.alerts.new.clone();
        let delivered = writes.rows.deliveries.clone();
        self.note_phase(Phase::Decide, &mut phase_began);
        let has_events = !writes.rows.events.is_empty();
        self.hooks.after(Step::Decided).await;
        if decided.is_empty() {
            *jobs = held;
            self.roll_back(jobs).await;
            return Ok(());
        }

        let saved = match self.keys_are_as_they_were(&decided, &taken).await {
            Ok(()) => self.save(writes).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = saved {
            return Err(give_back(jobs, held, unsettle(decided), fault));
        }
        self.note_phase(Phase::Save, &mut phase_began);
        self.hooks.after(Step::Saved).await;

        decided.iter_mut().for_each(|decided| decided.job.note_commit_sent());
        if let Err(error) = self.connection.ask(store::commit).await {
            let fault = judge_commit(error);
            for Decided { job, record } in &mut decided {
                match fault {
                    Fault::Unknown(_) => job.standing = job.standing.commit_lost(record.answer.clone()),
                    _ => job.note_commit_refused(),
                }
            }
            return Err(give_back(jobs, held, unsettle(decided), fault));
        }
        self.note_phase(Phase::Commit, &mut phase_began);
        self.hooks.after(Step::Committed).await;
        self.collecting_known.extend(collecting);
        raised.iter().for_each(warn_of);
        for delivery in &delivered {
            self.metrics.delivered(delivery);
            if delivery.decision == payment_callback::Decision::IgnoreOtherAccount {
                warn_of_stranger(delivery);
            }
        }
        if has_events {
            self.events_committed.notify_one();
        }

        for Decided { job, record } in decided {
            self.remembered.note(&record);
            job.answer(Answered::Ran(record.answer));
        }
        *jobs = held;
        Ok(())
    }

    /// Counts the phase that has ended well, and begins the next.
    fn note_phase(&self, phase: Phase, began: &mut Instant) {
        let now = Instant::now();
        self.metrics.phase_ended(phase, now - *began);
        *began = now;
    }

    async fn ask_for_records_and_keys(&mut self, jobs: &[Job]) -> Result<Recalled, Fault> {
        let names: Vec<&Name> = jobs.iter().map(|job| &job.request.name).collect();
        let keys = BusinessKeys::of(commands(jobs));
        let statements = &mut self.statements;
        self.connection
            .ask(async |connection: &mut PgConnection| recall(connection, statements, &names, keys).await)
            .await
            .map_err(judge)
    }

    /// Answers the jobs that have a record, or are running elsewhere. What remains is to be run, or held by a
    /// transaction that this lane lost: then it is the old transaction's end that tells.
    fn recall(&self, jobs: Vec<Job>, claims: Vec<Claim>) -> (Vec<Job>, Vec<Job>) {
        let (mut runnable, mut held) = (Vec::with_capacity(jobs.len()), Vec::new());
        for (mut job, claim) in jobs.into_iter().zip(claims) {
            let verdict = claim
                .record
                .as_ref()
                .map(|record| record.judge(job.request.fingerprint, self.settings.failed));
            match (verdict, claim.record) {
                (Some(Verdict::Reused), _) => job.answer(Answered::Reused),
                (Some(Verdict::Replay), Some(record)) => {
                    self.remembered.note(&record);
                    let answered = if job.standing.is_answer_of_lost_commit(&record.answer) {
                        Answered::Ran(record.answer)
                    } else {
                        Answered::Replayed(record.answer)
                    };
                    job.answer(answered);
                }
                (_, record) if claim.won => {
                    job.failed_before = record;
                    job.note_running();
                    runnable.push(job);
                }
                (_, _) if job.standing.may_still_hold_its_name() => held.push(job),
                (_, _) => job.answer(Answered::InProgress),
            }
        }
        (runnable, held)
    }

    fn decide(&self, mut set: WorkingSet, jobs: Vec<Job>, now: DateTime<Utc>) -> (Vec<Decided>, Writes) {
        let mut writes = Writes::default();
        let mut decided = Vec::with_capacity(jobs.len());
        for job in jobs {
            let client = job.request.name.client_id;
            // Every attempt draws the same ids.
            let mut ids = job.ids.clone();
            let Decision { outcome, mut changes } = decide(&set, client, &job.request.command, &mut ids, now);
            if outcome == Outcome::Undecided {
                job.answer(Answered::Undecided);
                continue;
            }
            for event in &mut changes.events {
                event.traceparent.clone_from(&job.traceparent);
            }
            set.apply(changes, &origin_of(&job.request.name, &outcome));
            let record = self.record(&job, &outcome, now);
            let again = job.failed_before.is_some();
            if again { &mut writes.records_again } else { &mut writes.records_new }.push(record.clone());
            decided.push(Decided { job, record });
        }
        writes.rows = set.into_rows();
        writes.collecting = self.collecting_unknown(&writes.rows.entries);
        (decided, writes)
    }

    fn record(&self, job: &Job, outcome: &Outcome, now: DateTime<Utc>) -> Record {
        let rendered = (self.render)(outcome, &job.request.request_id);
        let before = job.failed_before.as_ref();
        Record {
            name: job.request.name.clone(),
            operation: job.request.operation.to_owned(),
            fingerprint: job.request.fingerprint,
            status: match outcome {
                Outcome::Refused(_) => RecordStatus::Failed,
                Outcome::AccountOpened(_)
                | Outcome::Moved(_)
                | Outcome::AccountClosed(_)
                | Outcome::HoldPlaced(_)
                | Outcome::HoldCaptured(_)
                | Outcome::HoldReleased(_)
                | Outcome::HoldExpired(_)
                | Outcome::OrderPlaced { .. }
                | Outcome::OrderCaptured(_)
                | Outcome::OrderCancelled { .. }
                | Outcome::OrderExpired(_)
                | Outcome::OrderRefunded(..)
                | Outcome::RefundAsked(..)
                | Outcome::RefundNoted(_)
                | Outcome::SkuSet(_)
                | Outcome::CallbackTaken(_)
                | Outcome::CallbackRepeated(_)
                | Outcome::AlertResolved(_)
                | Outcome::AlertRaised(_)
                | Outcome::PaymentExpired(_)
                | Outcome::EventCounted(_)
                | Outcome::DayRebuilt(_)
                | Outcome::WebhooksDue(_)
                | Outcome::NothingDue
                | Outcome::Undecided => RecordStatus::Completed,
            },
            attempts: before.map_or(1, |record| record.attempts + 1),
            resource: rendered.resource,
            answer: rendered.answer,
            first_seen_at: before.map_or(job.asked_at, |record| record.first_seen_at),
            completed_at: now,
            expires_at: now + self.settings.retention,
        }
    }

    fn collecting_unknown(&self, entries: &[Entry]) -> Vec<Collecting> {
        let mut unknown: Vec<Collecting> = entries
            .iter()
            .flat_map(|entry| [entry.debit, entry.credit])
            .filter_map(|side| match side {
                Side::Collecting(collecting) => Some(collecting),
                Side::Customer { .. } | Side::Held(_) => None,
            })
            .filter(|collecting| !self.collecting_known.contains(collecting))
            .collect();
        unknown.sort();
        unknown.dedup();
        unknown
    }

    /// A conflict, if a key that a refused command brings was taken while the rows were read: then its key may be the
    /// reason to refuse it. Of the commands that are not refused the unique index tells it.
    async fn keys_are_as_they_were(&mut self, decided: &[Decided], taken: &TakenKeys) -> Result<(), Fault> {
        let refused = decided.iter().filter(|decided| decided.record.status == RecordStatus::Failed);
        let keys = BusinessKeys::of(refused.map(|decided| command(&decided.job)));
        if keys.is_empty() {
            return Ok(());
        }
        let statements = &mut self.statements;
        let now_taken = self
            .connection
            .ask(async |connection: &mut PgConnection| look_again(connection, statements, keys).await)
            .await
            .map_err(judge)?;
        if taken.covers(&now_taken) { Ok(()) } else { Err(Fault::Conflict(Conflict::KeyTaken)) }
    }

    async fn save(&mut self, writes: Writes) -> Result<(), Fault> {
        let statements = &mut self.statements;
        let saved = self
            .connection
            .ask(async |connection: &mut PgConnection| store::save(connection, statements, writes).await)
            .await
            .map_err(judge)?;
        match saved {
            Saved::AsDecided => Ok(()),
            Saved::VersionMoved => Err(Fault::Conflict(Conflict::VersionMoved)),
        }
    }

    /// Ends the transaction, so that the names are free before these jobs are begun anew.
    async fn roll_back(&mut self, jobs: &mut [Job]) {
        if self.connection.ask(store::rollback).await.is_err() {
            self.connection.give_up();
            jobs.iter_mut().for_each(|job| job.standing.note_lost());
            return;
        }
        self.hooks.after(Step::RolledBack).await;
    }
}

/// At whose word a command was run.
fn origin_of(name: &Name, outcome: &Outcome) -> Origin {
    match outcome {
        _ if !name.key.is_of_service() => Origin::Request(name.key.as_str().to_owned()),
        Outcome::CallbackTaken(delivery) => Origin::Callback(delivery.id.0),
        _ => Origin::Service,
    }
}

/// One line for each alert, when it is committed: somebody has to decide.
fn warn_of(alert: &Alert) {
    tracing::warn!(
        alert_id = %alert.id,
        kind = alert.kind.as_str(),
        payment_no = alert.payment_no,
        provider = alert.provider.word(),
        provider_payment_id = alert.provider_payment_id,
        "a payment needs a decision: POST /v1/payment-alerts/{}/resolve",
        alert.id
    );
}

/// One line for each delivery that its provider has signed for us and that names somebody else: either the provider calls
/// the wrong address, or the endpoint's configuration does not know its own account.
fn warn_of_stranger(delivery: &DeliveryRecord) {
    tracing::warn!(
        endpoint = delivery.endpoint,
        delivery = delivery.delivery_key,
        event_type = delivery.event_type,
        "a rightly signed callback is for another account or mode than the endpoint's, and nothing was done: if the \
         endpoint's configuration is wrong, correct it and let the provider deliver it again"
    );
}

fn commands(jobs: &[Job]) -> impl Iterator<Item = (ClientId, &Command)> {
    jobs.iter().map(command)
}

fn command(job: &Job) -> (ClientId, &Command) {
    (job.request.name.client_id, &job.request.command)
}

fn unsettle(decided: Vec<Decided>) -> Vec<Job> {
    decided.into_iter().map(|decided| decided.job).collect()
}

/// Puts everybody who is not answered back among the jobs.
fn give_back(jobs: &mut Vec<Job>, held: Vec<Job>, runnable: Vec<Job>, fault: Fault) -> Fault {
    jobs.extend(runnable);
    jobs.extend(held);
    fault
}
