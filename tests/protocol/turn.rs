//! What a worker does when it is its turn: the steps of `desk::batch` and `desk::lane`, under their names.
//!
//! A method answers `None` when PostgreSQL makes the worker wait for another transaction: it is not its turn yet.

use desk::Step;

use crate::database::{Decision, OrderRow, Record, RowLock};
use crate::rules;
use crate::scenario::{BrokenRule, Scenario};
use crate::state::{Claim, Decided, Job, Loaded, Phase, Piece, Role, Seen, Standing, State, Told, Worker};

/// What came of a write.
enum Written {
    Yes,
    KeyTaken,
    VersionMoved,
}

/// A worker's turn. The worker is taken out of the state, so what is left there is what the others do.
pub struct Turn<'a> {
    scenario: &'a Scenario,
    state: &'a mut State,
    process: usize,
    worker: Worker,
}

impl<'a> Turn<'a> {
    /// The turn of that worker.
    pub fn of(scenario: &'a Scenario, state: &'a mut State, process: usize, worker: Worker) -> Self {
        Self { scenario, state, process, worker }
    }

    /// Puts the worker back, if it is still needed.
    pub fn end(mut self) {
        let is_done = self.worker.phase == Phase::Idle && self.worker.jobs.is_empty();
        match self.worker.role {
            Role::Inquiry if is_done => return,
            Role::Lane if is_done => self.worker = Worker::new(Role::Lane, Vec::new()),
            Role::Lane | Role::Inquiry => {}
        }
        let workers = &mut self.state.processes[self.process].workers;
        workers.push(self.worker);
        workers.sort();
    }

    /// Goes on to that step.
    pub fn step(&mut self, to: Step) -> Option<()> {
        match to {
            Step::Begun => self.begin(),
            Step::Claimed => self.try_locks(),
            Step::Loaded => self.recall_and_load(),
            Step::Decided => self.decide(),
            Step::Saved => self.save(),
            Step::Committed => self.hear_of_commit(),
            // A rollback is part of the step that finds it necessary; and an inquiry that is idle is about to ask.
            Step::RolledBack | Step::Inquiring => None,
        }
    }

    fn begin(&mut self) -> Option<()> {
        if self.worker.phase != Phase::Idle {
            return None;
        }
        match self.worker.role {
            Role::Lane if self.worker.jobs.is_empty() => {
                let queue = &mut self.state.processes[self.process].queue;
                let taken = queue.drain(..queue.len().min(self.scenario.batch_max));
                self.worker.jobs = taken.map(|request| Job { request, standing: Standing::Fresh }).collect();
            }
            Role::Inquiry if self.worker.tries >= self.scenario.tries_max => return None,
            Role::Lane | Role::Inquiry => {}
        }
        if self.worker.jobs.is_empty() {
            return None;
        }
        self.worker.transaction = Some(Default::default());
        self.worker.phase = Phase::Begun;
        Some(())
    }

    /// The first half of the claim: PostgreSQL takes the statement's snapshot, in which it will look for records and for
    /// order numbers.
    pub fn take_snapshot(&mut self) -> Option<()> {
        let Phase::Begun = self.worker.phase else { return None };
        let database = &self.state.database;
        let seen = self.worker.jobs.iter().zip(self.asked()).map(|(job, (_, number))| Seen {
            record: database.records[usize::from(self.state.name_of(job.request))],
            number_taken: database.number_taken(number),
        });
        self.worker.phase = Phase::ClaimSnapshot(seen.collect());
        Some(())
    }

    /// The second half: it tries the locks.
    fn try_locks(&mut self) -> Option<()> {
        let Phase::ClaimSnapshot(seen) = &self.worker.phase else { return None };
        let transaction = self.worker.transaction.as_mut()?;
        let mut claims = Vec::with_capacity(seen.len());
        for (job, seen) in self.worker.jobs.iter().zip(seen) {
            let name = self.state.name_of(job.request);
            let is_free = !self.state.transactions().any(|other| other.locks.contains(&name));
            if is_free {
                transaction.locks.push(name);
            }
            let won = is_free || self.scenario.breaks(BrokenRule::ClaimWithoutLock);
            if won && seen.record.is_none() {
                transaction.runs.push(name);
            }
            claims.push(Claim { won, seen: *seen });
        }
        self.worker.phase = Phase::Claimed(claims);
        Some(())
    }

