//! The rules' front: from a command and what was loaded for it to an outcome and its changes.
//!
//! Pure: no I/O, no clock, no randomness. Tests, property tests and model checkers call it as it is.
//!
//! What is checked first, answers first: the accounts must be the client's (404), then the business key must be
//! free (409), then the rules of the account and the order speak.

mod payments;

use account::movement::{self, Particulars};
use account::{Account, AccountId, EntryId, MovementId, Parties};
use chrono::{DateTime, Utc};
use client::ClientId;
use order::place::{self, Placement};
use order::{OrderId, PaymentTerms};

use crate::announce::announce;
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

/// Decides a command of a client on what has been loaded, as changed by the commands before it.
pub fn decide(
    set: &WorkingSet,
    client: ClientId,
    command: &Command,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Decision {
    let decided = match command {
        Command::OpenAccount { owner, currency } => {
            let account = Account::open(client, AccountId(ids.take()), owner.clone(), *currency, now);
            let changes = Changes { accounts: vec![account.clone()], ..Changes::default() };
            Ok(Decision { outcome: Outcome::AccountOpened(account), changes })
        }
        Command::Move { parties, amount, reference } => {
            let particulars = Particulars {
                movement_id: MovementId(ids.take()),
                entry_id: EntryId(ids.take()),
                reference: reference.clone(),
                now,
            };
            move_money(set, client, *parties, *amount, particulars)
        }
        Command::CloseAccount { account_id } => close(set, client, *account_id),
        Command::PlaceOrder { account_id, client_order_no, amount, payment } => {
            let placement = Placement {
                order_id: OrderId(ids.take()),
                entry_id: EntryId(ids.take()),
                client_order_no: client_order_no.clone(),
                amount: *amount,
                now,
            };
            place_order(set, client, *account_id, payment, placement, ids)
        }
        Command::Payment(command) => payments::decide(set, client, command, ids, now),
    };
    match decided {
        Ok(mut decision) => {
            decision.changes.events.extend(announce(&decision.outcome, ids, now));
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
        Some(existing) => Err(Refusal::DuplicateReference { kind: parties.kind(), existing }),
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

fn place_order(
    set: &WorkingSet,
    client: ClientId,
    account_id: AccountId,
    payment: &PaymentTerms,
    placement: Placement,
    ids: &mut Ids,
) -> Result<Decision, Refusal> {
    let account = set.account(client, account_id).ok_or(Refusal::AccountNotFound(account_id))?;
    if let Some(existing) = set.order_with(client, &placement.client_order_no) {
        return Err(Refusal::DuplicateOrderNo(existing));
    }
    let placed = match payment {
        PaymentTerms::Balance => place::pay_from_balance(account, placement)?,
        PaymentTerms::Provider { .. } => return payments::place(set, account, placement, payment, ids),
    };
    let changes = Changes {
        accounts: vec![placed.account],
        orders: vec![placed.order.clone()],
        entries: vec![placed.entry],
        ..Changes::default()
    };
    Ok(Decision { outcome: Outcome::OrderPlaced { order: placed.order, payment: None }, changes })
}
