//! The rows of the journal, and of what collects.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::figure::Figure;

/// A collecting account.
#[derive(Clone, Copy, Debug)]
pub struct CollectingAccount<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub account_id: Uuid,
    /// What it collects.
    pub name: &'r str,
    /// In which currency.
    pub currency: &'r str,
}

/// A row of the journal.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub entry_id: Uuid,
    /// What kind of event moved the money.
    pub kind: &'r str,
    /// How much moved.
    pub amount: Figure,
    /// In which currency.
    pub currency: &'r str,
    /// Where it came from.
    pub debit: Side,
    /// Where it went.
    pub credit: Side,
    /// The client's name for it.
    pub reference: Option<&'r str>,
    /// The movement it belongs to.
    pub movement_id: Option<Uuid>,
    /// The order it belongs to.
    pub order_id: Option<Uuid>,
    /// The receipt it belongs to.
    pub receipt_id: Option<Uuid>,
    /// The hold it belongs to, if that is no order's.
    pub hold_id: Option<Uuid>,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
    /// The key of the request that asked for it; none, if none did.
    pub idempotency_key: Option<&'r str>,
    /// Whether the delivery that it names is one; true, if it names none.
    pub delivery_is_there: bool,
    /// Whether the order that it names besides a receipt is one; true, if it is of no receipt or names none.
    pub order_is_there: bool,
    /// What the completed record under its key says. It is looked up only for kinds of which a request may write any number
    /// of rows or none; for others it is none.
    pub asked: Option<Asked<'r>>,
}

/// What a record says was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked<'r> {
    /// The operation.
    pub operation: &'r str,
    /// The path of what it made or changed.
    pub resource: Option<&'r str>,
}

/// A side of a row of the journal.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The account.
    pub account_id: Uuid,
    /// What a customer's account had afterwards; nothing for a collecting one.
    pub after: Option<After>,
}

/// What a customer's account had after a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct After {
    /// The version that the row made.
    pub version: i64,
    /// What could be spent.
    pub available: Figure,
    /// What was frozen.
    pub held: Figure,
}

/// A part of what a collecting account has collected.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    /// Whose it is.
    pub client_id: Uuid,
    /// The account.
    pub account_id: Uuid,
    /// The sum of rows that debit it.
    pub debits: Figure,
    /// The sum of rows that credit it.
    pub credits: Figure,
}
