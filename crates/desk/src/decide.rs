//! The rules' front: from a command and what was loaded for it to an outcome and its changes.
//!
//! Pure: no I/O, no clock, no randomness. Tests, property tests and model checkers call it as it is.
//!
//! What is checked first, answers first: the accounts must be the client's (404), then the business key must be
//! free (409), then the rules of the account and the order speak.

use account::movement::{self, Particulars};
use account::{Account, AccountId, Entry, EntryId, Movement, MovementId, Parties};
use chrono::{DateTime, Utc};
use client::ClientId;
use order::place::{self, Placement};
use order::{Order, OrderId, PaymentMethod};
use uuid::Uuid;

use crate::working_set::WorkingSet;
use crate::{Command, Outcome, Refusal};

/// The ids that a command's effect will have. They are drawn before the first attempt, so that every attempt
/// at the same command makes the same rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids {
    /// The id of what the command makes: an account, a movement, an order.
    pub subject: Uuid,
    /// The id of its journal row.
    pub entry: Uuid,
    /// The id of its event.
    pub event: Uuid,
}

/// What a command comes to: its outcome, and the rows to be written with it. A refusal writes none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The outcome.
    pub outcome: Outcome,
    /// The account that is new.
    pub opened: Option<Account>,
    /// Accounts that were there, as they shall be.
    pub changed: Vec<Account>,
    /// The movement that is new.
    pub movement: Option<Movement>,
    /// The order that is new.
    pub order: Option<Order>,
    /// The journal row that is new.
    pub entry: Option<Entry>,
}

impl Decision {
    fn only(outcome: Outcome) -> Self {
        Self { outcome, opened: None, changed: Vec::new(), movement: None, order: None, entry: None }
    }
}

/// Decides a command of a client on what has been loaded, as changed by the commands before it.
pub fn decide(
    set: &WorkingSet,
    client: ClientId,
    command: &Command,
    ids: Ids,
    now: DateTime<Utc>,
) -> Decision {
    let decided = match command {
        Command::OpenAccount { owner, currency } => {
            let account = Account::open(client, AccountId(ids.subject), owner.clone(), *currency, now);
            Ok(Decision { opened: Some(account.clone()), ..Decision::only(Outcome::AccountOpened(account)) })
        }
        Command::Move { parties, amount, reference } => {
            let particulars = Particulars {
                movement_id: MovementId(ids.subject),
                entry_id: EntryId(ids.entry),
                reference: reference.clone(),
                now,
            };
            move_money(set, client, *parties, *amount, particulars)
        }
        Command::CloseAccount { account_id } => close(set, client, *account_id),
        Command::PlaceOrder { account_id, client_order_no, amount, payment_method } => {
            let placement = Placement {
                order_id: OrderId(ids.subject),
                entry_id: EntryId(ids.entry),
                client_order_no: client_order_no.clone(),
                amount: *amount,
                now,
            };
            place_order(set, client, *account_id, *payment_method, placement)
        }
    };
    decided.unwrap_or_else(|refusal| Decision::only(Outcome::Refused(refusal)))
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
    Ok(Decision {
        changed: moved.accounts,
        movement: Some(moved.movement.clone()),
        entry: Some(moved.entry),
        ..Decision::only(Outcome::Moved(moved.movement))
    })
}

fn close(set: &WorkingSet, client: ClientId, id: AccountId) -> Result<Decision, Refusal> {
    let account = set.account(client, id).ok_or(Refusal::AccountNotFound(id))?;
    let closed = account.closed()?;
    Ok(Decision { changed: vec![closed.clone()], ..Decision::only(Outcome::AccountClosed(closed)) })
}

fn place_order(
    set: &WorkingSet,
    client: ClientId,
    account_id: AccountId,
    payment_method: PaymentMethod,
    placement: Placement,
) -> Result<Decision, Refusal> {
    let account = set.account(client, account_id).ok_or(Refusal::AccountNotFound(account_id))?;
    if let Some(existing) = set.order_with(client, &placement.client_order_no) {
        return Err(Refusal::DuplicateOrderNo(existing));
    }
    let placed = match payment_method {
        PaymentMethod::Balance => place::pay_from_balance(account, placement)?,
    };
    Ok(Decision {
        changed: vec![placed.account],
        order: Some(placed.order.clone()),
        entry: Some(placed.entry),
        ..Decision::only(Outcome::OrderPlaced(placed.order))
    })
}
