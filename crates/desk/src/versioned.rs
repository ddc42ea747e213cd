//! Rows of one kind in a working set: read with their versions, changed in memory, and saved where nobody else has
//! changed them since.
//!
//! Every kind of row that decisions contend for (accounts, orders, …) goes this one way, so a new kind needs a line in
//! [`Row`]'s implementations and no rule of its own.

use std::collections::BTreeMap;

use account::{Account, AccountId, Hold, HoldId};
use client::ClientId;
use inventory::{Sku, SkuCode};
use order::{Order, OrderId, RefundId};
use payment_callback::{Alert, AlertId, AskedRefund, Payment, Receipt, ReceiptKey};
use reports::{DailyTotal, TotalKey};

/// A row under a version, which each change raises by one.
pub trait Row: Clone {
    /// Its primary key. Rows of a kind are locked in the order of their keys.
    type Key: Ord + Clone;

    /// The version of a row that is new.
    const FIRST_VERSION: i64;

    /// Its primary key.
    fn key(&self) -> Self::Key;

    /// Its version.
    fn version(&self) -> i64;
}

impl Row for Account {
    type Key = (ClientId, AccountId);
    const FIRST_VERSION: i64 = 0;

    fn key(&self) -> Self::Key {
        (self.client_id, self.id)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Order {
    type Key = (ClientId, OrderId);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.id)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Payment {
    type Key = (ClientId, String);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.payment_no.clone())
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Receipt {
    type Key = ReceiptKey;
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        Receipt::key(self)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for AskedRefund {
    type Key = (ClientId, RefundId);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.id)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Alert {
    type Key = (ClientId, AlertId);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.id)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Hold {
    type Key = (ClientId, HoldId);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.id)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for Sku {
    type Key = (ClientId, SkuCode);
    const FIRST_VERSION: i64 = 1;

    fn key(&self) -> Self::Key {
        (self.client_id, self.code.clone())
    }

    fn version(&self) -> i64 {
        self.version
    }
}

impl Row for DailyTotal {
    type Key = TotalKey;
    const FIRST_VERSION: i64 = DailyTotal::FIRST_VERSION;

    fn key(&self) -> Self::Key {
        DailyTotal::key(self)
    }

    fn version(&self) -> i64 {
        self.version
    }
}

/// The rows of one kind.
#[derive(Clone, Debug)]
pub struct Versioned<R: Row>(BTreeMap<R::Key, Held<R>>);

#[derive(Clone, Debug)]
struct Held<R> {
    /// The row with the changes of the batch so far.
    row: R,
    /// The version it had in the database; none, if the batch has made it.
    version_read: Option<i64>,
}

impl<R: Row> Default for Versioned<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R: Row> Versioned<R> {
    /// Puts in a row that was read.
    pub fn load(&mut self, row: R) {
        let version_read = Some(row.version());
        self.0.insert(row.key(), Held { row, version_read });
    }

    /// The row of this key, as it is now.
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|held| &held.row)
    }

    /// Every row, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|held| &held.row)
    }

    /// Takes in a row that is new, or the next version of one that is in the set.
    ///
    /// # Panics
    ///
    /// If it is neither: a decision changes only what was loaded, and by one version at a time.
    pub fn put(&mut self, row: R) {
        match self.0.get_mut(&row.key()) {
            Some(held) => {
                assert_eq!(row.version(), held.row.version() + 1, "a change is one version");
                held.row = row;
            }
            None => {
                assert_eq!(row.version(), R::FIRST_VERSION, "a decision changes only rows that were loaded");
                self.0.insert(row.key(), Held { row, version_read: None });
            }
        }
    }

    /// What the changes come to, sorted by key.
    pub fn into_net(self) -> Net<R> {
        let mut net = Net::default();
        for Held { row, version_read } in self.0.into_values() {
            match version_read {
                None => net.new.push(row),
                Some(version) if version == row.version() => net.relied_on.push(row),
                Some(version) => net.changed.push((row, version)),
            }
        }
        net
    }
}

/// What a batch comes to for the rows of one kind: each row once, however many of its commands changed it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Net<R> {
    /// Rows that are new.
    pub new: Vec<R>,
    /// Rows as they shall be, with the versions they were read with.
    pub changed: Vec<(R, i64)>,
    /// Rows that decisions may have relied on and left alone.
    pub relied_on: Vec<R>,
}

impl<R> Default for Net<R> {
    fn default() -> Self {
        Self { new: Vec::new(), changed: Vec::new(), relied_on: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Page(u8, i64);

    impl Row for Page {
        type Key = u8;
        const FIRST_VERSION: i64 = 1;

        fn key(&self) -> u8 {
            self.0
        }

        fn version(&self) -> i64 {
            self.1
        }
    }

    #[test]
    fn several_changes_of_a_row_are_one_against_the_version_that_was_read() {
        let mut pages = Versioned::default();
        for key in [3, 1, 2] {
            pages.load(Page(key, 7));
        }
        pages.put(Page(1, 8));
        pages.put(Page(1, 9));
        pages.put(Page(4, 1));
        pages.put(Page(4, 2));
        let net = pages.into_net();
        assert_eq!(net.changed, [(Page(1, 9), 7)]);
        assert_eq!(net.relied_on, [Page(2, 7), Page(3, 7)]);
        assert_eq!(net.new, [Page(4, 2)]);
    }

    #[test]
    #[should_panic(expected = "a change is one version")]
    fn a_change_that_skips_a_version_is_a_mistake() {
        let mut pages = Versioned::default();
        pages.load(Page(1, 7));
        pages.put(Page(1, 9));
    }

    #[test]
    #[should_panic(expected = "only rows that were loaded")]
    fn a_change_of_a_row_that_was_not_loaded_is_a_mistake() {
        Versioned::default().put(Page(1, 2));
    }
}
