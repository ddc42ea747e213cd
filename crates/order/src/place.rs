//! Placing an order.

use account::{Account, Cause, Collecting, CollectingName, DebitRefusal, Entry, EntryId, EntryKind, Side};
use chrono::{DateTime, Utc};
use money::Amount;

use crate::{Order, OrderId, OrderStatus, PaymentMethod};

/// How an order to be placed shall be paid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PaymentTerms {
    /// At once, from what the account has available.
    Balance,
    /// By a payment at a provider.
    Provider {
        /// The provider's word.
        provider: &'static str,
        /// The number that the provider shall know the payment by.
        payment_no: String,
        /// For how long the payment is awaited, in seconds.
        expires_in_s: u32,
    },
}

impl PaymentTerms {
    /// The method that these are terms of.
    pub fn method(&self) -> PaymentMethod {
        match self {
            Self::Balance => PaymentMethod::Balance,
            Self::Provider { .. } => PaymentMethod::Provider,
        }
    }
}

/// An order to be placed: what the client asks for, with the ids and the time that the caller made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The order's id.
    pub order_id: OrderId,
    /// The id of its journal row.
    pub entry_id: EntryId,
    /// The client's own name for it. That it is not taken has been seen before.
    pub client_order_no: String,
    /// How much; more than zero.
    pub amount: Amount,
    /// The time.
    pub now: DateTime<Utc>,
}

/// Why an order is not placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlaceRefusal {
    /// The client's account cannot pay it.
    #[error(transparent)]
    Debit(#[from] DebitRefusal),
}

/// What placing an order changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The order.
    pub order: Order,
    /// The account that paid it, afterwards.
    pub account: Account,
    /// The journal row: from the account to revenue.
    pub entry: Entry,
}

/// Places an order and pays it from what the account has available.
pub fn pay_from_balance(account: &Account, placement: Placement) -> Result<Placed, PlaceRefusal> {
    let Placement { order_id, entry_id, client_order_no, amount, now } = placement;
    let paying = account.debited(amount)?;
    let client_id = account.client_id;
    let revenue = Collecting { client_id, name: CollectingName::Revenue, currency: amount.currency() };
    Ok(Placed {
        entry: Entry {
            client_id,
            id: entry_id,
            kind: EntryKind::OrderPayment,
            amount,
            debit: Side::after(&paying),
            credit: Side::Collecting(revenue),
            reference: None,
            cause: Cause::Order(order_id.0),
            created_at: now,
        },
        order: Order {
            client_id,
            id: order_id,
            client_order_no,
            account_id: account.id,
            amount,
            captured_amount: amount,
            refunded_amount: Amount::zero(amount.currency()),
            payment_method: PaymentMethod::Balance,
            payment_no: None,
            status: OrderStatus::Paid,
            version: 1,
            created_at: now,
            updated_at: now,
        },
        account: paying,
    })
}
