//! The service's rules alone: what is decided is kept in memory, and what must always hold is checked on it.

use std::collections::BTreeMap;

use account::store::movements::Reference;
use account::{Account, AccountId, AccountStatus, Entry, MovementId, Origin, Side, collecting};
use chrono::{DateTime, Utc};
use client::ClientId;
use desk::Command;
use desk::business_keys::BusinessKeys;
use desk::decide::{Decision, decide};
use desk::ids::Ids;
use desk::needs::Needs;
use desk::working_set::{BatchRows, WorkingSet};
use order::OrderId;
use uuid::Uuid;

/// What a database would hold.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Ledger {
    pub(crate) accounts: BTreeMap<(ClientId, AccountId), Account>,
    order_numbers: BTreeMap<(ClientId, String), OrderId>,
    references: BTreeMap<Reference, MovementId>,
    pub(crate) entries: Vec<Entry>,
}

/// A command, its client, and the ids that its effect shall have.
pub(crate) type Asked = (ClientId, Command, Ids);

impl Ledger {
    /// Decides commands as one batch: all on one set, each on what those before it left; then keeps what changed.
    pub(crate) fn batch(&mut self, commands: &[Asked], now: DateTime<Utc>) -> Vec<Decision> {
        let asked = || commands.iter().map(|(client, command, _)| (*client, command));
        let mut set = self.load(&Needs::of(asked()), &BusinessKeys::of(asked()));
        let decisions = commands
            .iter()
            .map(|(client, command, ids)| {
                let decision = decide(&set, *client, command, &mut ids.clone(), now);
                set.apply(decision.changes.clone(), &Origin::Service);
                decision
            })
            .collect();
        self.save(set.into_rows());
        decisions
    }

    /// Loads what the commands say they need, and no more.
    fn load(&self, needs: &Needs, keys: &BusinessKeys) -> WorkingSet {
        let mut set = WorkingSet::default();
        for name in &needs.accounts {
            if let Some(account) = self.accounts.get(name) {
                set.accounts.load(account.clone());
            }
        }
        for name in &keys.order_numbers {
            if let Some(order) = self.order_numbers.get(name) {
                set.taken.order_numbers.insert(name.clone(), *order);
            }
        }
        for name in &keys.references {
            if let Some(movement) = self.references.get(name) {
                set.taken.references.insert(name.clone(), *movement);
            }
        }
        set
    }

    /// Keeps rows as the database would, whose constraints refuse what is there already.
    fn save(&mut self, rows: BatchRows) {
        for (account, version_read) in rows.accounts.changed {
            let kept = self.accounts.insert((account.client_id, account.id), account);
            assert_eq!(kept.map(|kept| kept.version), Some(version_read), "a version other than that read");
        }
        for account in rows.accounts.relied_on {
            assert_eq!(self.accounts.get(&(account.client_id, account.id)), Some(&account), "relied on");
        }
        for account in rows.accounts.new {
            assert_eq!(self.accounts.insert((account.client_id, account.id), account), None, "opened twice");
        }
        for movement in rows.movements {
            let reference = (movement.client_id, movement.parties.kind(), movement.reference);
            assert_eq!(self.references.insert(reference, movement.id), None, "a reference twice");
        }
        for order in rows.orders.new {
            let name = (order.client_id, order.client_order_no);
            assert_eq!(self.order_numbers.insert(name, order.id), None, "an order number twice");
        }
        self.entries.extend(rows.entries);
    }

    /// Checks what must hold at any time.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.money_is_conserved()?;
        for account in self.accounts.values() {
            self.account_follows_from_the_journal(account)?;
        }
        Ok(())
    }

    /// Per client and currency, customers' balances and collecting accounts add up to nothing; and the collecting
    /// totals that would be written are the sums of the journal's sides.
    fn money_is_conserved(&self) -> Result<(), String> {
        let mut sums: BTreeMap<(ClientId, &str), i128> = BTreeMap::new();
        for account in self.accounts.values() {
            *sums.entry((account.client_id, account.currency.code())).or_default() +=
                units(account.available) + units(account.held);
        }
        let mut sides: BTreeMap<Uuid, (i128, i128)> = BTreeMap::new();
        for entry in &self.entries {
            for (side, debit, credit) in
                [(entry.debit, units(entry.amount), 0), (entry.credit, 0, units(entry.amount))]
            {
                if let Side::Collecting(account) = side {
                    let currency = account.currency.code();
                    *sums.entry((account.client_id, currency)).or_default() += credit - debit;
                    let sum = sides.entry(account.id().0).or_default();
                    *sum = (sum.0 + debit, sum.1 + credit);
                }
            }
        }
        if let Some(((client, currency), sum)) = sums.into_iter().find(|(_, sum)| *sum != 0) {
            return Err(format!("{sum} minor units of {currency} came from nowhere, at the client {client}"));
        }
        let totals: BTreeMap<Uuid, (i128, i128)> = collecting::totals(&self.entries)
            .iter()
            .map(|total| (total.account.id().0, (total.debits.mantissa(), total.credits.mantissa())))
            .collect();
        if totals == sides {
            Ok(())
        } else {
            Err(format!("the collecting totals are {totals:?}, and should be {sides:?}"))
        }
    }

    /// The account has a version for each of its rows, and one for its closing; each row's figures follow from the row
    /// before; nothing is ever below zero; and the last row's figures are the account's.
    fn account_follows_from_the_journal(&self, account: &Account) -> Result<(), String> {
        let (mut version, mut balance) = (0, 0);
        for entry in self.entries.iter().filter(|entry| entry.client_id == account.client_id) {
            for (side, moved) in [(entry.debit, -units(entry.amount)), (entry.credit, units(entry.amount))] {
                let Side::Customer { account_id, version: made, available, held } = side else { continue };
                if account_id != account.id {
                    continue;
                }
                (version, balance) = (version + 1, balance + moved);
                if made != version || units(available) + units(held) != balance || balance < 0 {
                    return Err(format!("row {version} of {account:?} should make {balance}: {entry:?}"));
                }
            }
        }
        let closings = i64::from(account.status == AccountStatus::Closed);
        let balanced = units(account.available) + units(account.held) == balance;
        if balanced && account.version == version + closings && (closings == 0 || balance == 0) {
            Ok(())
        } else {
            Err(format!("{account:?} does not follow from its {version} rows, which make {balance}"))
        }
    }
}

/// An amount in whole minor units, with a sign to subtract by.
pub(crate) fn units(amount: money::Amount) -> i128 {
    i128::try_from(amount.minor_units()).expect("an amount has 22 digits at most")
}