    /// `Bench::recall`, which touches nothing that others see, and `Bench::load`.
    fn recall_and_load(&mut self) -> Option<()> {
        let Phase::Claimed(claims) = self.worker.phase.clone() else { return None };
        let numbers_taken = self.recall(claims);
        if self.worker.jobs.is_empty() {
            self.worker.transaction = None;
            self.finish();
            return Some(());
        }
        let transaction = self.worker.transaction.as_mut()?;
        if self.worker.locked {
            if self.state.transactions().any(|other| other.row.excludes(RowLock::Exclusive)) {
                return None;
            }
            transaction.row = RowLock::Exclusive;
        }
        let database = &self.state.database;
        self.worker.phase =
            Phase::Loaded(Loaded { available: database.available, version: database.version, numbers_taken });
        Some(())
    }

    /// Answers for each job that runs whether its order number is taken.
    fn recall(&mut self, claims: Vec<Claim>) -> Vec<bool> {
        let mut numbers_taken = Vec::new();
        let asks_records_alone =
            self.worker.role == Role::Inquiry && self.scenario.breaks(BrokenRule::InquireWithoutLock);
        for (job, claim) in std::mem::take(&mut self.worker.jobs).into_iter().zip(claims) {
            match claim.seen.record {
                Some(record) => {
                    let is_own = job.standing == Standing::Unknown && record.by == job.request;
                    let told = if is_own { Told::Ran(record) } else { Told::Replayed(record) };
                    self.state.tell(job.request, told);
                }
                None if asks_records_alone => self.state.tell(job.request, Told::Unavailable),
                None if claim.won => {
                    self.worker.jobs.push(job);
                    numbers_taken.push(claim.seen.number_taken);
                }
                None if job.standing != Standing::Fresh => self.worker.held.push(job),
                None => self.state.tell(job.request, Told::InProgress),
            }
        }
        numbers_taken
    }

    fn decide(&mut self) -> Option<()> {
        let Phase::Loaded(loaded) = &self.worker.phase else { return None };
        let mut decided = rules::decide_all(&self.asked(), loaded);
        let is_refusal = decided.decisions.iter().all(|decision| *decision != Decision::Placed);
        if is_refusal && self.scenario.breaks(BrokenRule::RefuseWithoutRecord) {
            self.tell_decided(&decided);
            self.worker.transaction = None;
            self.finish();
            return Some(());
        }
        decided.to_save = self.pieces(&decided);
        self.worker.phase = Phase::Decided(decided);
        Some(())
    }

