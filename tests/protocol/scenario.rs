//! What is asked for in a model, what may go wrong, and which rule of the desk is broken in it, if one is.

/// An index into [`Scenario::names`].
pub type Name = u8;

/// An index into the requests of a model, in the order in which they are made.
pub type RequestId = u8;

/// The bounds of a model. Within them every order of steps is looked at.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What the test report calls it.
    pub title: &'static str,
    /// What is asked under each name.
    pub names: Vec<Asked>,
    /// The names under which requests are made, in this order; a name that stands twice has a duplicate. Each request
    /// may be made to either process, at any moment: while the one before it runs, or after it was answered.
    pub requests: Vec<Name>,
    /// What the account has at first.
    pub money: u8,
    /// How many processes there are, of one lane each. To the database two lanes of one process are two processes.
    pub processes: usize,
    /// How many jobs a lane takes at once.
    pub batch_max: usize,
    /// How often a lane tries a contended batch, and an inquiry asks again.
    pub tries_max: u8,
    /// How many things go wrong at most, each at any moment: a connection is cut, and PostgreSQL does not notice at once; a
    /// process is killed, and started again; PostgreSQL stops at once, and comes back.
    pub faults: u8,
    /// The rule that the desk of this model breaks.
    pub broken: Option<BrokenRule>,
}

/// An order for some money of the one account.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// How much.
    pub amount: u8,
    /// Its order number, which is unique for ever. Without one each request brings its own, and nothing but the name
    /// keeps a duplicate from a second effect.
    pub number: Option<u8>,
}

/// A rule of the desk, broken: what a reader might do instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BrokenRule {
    /// A unique violation is told as a refusal, where the desk begins anew.
    RefuseOnUniqueViolation,
    /// A refusal is told without a record of it.
    RefuseWithoutRecord,
    /// A record that is there already is written over.
    OverwriteRecord,
    /// A name is run whether or not its lock was to be had.
    ClaimWithoutLock,
    /// A name's lock is given back when the commit is sent, not when it is done.
    ReleaseLockBeforeCommit,
    /// The answer is given when everything is saved.
    AnswerBeforeCommit,
    /// Balances are written without regard to their version.
    SaveWithoutVersionCheck,
    /// Order numbers are looked for once, before the balance is read.
    RefuseWithoutLookingAgain,
    /// Order numbers are written before accounts are locked.
    SaveNumbersBeforeAccounts,
    /// A commit whose answer was lost is told as something that did not happen.
    ReportUnknownCommitAsFailure,
    /// Whether a lost commit happened is judged by its record alone, without winning the name's lock first.
    InquireWithoutLock,
}

/// One name, its duplicates, and everything that can go wrong with them.
pub fn duplicates() -> Scenario {
    Scenario {
        title: "duplicates under one name",
        names: vec![Asked { amount: 2, number: None }],
        requests: vec![0, 0],
        money: 3,
        processes: 2,
        batch_max: 1,
        tries_max: 2,
        faults: 2,
        broken: None,
    }
}

/// Two names that compete for money that is enough for one of them, and a duplicate.
pub fn competition() -> Scenario {
    Scenario {
        title: "two names, money for one",
        names: vec![Asked { amount: 2, number: None }; 2],
        requests: vec![0, 0, 1],
        faults: 1,
        ..duplicates()
    }
}

/// Two names that bring the same order number, and a third that keeps the account busy.
pub fn order_numbers() -> Scenario {
    Scenario {
        title: "two names, one order number",
        names: vec![
            Asked { amount: 1, number: Some(1) },
            Asked { amount: 1, number: Some(1) },
            Asked { amount: 1, number: Some(2) },
        ],
        requests: vec![2, 0, 1],
        faults: 0,
        tries_max: 3,
        ..duplicates()
    }
}

/// Two names that bring the same order number, and money for one of them.
pub fn one_order_twice() -> Scenario {
    Scenario {
        title: "two names, one order number, money for one",
        names: vec![Asked { amount: 2, number: Some(1) }; 2],
        requests: vec![0, 1],
        faults: 1,
        ..duplicates()
    }
}

/// Batches of two, on both sides, of the same names.
pub fn batches() -> Scenario {
    Scenario {
        title: "batches of two",
        names: vec![Asked { amount: 2, number: None }; 2],
        requests: vec![0, 1, 0],
        batch_max: 2,
        faults: 1,
        ..duplicates()
    }
}

impl Scenario {
    /// The same, with one more try, and one more thing that goes wrong where that takes minutes and not hours.
    pub fn enlarged(self) -> Self {
        let faults = if self.requests.len() > 2 { self.faults.max(1) } else { self.faults + 1 };
        Self { faults, tries_max: 3, ..self }
    }

    /// The order number that a request brings.
    pub fn number(&self, name: Name, request: RequestId) -> u8 {
        // Far from those that are chosen.
        self.names[usize::from(name)].number.unwrap_or(100 + request)
    }

    /// The same, with a rule broken.
    pub fn breaking(self, rule: BrokenRule) -> Self {
        Self { broken: Some(rule), ..self }
    }

    /// Whether the desk of this model breaks that rule.
    pub fn breaks(&self, rule: BrokenRule) -> bool {
        self.broken == Some(rule)
    }
}
