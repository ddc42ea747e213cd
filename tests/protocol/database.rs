//! What PostgreSQL does for the desk, as far as the desk relies on it: locks, unique keys, versions, and transactions
//! that outlive their clients.

use crate::scenario::{Name, RequestId};

/// What was decided about a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Decision {
    /// The order is placed and paid.
    Placed,
    /// There is not enough money.
    NotEnough,
    /// The order number is taken.
    NumberTaken,
}

/// A record, with the request whose effect or refusal it is. A replay is told from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Record {
    /// What was decided.
    pub decision: Decision,
    /// By whose transaction.
    pub by: RequestId,
}

/// An order's row, which stands for all rows of its effect: order, journal, event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OrderRow {
    /// Its number.
    pub number: u8,
    /// The name it was asked under.
    pub name: Name,
    /// The request that placed it.
    pub by: RequestId,
}

/// How a transaction holds the account's row.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RowLock {
    /// Not at all.
    #[default]
    None,
    /// `FOR SHARE`: nobody else may change it.
    Shared,
    /// `FOR NO KEY UPDATE`, or an update.
    Exclusive,
}

impl RowLock {
    /// Whether two transactions cannot hold the row like this at once.
    pub fn excludes(self, other: Self) -> bool {
        let (weaker, stronger) = if self < other { (self, other) } else { (other, self) };
        weaker != Self::None && stronger == Self::Exclusive
    }
}

/// A transaction in progress, as its backend sees it.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Transaction {
    /// The names whose advisory locks it holds.
    pub locks: Vec<Name>,
    /// The names that it runs: those it has claimed and will write the effect of.
    pub runs: Vec<Name>,
    /// How it holds the account's row.
    pub row: RowLock,
    /// The records it has written.
    pub records: Vec<(Name, Record)>,
    /// The orders it has written.
    pub orders: Vec<OrderRow>,
    /// What the account has available, and its version, as it has written them.
    pub account: Option<(u8, u8)>,
    /// Whether `COMMIT` is on its way to the backend.
    pub commit_sent: bool,
}

/// What is committed, and the transactions whose clients are gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Database {
    /// What the account has available.
    pub available: u8,
    /// The account's version.
    pub version: u8,
    /// The record of each name.
    pub records: Vec<Option<Record>>,
    /// The orders.
    pub orders: Vec<OrderRow>,
    /// Transactions whose client is gone: PostgreSQL has not noticed yet, or has their `COMMIT` still to read.
    pub orphans: Vec<Transaction>,
}

impl Database {
    /// An account with that much, and nothing asked yet.
    pub fn new(available: u8, names: usize) -> Self {
        Self { available, version: 0, records: vec![None; names], orders: Vec::new(), orphans: Vec::new() }
    }

    /// Whether an order has the number.
    pub fn number_taken(&self, number: u8) -> bool {
        self.orders.iter().any(|order| order.number == number)
    }

    /// Makes what the transaction has written visible, and ends it.
    pub fn commit(&mut self, transaction: Transaction) {
        if let Some((available, version)) = transaction.account {
            (self.available, self.version) = (available, version);
        }
        for (name, record) in transaction.records {
            self.records[usize::from(name)] = Some(record);
        }
        self.orders.extend(transaction.orders);
        self.orders.sort();
    }

    /// Keeps a transaction whose client is gone. One that holds nothing is in nobody's way, however it ends.
    pub fn orphan(&mut self, transaction: Transaction) {
        if transaction != Transaction::default() {
            self.orphans.push(transaction);
            self.orphans.sort();
        }
    }
}