    /// What is to be done until everything is saved, in the order of `Bench::attempt_connected` and `desk::store::save`.
    fn pieces(&self, decided: &Decided) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if decided.refuses() && !self.scenario.breaks(BrokenRule::RefuseWithoutLookingAgain) {
            pieces.push(Piece::LookAgain);
        }
        pieces.extend(
            match (decided.places_an_order(), self.scenario.breaks(BrokenRule::SaveNumbersBeforeAccounts)) {
                (false, _) => [Piece::Records, Piece::Account].as_slice(),
                (true, false) => &[Piece::Records, Piece::Account, Piece::Orders],
                (true, true) => &[Piece::Records, Piece::Orders, Piece::Account],
            },
        );
        pieces
    }

    /// The last piece of what is to be saved.
    fn save(&mut self) -> Option<()> {
        self.write(|to_save| to_save.len() == 1)
    }

    /// A piece of what is to be saved that is not the last one.
    pub fn save_piece(&mut self) -> Option<()> {
        self.write(|to_save| to_save.len() > 1)
    }

    fn write(&mut self, is_wanted: impl FnOnce(&[Piece]) -> bool) -> Option<()> {
        let Phase::Decided(mut decided) = self.worker.phase.clone() else { return None };
        if !is_wanted(&decided.to_save) {
            return None;
        }
        let was_written = match decided.to_save.remove(0) {
            Piece::LookAgain => self.look_again(&decided),
            Piece::Records => self.write_records(&decided)?,
            Piece::Account => self.write_account(&decided)?,
            Piece::Orders => self.write_orders(&decided)?,
        };
        match was_written {
            Written::Yes if decided.to_save.is_empty() => self.worker.phase = Phase::Saved(decided),
            Written::Yes => self.worker.phase = Phase::Decided(decided),
            Written::KeyTaken if self.scenario.breaks(BrokenRule::RefuseOnUniqueViolation) => {
                self.refuse_all();
            }
            Written::KeyTaken | Written::VersionMoved => self.conflict(),
        }
        Some(())
    }

    /// `Bench::keys_are_as_they_were`.
    fn look_again(&self, decided: &Decided) -> Written {
        let mut asked = self.asked().into_iter().zip(&decided.decisions);
        let is_moved = asked.any(|((_, number), decision)| {
            *decision == Decision::NotEnough && self.state.database.number_taken(number)
        });
        if is_moved { Written::KeyTaken } else { Written::Yes }
    }

    /// A unique key makes an insert wait for whoever has inserted the same one and is not done, and fail if one is
    /// committed.
    fn write_records(&mut self, decided: &Decided) -> Option<Written> {
        for (job, decision) in self.worker.jobs.iter().zip(&decided.decisions) {
            let name = self.state.name_of(job.request);
            let is_there = self.state.database.records[usize::from(name)].is_some();
            if is_there && !self.scenario.breaks(BrokenRule::OverwriteRecord) {
                return Some(Written::KeyTaken);
            }
            if self.state.transactions().any(|other| other.records.iter().any(|(one, _)| *one == name)) {
                return None;
            }
            let record = Record { decision: *decision, by: job.request };
            self.worker.transaction.as_mut()?.records.push((name, record));
        }
        Some(Written::Yes)
    }

    /// The update under the version that was read; or, of an account that was only relied on, the look at it.
    fn write_account(&mut self, decided: &Decided) -> Option<Written> {
        let wanted = if decided.places_an_order() { RowLock::Exclusive } else { RowLock::Shared };
        if self.state.transactions().any(|other| other.row.excludes(wanted)) {
            return None;
        }
        let has_moved = self.state.database.version != decided.version_read;
        if has_moved && !self.scenario.breaks(BrokenRule::SaveWithoutVersionCheck) {
            return Some(Written::VersionMoved);
        }
        let transaction = self.worker.transaction.as_mut()?;
        transaction.row = transaction.row.max(wanted);
        transaction.account = decided.places_an_order().then_some(decided.account);
        Some(Written::Yes)
    }

    fn write_orders(&mut self, decided: &Decided) -> Option<Written> {
        for (job, decision) in self.worker.jobs.iter().zip(&decided.decisions) {
            if *decision != Decision::Placed {
                continue;
            }
            let name = self.state.name_of(job.request);
            let number = self.scenario.number(name, job.request);
            if self.state.database.number_taken(number) {
                return Some(Written::KeyTaken);
            }
            if self.state.transactions().any(|other| other.orders.iter().any(|one| one.number == number)) {
                return None;
            }
            let row = OrderRow { number, name, by: job.request };
            self.worker.transaction.as_mut()?.orders.push(row);
        }
        Some(Written::Yes)
    }

    /// `Job::note_commit_sent`, and `COMMIT` on its way.
    pub fn send_commit(&mut self) -> Option<()> {
        let Phase::Saved(decided) = self.worker.phase.clone() else { return None };
        let transaction = self.worker.transaction.as_mut()?;
        transaction.commit_sent = true;
        if self.scenario.breaks(BrokenRule::ReleaseLockBeforeCommit) {
            transaction.locks.clear();
        }
        if self.scenario.breaks(BrokenRule::AnswerBeforeCommit) {
            self.tell_decided(&decided);
        }
        self.worker.phase = Phase::CommitSent(decided);
        Some(())
    }

    /// The backend reads `COMMIT` and does it; its answer is on its way.
    pub fn backend_commits(&mut self) -> Option<()> {
        self.worker.transaction.as_ref().filter(|transaction| transaction.commit_sent)?;
        let transaction = self.worker.transaction.take()?;
        self.state.commit(self.scenario, transaction);
        Some(())
    }

    fn hear_of_commit(&mut self) -> Option<()> {
        let Phase::CommitSent(decided) = &self.worker.phase else { return None };
        if self.worker.transaction.is_some() {
            return None;
        }
        self.worker.phase = Phase::Committed(decided.clone());
        Some(())
    }

    /// Everybody is answered.
    pub fn answer(&mut self) -> Option<()> {
        let Phase::Committed(decided) = self.worker.phase.clone() else { return None };
        self.tell_decided(&decided);
        self.finish();
        Some(())
    }

    /// `answer_all_away`: the time is over in which the database was to come back, or the old transaction to end.
    pub fn give_up(&mut self) -> Option<()> {
        let has_lost = self.worker.jobs.iter().any(|job| job.standing != Standing::Fresh);
        if self.worker.phase != Phase::Idle || !has_lost {
            return None;
        }
        for job in std::mem::take(&mut self.worker.jobs) {
            let told = match job.standing {
                Standing::Fresh | Standing::Lost => Told::Unavailable,
                Standing::Unknown => Told::OutcomeUnknown,
            };
            self.state.tell(job.request, told);
        }
        Some(())
    }

    /// The connection is gone. The transaction that was open on it is left to the database, unless that is what
    /// stopped.
    pub fn lose_connection(&mut self, database_stopped: bool) -> Option<()> {
        let is_unknown = matches!(self.worker.phase, Phase::CommitSent(_));
        if self.worker.transaction.is_none() && !is_unknown {
            return None;
        }
        if let Some(transaction) = self.worker.transaction.take().filter(|_| !database_stopped) {
            self.state.database.orphan(transaction);
        }
        if is_unknown && self.scenario.breaks(BrokenRule::ReportUnknownCommitAsFailure) {
            for job in std::mem::take(&mut self.worker.jobs) {
                self.state.tell(job.request, Told::Unavailable);
            }
        }
        for job in &mut self.worker.jobs {
            match job.standing {
                _ if is_unknown => job.standing = Standing::Unknown,
                Standing::Fresh => job.standing = Standing::Lost,
                Standing::Lost | Standing::Unknown => {}
            }
        }
        self.worker.jobs.append(&mut self.worker.held);
        self.worker.phase = Phase::Idle;
        match self.worker.role {
            Role::Lane if is_unknown => {
                self.state.processes[self.process].inquire(std::mem::take(&mut self.worker.jobs));
            }
            Role::Lane => {}
            Role::Inquiry => self.worker.tries += 1,
        }
        Some(())
    }

    /// `Fault::Conflict`: roll back, and begin anew from the claim.
    fn conflict(&mut self) {
        self.worker.transaction = None;
        self.worker.phase = Phase::Idle;
        self.worker.jobs.append(&mut self.worker.held);
        self.worker.locked = true;
        self.worker.tries += 1;
        if self.worker.role == Role::Lane && self.worker.tries >= self.scenario.tries_max {
            for job in std::mem::take(&mut self.worker.jobs) {
                self.state.tell(job.request, Told::Contended);
            }
        }
    }

    /// The batch is done, but for those whose names a lost transaction holds.
    fn finish(&mut self) {
        self.worker.phase = Phase::Idle;
        self.worker.jobs = std::mem::take(&mut self.worker.held);
        match self.worker.role {
            Role::Lane => {
                self.state.processes[self.process].inquire(std::mem::take(&mut self.worker.jobs));
            }
            Role::Inquiry => self.worker.tries += 1,
        }
    }

    fn tell_decided(&mut self, decided: &Decided) {
        for (job, decision) in std::mem::take(&mut self.worker.jobs).into_iter().zip(&decided.decisions) {
            self.state.tell(job.request, Told::Ran(Record { decision: *decision, by: job.request }));
        }
    }

    fn refuse_all(&mut self) {
        for job in std::mem::take(&mut self.worker.jobs) {
            let refusal = Record { decision: Decision::NumberTaken, by: job.request };
            self.state.tell(job.request, Told::Ran(refusal));
        }
        self.worker.transaction = None;
        self.finish();
    }

    /// The amount and the order number of each job.
    fn asked(&self) -> Vec<(u8, u8)> {
        let asked = self.worker.jobs.iter().map(|job| {
            let name = self.state.name_of(job.request);
            (self.scenario.names[usize::from(name)].amount, self.scenario.number(name, job.request))
        });
        asked.collect()
    }
}

impl Decided {
    fn refuses(&self) -> bool {
        self.decisions.iter().any(|decision| *decision != Decision::Placed)
    }

    fn places_an_order(&self) -> bool {
        self.decisions.contains(&Decision::Placed)
    }
}
