//! Giving money back that an order has taken: whole or in parts, never more than was taken.

use account::{
    Account, AccountId, Cause, Collecting, CollectingName, CreditRefusal, Entry, EntryId, EntryKind, Side,
};
use chrono::{DateTime, Utc};
use client::ClientId;
use inventory::SkuCode;
use money::{Amount, Currency};
use uuid::Uuid;

use crate::{ItemWanted, Order, OrderEvent, OrderId, OrderItem, PaymentMethod, StateConflict};

/// Identifies a refund: UUID version 7, made by the service.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct RefundId(pub Uuid);

/// Where a refund is in its life. One to the balance succeeds at once. One that a provider must carry out is pending here
/// for good: how far the provider is, is told by what it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RefundStatus {
    /// A provider is asked for it.
    Pending,
    /// The money is back.
    Succeeded,
}

impl RefundStatus {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Succeeded].into_iter().find(|status| status.as_str() == word)
    }
}

/// Money of an order that was given back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refund {
    /// The client it belongs to.
    pub client_id: ClientId,
    /// Its identity.
    pub id: RefundId,
    /// The order whose money it was.
    pub order_id: OrderId,
    /// The account that gets it.
    pub account_id: AccountId,
    /// The client's own name for it, unique among its refunds for ever.
    pub reference: String,
    /// How much; more than zero.
    pub amount: Amount,
    /// The items that are given back to the stock with it: when the money is back.
    pub items: Vec<ItemWanted>,
    /// Where it is in its life.
    pub status: RefundStatus,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// What is to be given back, with the ids and the time that the caller made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refunding {
    /// The refund's id.
    pub refund_id: RefundId,
    /// The id of its journal row.
    pub entry_id: EntryId,
    /// The client's own name for it. That it is not taken has been seen before.
    pub reference: String,
    /// How much; more than zero.
    pub amount: Amount,
    /// The items that come back; no sku twice.
    pub items: Vec<ItemWanted>,
    /// The time.
    pub now: DateTime<Utc>,
}

/// Why nothing is given back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefundRefusal {
    /// The order is not paid, or all of it has been given back.
    #[error(transparent)]
    State(#[from] StateConflict),
    /// The order was not paid from a balance, to which the money could go back.
    #[error("the order was paid at a provider, through which its money goes back")]
    PaidAtProvider,
    /// The order is in another currency.
    #[error("the order is in {order_currency}, not {given}")]
    CurrencyMismatch {
        /// What the order is in.
        order_currency: Currency,
        /// What was to be given back.
        given: Currency,
    },
    /// More was to be given back than is left of what was taken.
    #[error("{required} is to be given back and {refundable} is left of what was paid")]
    ExceedsPaid {
        /// What is left.
        refundable: Amount,
        /// What was to be given back.
        required: Amount,
    },
    /// More items were to come back than the order bought and still has.
    #[error("{requested} of {sku} are to come back and the order has {left}")]
    ItemsExceedOrder {
        /// Of what.
        sku: SkuCode,
        /// How many the order has, apart from those that are to come back with refunds on their way.
        left: u64,
        /// How many were to come back.
        requested: u64,
    },
    /// The account cannot take it.
    #[error(transparent)]
    Credit(#[from] CreditRefusal),
}

/// What a refund changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refunded {
    /// The refund.
    pub refund: Refund,
    /// The order, afterwards.
    pub order: Order,
    /// The account, afterwards.
    pub account: Account,
    /// The journal row: from revenue to the account.
    pub entry: Entry,
}

