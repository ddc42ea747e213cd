//! The rules' front: from a command and what was loaded for it to an outcome and its changes.
//!
//! Pure: no I/O, no clock, no randomness. Tests, property tests and model checkers call it as it is.
//!
//! What is checked first, answers first: the accounts must be the client's (404), then the business key must be
//! free (409), then the rules of the account and the order speak.
//!
//! - here: accounts and movements;
//! - `holds`: freezing money, taking it, giving it back;
//! - `orders`: orders and refunds;
//! - `skus`: the catalogue;
//! - `callbacks`: what follows from a provider's delivery;
//! - `payments`: what has to do with payments at providers;
//! - [`reports`]: counting what events tell of;
//! - `notifications`: writing down who is told of them.

mod callbacks;
mod holds;
mod notifications;
mod orders;
mod payments;
pub mod reports;
mod skus;

use account::movement::{self, Particulars};
use account::{Account, AccountId, EntryId, MovementId, Parties};
use chrono::{DateTime, Utc};
use client::ClientId;

use crate::announce::{announce, tell_what_was};
use crate::ids::Ids;
use crate::working_set::{Changes, WorkingSet};
use crate::{Command, Outcome, Refusal};

/// What a command comes to: its outcome, and the rows to be written with it. A refusal writes none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The outcome.
    pub outcome: Outcome,
    /// The rows.
    pub changes: Changes,
}

/// What a command is decided on.
struct Case<'c> {
    /// What was loaded, as changed by the commands before it.
    set: &'c WorkingSet,
    /// Who asks.
    client: ClientId,
    /// The ids of what the command makes.
    ids: &'c mut Ids,
    /// The time.
    now: DateTime<Utc>,
}

impl<'c> Case<'c> {
    fn account(&self, id: AccountId) -> Result<&'c Account, Refusal> {
        self.set.account(self.client, id).ok_or(Refusal::AccountNotFound(id))
    }

    fn entry_id(&mut self) -> EntryId {
        EntryId(self.ids.take())
    }
}

/// Decides a command of a client on what has been loaded, as changed by the commands before it.
pub fn decide(
    set: &WorkingSet,
    client: ClientId,
    command: &Command,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let mut case = Case { set, client, ids, now };
    let decided = match command {
        Command::OpenAccount { owner, currency } => {
            let account = Account::open(client, AccountId(case.ids.take()), owner.clone(), *currency, now);
            let changes = Changes { accounts: vec![account.clone()], ..Changes::default() };
            Ok(Decision { outcome: Outcome::AccountOpened(account), changes })
        }
        Command::Move { parties, amount, reference } => {
            let particulars = Particulars {
                movement_id: MovementId(case.ids.take()),
                entry_id: EntryId(case.ids.take()),
                reference: reference.clone(),
                now,
            };
            move_money(set, client, *parties, *amount, particulars)
        }
        Command::CloseAccount { account_id } => close(set, client, *account_id),
        Command::PlaceHold { account_id, amount, reference, expires_in_s } => {
            holds::place(&mut case, *account_id, *amount, reference, *expires_in_s)
        }
        Command::CaptureHold { hold_id, terms, .. } => holds::capture(&mut case, *hold_id, terms),
        Command::ReleaseHold { hold_id, .. } => holds::release(&mut case, *hold_id),
        Command::ExpireHold { hold_id, .. } => holds::expire(&mut case, *hold_id),
        Command::PlaceOrder { account_id, client_order_no, amount, items, payment } => {
            let asked = orders::Asked { client_order_no, amount: *amount, items, payment };
            orders::place(&mut case, *account_id, asked)
        }
        Command::CaptureOrder { order_id, terms, .. } => orders::capture(&mut case, *order_id, terms),
        Command::CancelOrder { order_id, .. } => orders::cancel(&mut case, *order_id),
        Command::ExpireOrder { order_id, .. } => orders::expire(&mut case, *order_id),
        Command::RefundOrder { order_id, amount, reference, items, askable, .. } => {
            let asked = orders::RefundAsked { amount: *amount, reference, items, askable };
            orders::refund(&mut case, *order_id, asked)
        }
        Command::SetSku { code, terms, condition } => skus::set(&mut case, code, *terms, condition),
        Command::Payment(command) => payments::decide(set, client, command, case.ids, now),
        Command::Report(command) => reports::decide(&case, command),
        Command::Notify(command) => Ok(notifications::decide(&case, command)),
    };
    match decided {
        Ok(mut decision) => {
            decision.changes.events.extend(announce(&decision.outcome, ids, now));
            tell_what_was(set, &mut decision.changes);
            decision
        }
        Err(refusal) => Decision { outcome: Outcome::Refused(refusal), changes: Changes::default() },
    }
}

fn move_money(
    set: &WorkingSet,
    client: ClientId,
    parties: Parties,
    amount: money::Amount,
    particulars: Particulars,
) -> Result<Decision, Refusal> {
    let account = |id: AccountId| set.account(client, id).ok_or(Refusal::AccountNotFound(id));
    let free = || match set.movement_with(client, parties.kind(), &particulars.reference) {
        Some(existing) => {
            Err(Refusal::DuplicateReference { kind: parties.kind().as_str(), existing: existing.0 })
        }
        None => Ok(()),
    };
    let moved = match parties {
        Parties::Deposit { to } => {
            let to = account(to)?;
            free()?;
            movement::deposit(to, amount, particulars)?
        }
        Parties::Withdrawal { from } => {
            let from = account(from)?;
            free()?;
            movement::withdraw(from, amount, particulars)?
        }
        Parties::Transfer { from, to } => {
            let (from, to) = (account(from)?, account(to)?);
            free()?;
            movement::transfer(from, to, amount, particulars)?
        }
    };
    let changes = Changes {
        accounts: moved.accounts,
        movements: vec![moved.movement.clone()],
        entries: vec![moved.entry],
        ..Changes::default()
    };
    Ok(Decision { outcome: Outcome::Moved(moved.movement), changes })
}

fn close(set: &WorkingSet, client: ClientId, id: AccountId) -> Result<Decision, Refusal> {
    let account = set.account(client, id).ok_or(Refusal::AccountNotFound(id))?;
    let closed = account.closed()?;
    let changes = Changes { accounts: vec![closed.clone()], ..Changes::default() };
    Ok(Decision { outcome: Outcome::AccountClosed(closed), changes })
}
