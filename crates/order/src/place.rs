//! Placing an order: paid at once, or by a hold.

use account::hold::{self, HoldPlacement};
use account::{
    Account, Cause, Collecting, CollectingName, DebitRefusal, Entry, EntryId, EntryKind, Hold, HoldId,
    HoldPurpose, Side,
};
use chrono::{DateTime, Utc};
use money::Amount;

use crate::{Order, OrderId, OrderItem, OrderStatus, PaymentMethod};

/// How an order to be placed shall be paid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PaymentTerms {
    /// At once, from what the account has available.
    Balance,
    /// By what is frozen on the account now and captured later.
    Hold {
        /// For how long it stays frozen, in seconds.
        expires_in_s: u32,
    },
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
            Self::Hold { .. } => PaymentMethod::Hold,
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
    /// What is ordered, item by item, which costs the amount; nothing, if the client does not say.
    pub items: Vec<OrderItem>,
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
    /// The account that pays it, afterwards.
    pub account: Account,
    /// The hold that will pay it, if it is not paid at once.
    pub hold: Option<Hold>,
    /// The journal row: from the account to revenue, or to what it has held.
    pub entry: Entry,
}

/// Places an order and pays it from what the account has available.
pub fn pay_from_balance(account: &Account, placement: Placement) -> Result<Placed, PlaceRefusal> {
    let amount = placement.amount;
    let paying = account.debited(amount)?;
    let client_id = account.client_id;
    let revenue = Collecting { client_id, name: CollectingName::Revenue, currency: amount.currency() };
    Ok(Placed {
        entry: Entry {
            client_id,
            id: placement.entry_id,
            kind: EntryKind::OrderPayment,
            amount,
            debit: Side::after(&paying),
            credit: Side::Collecting(revenue),
            reference: None,
            cause: Cause::Order(placement.order_id.0),
            created_at: placement.now,
        },
        order: Order {
            captured_amount: amount,
            ..new_order(account, placement, PaymentMethod::Balance, OrderStatus::Paid)
        },
        account: paying,
        hold: None,
    })
}

/// Places an order and freezes what it costs, until it is captured, cancelled, or due.
pub fn pay_by_hold(
    account: &Account,
    placement: Placement,
    expires_at: DateTime<Utc>,
) -> Result<Placed, PlaceRefusal> {
    let hold = HoldPlacement {
        hold_id: HoldId(placement.order_id.0),
        entry_id: placement.entry_id,
        purpose: HoldPurpose::Order,
        amount: placement.amount,
        expires_at: Some(expires_at),
        now: placement.now,
    };
    let mut frozen = hold::place(account, hold)?;
    let order = Order {
        expires_at: Some(expires_at),
        ..new_order(account, placement, PaymentMethod::Hold, OrderStatus::Authorized)
    };
    let (account, entry) = frozen.accounts.pop().zip(frozen.entries.pop()).expect("freezing is one row");
    Ok(Placed { order, account, hold: Some(frozen.hold), entry })
}

/// An order of which nothing has been taken.
pub(crate) fn new_order(
    account: &Account,
    placement: Placement,
    payment_method: PaymentMethod,
    status: OrderStatus,
) -> Order {
    let Placement { order_id, entry_id: _, client_order_no, amount, items, now } = placement;
    Order {
        client_id: account.client_id,
        id: order_id,
        client_order_no,
        account_id: account.id,
        amount,
        captured_amount: Amount::zero(amount.currency()),
        refunded_amount: Amount::zero(amount.currency()),
        items,
        payment_method,
        payment_no: None,
        status,
        expires_at: None,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}