/// Gives money of an order back to what the account has available.
///
/// # Panics
///
/// If the account is not the order's.
pub fn to_balance(account: &Account, order: &Order, refunding: Refunding) -> Result<Refunded, RefundRefusal> {
    assert_eq!(
        (order.client_id, order.account_id),
        (account.client_id, account.id),
        "an order has one account"
    );
    let Refunding { refund_id, entry_id, reference, amount, items, now } = refunding;
    order.at(now).on(OrderEvent::RefundedInPart)?;
    match order.payment_method {
        PaymentMethod::Balance | PaymentMethod::Hold => {}
        PaymentMethod::Provider => return Err(RefundRefusal::PaidAtProvider),
    }
    let order_currency = order.amount.currency();
    if amount.currency() != order_currency {
        return Err(RefundRefusal::CurrencyMismatch { order_currency, given: amount.currency() });
    }
    let refundable = order.refundable();
    let Ok(left) = refundable.checked_sub(amount) else {
        return Err(RefundRefusal::ExceedsPaid { refundable, required: amount });
    };
    let order_items = with_items_back(&order.items, &items)?;
    let credited = account.credited(amount)?;

    let event = if left.is_zero() { OrderEvent::RefundedInFull } else { OrderEvent::RefundedInPart };
    let refunded_amount =
        order.refunded_amount.checked_add(amount).expect("no more comes back than was taken");
    let client_id = order.client_id;
    let revenue = Collecting { client_id, name: CollectingName::Revenue, currency: order_currency };
    Ok(Refunded {
        entry: Entry {
            client_id,
            id: entry_id,
            kind: EntryKind::OrderRefund,
            amount,
            debit: Side::Collecting(revenue),
            credit: Side::after(&credited),
            reference: Some(reference.clone()),
            cause: Cause::Order(order.id.0),
            created_at: now,
        },
        refund: Refund {
            client_id,
            id: refund_id,
            order_id: order.id,
            account_id: account.id,
            reference,
            amount,
            items,
            status: RefundStatus::Succeeded,
            version: 1,
            created_at: now,
            updated_at: now,
        },
        order: Order { refunded_amount, items: order_items, ..order.after(event, now)? },
        account: credited,
    })
}

/// Has money of an order given back by the provider that it was paid at. No figure of the order moves, and no item comes
/// back, before the provider says that the money is back. `spoken_for` are the items of refunds that are on their way: they
/// are taken off what may come back. Whether so much money is left is not asked here.
///
/// # Panics
///
/// If the order was not paid at a provider.
pub fn at_provider(
    order: &Order,
    spoken_for: &[ItemWanted],
    refunding: Refunding,
) -> Result<(Refund, Order), RefundRefusal> {
    assert_eq!(order.payment_method, PaymentMethod::Provider, "money goes back the way it came");
    let Refunding { refund_id, entry_id: _, reference, amount, items, now } = refunding;
    order.at(now).on(OrderEvent::RefundedInPart)?;
    let order_currency = order.amount.currency();
    if amount.currency() != order_currency {
        return Err(RefundRefusal::CurrencyMismatch { order_currency, given: amount.currency() });
    }
    are_left(&order.items, spoken_for, &items)?;
    let refund = Refund {
        client_id: order.client_id,
        id: refund_id,
        order_id: order.id,
        account_id: order.account_id,
        reference,
        amount,
        items,
        status: RefundStatus::Pending,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    Ok((refund, order.in_status(order.status, now)))
}

impl Order {
    /// The order, in the same version, with these items counted as given back; none, if it does not have them all any more:
    /// a piece comes back once, whichever refund was the first to bring it.
    pub fn with_items_back(&self, back: &[ItemWanted]) -> Option<Self> {
        let items = with_items_back(&self.items, back).ok()?;
        Some(Self { items, ..self.clone() })
    }

    /// The order's next version, in which nothing of it has moved: a refund of it has come further.
    pub fn told_of_refund(&self, now: DateTime<Utc>) -> Self {
        self.in_status(self.status, now)
    }
}

/// The order's items, with these counted as given back.
fn with_items_back(items: &[OrderItem], back: &[ItemWanted]) -> Result<Vec<OrderItem>, RefundRefusal> {
    are_left(items, &[], back)?;
    let mut items = items.to_vec();
    for item in &mut items {
        item.given_back += pieces_of(back, &item.sku);
    }
    Ok(items)
}

/// Whether the order still has the items that are to come back, apart from those that are spoken for.
fn are_left(
    items: &[OrderItem],
    spoken_for: &[ItemWanted],
    back: &[ItemWanted],
) -> Result<(), RefundRefusal> {
    for ItemWanted { sku, quantity: requested } in back {
        let item = items.iter().find(|item| item.sku == *sku);
        let left = item.map_or(0, |item| {
            // What is on its way may have been asked for anew after it had failed, and then succeed all the same.
            (item.quantity - item.given_back).saturating_sub(pieces_of(spoken_for, sku))
        });
        if *requested > left {
            let (sku, requested) = (sku.clone(), *requested);
            return Err(RefundRefusal::ItemsExceedOrder { sku, left, requested });
        }
    }
    Ok(())
}

/// How many pieces of a sku there are among these, in which it may stand more than once.
fn pieces_of(wanted: &[ItemWanted], sku: &SkuCode) -> u64 {
    wanted.iter().filter(|item| item.sku == *sku).map(|item| item.quantity).sum()
}
