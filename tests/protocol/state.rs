//! A state of the model: what is committed, what the processes are doing, and what the callers were told.

use crate::database::{Database, Decision, Record, Transaction};
use crate::scenario::{Name, RequestId, Scenario};

/// A state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// PostgreSQL.
    pub database: Database,
    /// The processes of the service.
    pub processes: Vec<Process>,
    /// The requests that were made, in order.
    pub requests: Vec<Request>,
    /// How much may still go wrong.
    pub faults_left: u8,
    /// Whether a refusal was committed that the committed state did not bear out.
    pub unjustified_refusal: bool,
}

/// A process of the service.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Process {
    /// Whether it runs.
    pub up: bool,
    /// The requests that wait for its lane.
    pub queue: Vec<RequestId>,
    /// Its lane, and behind it the inquiries into lost commits.
    pub workers: Vec<Worker>,
}

/// A lane or an inquiry: a task with a connection of its own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Worker {
    /// Which of the two.
    pub role: Role,
    /// Whom it has to answer.
    pub jobs: Vec<Job>,
    /// Jobs whose names are held by a transaction that was lost: they are asked about again after this batch.
    pub held: Vec<Job>,
    /// Where it is.
    pub phase: Phase,
    /// How often it has tried.
    pub tries: u8,
    /// Whether it locks what it loads.
    pub locked: bool,
    /// The transaction that is open on its connection.
    pub transaction: Option<Transaction>,
}

/// What a worker is there for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It takes what waits in the queue.
    Lane,
    /// It asks again under the names of a commit that was lost.
    Inquiry,
}

/// A request that a worker has to answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Job {
    /// Which one.
    pub request: RequestId,
    /// What its earlier attempts may have left behind.
    pub standing: Standing,
}

/// `desk::lane::Standing`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// Nothing.
    Fresh,
    /// A transaction that will not commit.
    Lost,
    /// A transaction that may commit yet, or has.
    Unknown,
}

/// Where a worker is in its batch: behind which of the desk's steps, or between two of them where what happens
/// between is visible to others.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// No transaction is open.
    Idle,
    /// `Step::Begun`
    Begun,
    /// The claim has taken its snapshot, and tries the locks next.
    ClaimSnapshot(Vec<Seen>),
    /// `Step::Claimed`
    Claimed(Vec<Claim>),
    /// `Step::Loaded`
    Loaded(Loaded),
    /// `Step::Decided`, and some pieces of what is to be saved may be written.
    Decided(Decided),
    /// `Step::Saved`
    Saved(Decided),
    /// `COMMIT` is sent, and no answer has come.
    CommitSent(Decided),
    /// `Step::Committed`
    Committed(Decided),
}

/// What the claim's snapshot shows of one request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Seen {
    /// The name's record.
    pub record: Option<Record>,
    /// Whether an order has its number.
    pub number_taken: bool,
}

/// `idempotency::store::Claim`, and what was recalled with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Claim {
    /// Whether the lock was won.
    pub won: bool,
    /// What the snapshot showed.
    pub seen: Seen,
}

/// What was loaded.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Loaded {
    /// What the account had available.
    pub available: u8,
    /// The account's version.
    pub version: u8,
    /// For each job, whether its order number was taken when the names were claimed.
    pub numbers_taken: Vec<bool>,
}

/// What was decided, and on what.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Decided {
    /// For each job.
    pub decisions: Vec<Decision>,
    /// The version that the account was read with.
    pub version_read: u8,
    /// What the account shall have available, and its version.
    pub account: (u8, u8),
    /// What is still to be written, in this order.
    pub to_save: Vec<Piece>,
}

/// The pieces of what is saved, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Piece {
    /// Nothing yet: the order numbers of those that are refused for another reason are looked for again.
    LookAgain,
    /// The records.
    Records,
    /// The account, changed or relied on.
    Account,
    /// The orders, whose numbers are unique.
    Orders,
}

/// A request, and what it was told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Its name.
    pub name: Name,
    /// None while it waits.
    pub told: Option<Told>,
}

