//! The journal: rows that move one amount from the debited account to the credited one.
//!
//! A customer's account is a debt of the client to its customer, so a credit raises it and a debit lowers it.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::{Account, AccountId, Collecting, MovementId};

/// Identifies a journal row: UUID version 7.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct EntryId(pub Uuid);

/// What kind of event moved the money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// Money came in from outside.
    Deposit,
    /// Money went outside.
    Withdrawal,
    /// Money went from one customer's account to another.
    Transfer,
    /// An order was paid from the balance.
    OrderPayment,
    /// A provider received money that paid its order at once.
    PaymentSettled,
    /// A provider received money that has paid nothing yet.
    PaymentUnapplied,
    /// A provider took back, under the same id, what it had told of.
    PaymentReversed,
    /// Money that had paid nothing has paid its order.
    PaymentApplied,
    /// Money that had paid nothing is owed back.
    RefundOwed,
    /// A provider gave back what was owed back.
    OwedRefunded,
    /// A provider gave back what had paid an order.
    PaymentRefunded,
    /// A provider gave back what had paid nothing.
    UnappliedRefunded,
}

impl EntryKind {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
            Self::Transfer => "transfer",
            Self::OrderPayment => "order_payment",
            Self::PaymentSettled => "payment_settled",
            Self::PaymentUnapplied => "payment_unapplied",
            Self::PaymentReversed => "payment_reversed",
            Self::PaymentApplied => "payment_applied",
            Self::RefundOwed => "refund_owed",
            Self::OwedRefunded => "owed_refunded",
            Self::PaymentRefunded => "payment_refunded",
            Self::UnappliedRefunded => "unapplied_refunded",
        }
    }
}

/// One side of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// A customer's account, and what it had after the row.
    Customer {
        /// The account.
        account_id: AccountId,
        /// The version that the row made.
        version: i64,
        /// What it then had available.
        available: Amount,
        /// What it then had held.
        held: Amount,
    },
    /// A collecting account, which has no figures of its own.
    Collecting(Collecting),
}

impl Side {
    /// The side of a customer's account, given the account as it is after the row.
    pub fn after(account: &Account) -> Self {
        Self::Customer {
            account_id: account.id,
            version: account.version,
            available: account.available,
            held: account.held,
        }
    }

    /// The account of this side.
    pub fn account_id(&self) -> AccountId {
        match self {
            Self::Customer { account_id, .. } => *account_id,
            Self::Collecting(collecting) => collecting.id(),
        }
    }
}

/// Why a row is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A deposit, a withdrawal or a transfer.
    Movement(MovementId),
    /// An order, by its id.
    Order(Uuid),
    /// What a provider told of, by the id of its receipt, and the order that it was for, if there is one.
    Receipt {
        /// The receipt.
        receipt: Uuid,
        /// The order.
        order: Option<Uuid>,
    },
}

/// A row of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The client whose books these are.
    pub client_id: ClientId,
    /// Its identity.
    pub id: EntryId,
    /// What kind of event moved the money.
    pub kind: EntryKind,
    /// How much moved; more than zero.
    pub amount: Amount,
    /// Where it came from.
    pub debit: Side,
    /// Where it went.
    pub credit: Side,
    /// The client's own name for the movement.
    pub reference: Option<String>,
    /// Why the row is there.
    pub cause: Cause,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}
