//! The order.

use account::AccountId;
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Amount;
use uuid::Uuid;

use crate::{OrderEvent, OrderItem, OrderStatus, StateConflict, Step};

/// Identifies an order: UUID version 7, made by the service.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct OrderId(pub Uuid);

/// How an order is paid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PaymentMethod {
    /// At once, from what the account has available.
    Balance,
    /// From what is frozen on the account when the order is placed, by a later capture.
    Hold,
    /// By a payment at a provider, which tells of it by a callback.
    Provider,
}

impl PaymentMethod {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Balance => "balance",
            Self::Hold => "hold",
            Self::Provider => "provider",
        }
    }

    /// The method of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "balance" => Some(Self::Balance),
            "hold" => Some(Self::Hold),
            "provider" => Some(Self::Provider),
            _ => None,
        }
    }
}

/// An order of a client against one of its accounts.
///
/// `refunded_amount` ≤ `captured_amount` ≤ `amount`, all in the account's currency. Of an order paid at a provider more
/// than its amount may be captured: what a person has accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: OrderId,
    /// The client's own name for it, unique per client for ever.
    pub client_order_no: String,
    /// The account it is for.
    pub account_id: AccountId,
    /// What was ordered; more than zero.
    pub amount: Amount,
    /// What has been taken.
    pub captured_amount: Amount,
    /// What has been given back.
    pub refunded_amount: Amount,
    /// What was ordered, item by item; empty, if the client did not say.
    pub items: Vec<OrderItem>,
    /// How it is paid.
    pub payment_method: PaymentMethod,
    /// The number of its payment, if it is paid at a provider.
    pub payment_no: Option<String>,
    /// Where it is in its life. For where it is at a moment, see [`Order::at`].
    pub status: OrderStatus,
    /// From when on it is due, if it is not paid by then.
    pub expires_at: Option<DateTime<Utc>>,
    /// How many changes it has seen, its placing the first.
    pub version: i64,
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Order {
    /// Its state at a moment: an order that is due has expired, even while what it keeps has not been given back yet.
    pub fn at(&self, now: DateTime<Utc>) -> OrderStatus {
        let waits = matches!(self.status, OrderStatus::Authorized | OrderStatus::PendingPayment);
        match self.expires_at {
            Some(expires_at) if waits && now >= expires_at => OrderStatus::Expired,
            _ => self.status,
        }
    }

    /// What can still be given back of what was taken.
    ///
    /// # Panics
    ///
    /// If more was given back than was taken, which neither the rules nor the table allow.
    pub fn refundable(&self) -> Amount {
        self.captured_amount.checked_sub(self.refunded_amount).expect("no more is given back than was taken")
    }

    /// The order after an event, a version on. Amounts are the caller's to change.
    ///
    /// # Errors
    ///
    /// If the event is not allowed in the order's state.
    pub(crate) fn after(&self, event: OrderEvent, now: DateTime<Utc>) -> Result<Self, StateConflict> {
        let status = match self.status.on(event)? {
            Step::To(status) => status,
            Step::Stays => self.status,
        };
        Ok(self.in_status(status, now))
    }

    /// The order's next version, in this status.
    pub(crate) fn in_status(&self, status: OrderStatus, now: DateTime<Utc>) -> Self {
        Self { status, version: self.version + 1, updated_at: now, ..self.clone() }
    }
}
