//! The journal: rows that move one amount from the debited account to the credited one.
//!
//! A customer's account is a debt of the client to its customer, so a credit raises it and a debit lowers it.
//!
//! An account has two parts, what is available and what is held. A hold moves money from the one to the other: both
//! sides of its row are parts of one account, and what the account had afterwards stands on one of them.

use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::{Account, AccountId, Collecting, HoldId, MovementId};

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
    /// Money was frozen: it went from what its account has available to what it has held.
    Hold,
    /// Frozen money was taken: it left what its account has held.
    HoldCapture,
    /// Frozen money was given back, by the client's word or at a final capture.
    HoldRelease,
    /// Frozen money was given back because the hold's time was over.
    HoldExpiry,
    /// Money that an order had taken was given back to the account that paid it.
    OrderRefund,
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
            Self::Hold => "hold",
            Self::HoldCapture => "hold_capture",
            Self::HoldRelease => "hold_release",
            Self::HoldExpiry => "hold_expiry",
            Self::OrderRefund => "order_refund",
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
    /// What a customer's account has held. The account stands on the other side too, with its figures.
    Held(AccountId),
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
            Self::Customer { account_id, .. } | Self::Held(account_id) => *account_id,
            Self::Collecting(collecting) => collecting.id(),
        }
    }
}

/// Why a row is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A deposit, a withdrawal or a transfer.
    Movement(MovementId),
    /// An order, by its id. A row of an order's own hold has the order as its cause.
    Order(Uuid),
    /// What a provider told of, by the id of its receipt, and the order that it was for, if there is one.
    Receipt {
        /// The receipt.
        receipt: Uuid,
        /// The order.
        order: Option<Uuid>,
    },
    /// A hold that belongs to no order.
    Hold(HoldId),
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
