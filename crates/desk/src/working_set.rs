//! What a batch has loaded, and what it has changed so far.
//!
//! Commands of a batch are decided one after the other on this set, each seeing what those before it changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use account::store::movements::Reference;
use account::{Account, AccountId, Entry, Movement, MovementId, MovementKind};
use client::ClientId;
use order::{Order, OrderId};

use crate::Command;
use crate::decide::Decision;

/// What the commands of a batch need to have loaded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Accounts, sorted.
    pub accounts: Vec<(ClientId, AccountId)>,
    /// Order numbers that are to be free.
    pub order_numbers: Vec<(ClientId, String)>,
    /// Movement references that are to be free.
    pub references: Vec<Reference>,
}

impl Needs {
    /// What these commands need.
    pub fn of<'a>(commands: impl Iterator<Item = (ClientId, &'a Command)>) -> Self {
        let mut accounts = BTreeSet::new();
        let mut needs = Self::default();
        for (client, command) in commands {
            accounts.extend(command.accounts().into_iter().map(|account| (client, account)));
            needs.order_numbers.extend(command.client_order_no().map(|no| (client, no.to_owned())));
            needs.references.extend(command.reference().map(|(kind, text)| (client, kind, text.to_owned())));
        }
        needs.accounts = accounts.into_iter().collect();
        needs
    }
}

/// An account in the set.
#[derive(Clone, Debug)]
struct Loaded {
    /// The account with the changes of the batch so far.
    account: Account,
    /// The version it had in the database.
    version_read: i64,
}

/// What was loaded for a batch, with the changes of the commands decided so far.
#[derive(Clone, Default, Debug)]
pub struct WorkingSet {
    accounts: BTreeMap<(ClientId, AccountId), Loaded>,
    order_numbers: HashMap<(ClientId, String), OrderId>,
    references: HashMap<Reference, MovementId>,
    opened: Vec<Account>,
    movements: Vec<Movement>,
    orders: Vec<Order>,
    entries: Vec<Entry>,
}

impl WorkingSet {
    /// Puts in an account that was read.
    pub fn load_account(&mut self, account: Account) {
        let version_read = account.version;
        self.accounts.insert((account.client_id, account.id), Loaded { account, version_read });
    }

    /// Notes that an order number is taken.
    pub fn load_order_number(&mut self, client: ClientId, number: String, order: OrderId) {
        self.order_numbers.insert((client, number), order);
    }

    /// Notes that a movement reference is taken.
    pub fn load_reference(&mut self, reference: Reference, movement: MovementId) {
        self.references.insert(reference, movement);
    }

    /// The client's account of this id, as it is now.
    pub fn account(&self, client: ClientId, id: AccountId) -> Option<&Account> {
        self.accounts.get(&(client, id)).map(|loaded| &loaded.account)
    }

    /// The client's order that has this number.
    pub fn order_with(&self, client: ClientId, number: &str) -> Option<OrderId> {
        self.order_numbers.get(&(client, number.to_owned())).copied()
    }

    /// The client's movement of this kind that has this reference.
    pub fn movement_with(&self, client: ClientId, kind: MovementKind, text: &str) -> Option<MovementId> {
        self.references.get(&(client, kind, text.to_owned())).copied()
    }

    /// Takes in what a decision changes.
    ///
    /// # Panics
    ///
    /// If the decision changes an account that is not in the set, or by other than one version.
    pub fn apply(&mut self, decision: &Decision) {
        for account in &decision.changed {
            let loaded = self
                .accounts
                .get_mut(&(account.client_id, account.id))
                .expect("a decision changes only accounts that were loaded");
            assert_eq!(account.version, loaded.account.version + 1, "a change is one version");
            loaded.account = account.clone();
        }
        if let Some(movement) = &decision.movement {
            let reference = (movement.client_id, movement.parties.kind(), movement.reference.clone());
            self.references.insert(reference, movement.id);
            self.movements.push(movement.clone());
        }
        if let Some(order) = &decision.order {
            self.order_numbers.insert((order.client_id, order.client_order_no.clone()), order.id);
            self.orders.push(order.clone());
        }
        self.opened.extend(decision.opened.clone());
        self.entries.extend(decision.entry.clone());
    }

    /// What is to be written, and what must not have changed meanwhile.
    pub fn into_changes(self) -> Changes {
        let (changed, relied_on): (Vec<Loaded>, Vec<Loaded>) =
            self.accounts.into_values().partition(|loaded| loaded.account.version != loaded.version_read);
        let mut changes = Changes {
            accounts_changed: changed
                .into_iter()
                .map(|loaded| (loaded.account, loaded.version_read))
                .collect(),
            accounts_relied_on: relied_on.into_iter().map(|loaded| loaded.account).collect(),
            accounts_opened: self.opened,
            movements: self.movements,
            orders: self.orders,
            entries: self.entries,
        };
        // Sorted by their unique keys: two transactions that insert the same ones wait for each other in one
        // direction only.
        changes.movements.sort_by(|a, b| {
            let key = |m: &Movement| (m.client_id, m.parties.kind());
            key(a).cmp(&key(b)).then_with(|| a.reference.cmp(&b.reference))
        });
        changes.orders.sort_by(|a, b| {
            a.client_id.cmp(&b.client_id).then_with(|| a.client_order_no.cmp(&b.client_order_no))
        });
        changes
    }
}

/// The rows of a batch. Accounts are sorted by client and id: the order in which they are locked.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Accounts as they shall be, with the versions they were read with.
    pub accounts_changed: Vec<(Account, i64)>,
    /// Accounts that decisions relied on and left alone.
    pub accounts_relied_on: Vec<Account>,
    /// New accounts.
    pub accounts_opened: Vec<Account>,
    /// New movements.
    pub movements: Vec<Movement>,
    /// New orders.
    pub orders: Vec<Order>,
    /// New journal rows.
    pub entries: Vec<Entry>,
}