/// `desk::Answered`, and the connection that ends without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    /// It ran, and this came of it.
    Ran(Record),
    /// It had run before.
    Replayed(Record),
    /// It is running.
    InProgress,
    /// Every try lost. Nothing happened.
    Contended,
    /// The database is away. Nothing happened.
    Unavailable,
    /// It happened, or it did not.
    OutcomeUnknown,
    /// The process was killed.
    Nothing,
}

impl Told {
    /// The outcome, if it was told one.
    pub fn outcome(self) -> Option<Record> {
        match self {
            Self::Ran(record) | Self::Replayed(record) => Some(record),
            _ => None,
        }
    }

    /// Whether it says that this request had no effect.
    pub fn says_nothing_happened(self) -> bool {
        matches!(self, Self::Contended | Self::Unavailable)
    }
}

impl State {
    /// Nothing has been asked yet.
    pub fn initial(scenario: &Scenario) -> Self {
        Self {
            database: Database::new(scenario.money, scenario.names.len()),
            processes: vec![Process::started(); scenario.processes],
            requests: Vec::new(),
            faults_left: scenario.faults,
            unjustified_refusal: false,
        }
    }

    /// Every transaction in progress.
    pub fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        let workers = self.processes.iter().flat_map(|process| &process.workers);
        workers.filter_map(|worker| worker.transaction.as_ref()).chain(&self.database.orphans)
    }

    /// The name of a request.
    pub fn name_of(&self, request: RequestId) -> Name {
        self.requests[usize::from(request)].name
    }

    /// Answers a request.
    pub fn tell(&mut self, request: RequestId, told: Told) {
        let place = &mut self.requests[usize::from(request)].told;
        assert!(place.is_none(), "a request is answered once");
        *place = Some(told);
    }

    /// What the requests under a name were told.
    pub fn told(&self, name: Name) -> impl Iterator<Item = Told> {
        self.requests.iter().filter(move |request| request.name == name).filter_map(|request| request.told)
    }
}

impl Process {
    /// A process that has just started.
    pub fn started() -> Self {
        Self { up: true, queue: Vec::new(), workers: vec![Worker::new(Role::Lane, Vec::new())] }
    }

    /// The requests it has taken and not answered: its `InFlight`.
    pub fn in_flight(&self) -> impl Iterator<Item = RequestId> {
        let jobs = self.workers.iter().flat_map(|worker| worker.jobs.iter().chain(&worker.held));
        self.queue.iter().copied().chain(jobs.map(|job| job.request))
    }

    /// Has a commit inquired into, by a worker of its own.
    pub fn inquire(&mut self, jobs: Vec<Job>) {
        if !jobs.is_empty() {
            self.workers.push(Worker::new(Role::Inquiry, jobs));
            self.workers.sort();
        }
    }
}

impl Worker {
    /// A worker that has nothing open.
    pub fn new(role: Role, jobs: Vec<Job>) -> Self {
        let locked = role == Role::Inquiry;
        Self { role, jobs, held: Vec::new(), phase: Phase::Idle, tries: 0, locked, transaction: None }
    }

    /// How much it can do at most before everybody is answered. A lane's batch may end in an inquiry, so it counts for
    /// more.
    pub fn work_left(&self, scenario: &Scenario) -> usize {
        if self.phase == Phase::Idle && self.jobs.is_empty() {
            return 0;
        }
        let steps = match &self.phase {
            Phase::Idle => 16,
            Phase::Begun => 15,
            Phase::ClaimSnapshot(_) => 14,
            Phase::Claimed(_) => 13,
            Phase::Loaded(_) => 12,
            Phase::Decided(decided) => 7 + decided.to_save.len(),
            Phase::Saved(_) => 6,
            Phase::CommitSent(_) if self.transaction.is_some() => 5,
            Phase::CommitSent(_) => 4,
            Phase::Committed(_) => 3,
        };
        let tries = usize::from((scenario.tries_max + 1).saturating_sub(self.tries)) * 20;
        let ends_in_an_inquiry = if self.role == Role::Lane { 500 } else { 0 };
        ends_in_an_inquiry + tries + steps
    }
}
