//! The end of an order that is not paid: called off, or out of time. What was frozen for it is given back; what was
//! captured before stays captured.

use account::hold::{self, ExpiryRefusal, HoldChange, HoldNotActive};
use account::{Account, EntryId, Hold};
use chrono::{DateTime, Utc};

use crate::{Order, OrderEvent, OrderStatus, StateConflict};

/// Why an order does not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndRefusal {
    /// It is not in a state that can end so.
    #[error(transparent)]
    State(#[from] StateConflict),
    /// Its hold has ended already.
    #[error(transparent)]
    Hold(#[from] HoldNotActive),
    /// Its time is not over.
    #[error("the order is {} and not due", .0.as_str())]
    NotDue(OrderStatus),
}

/// What the end of an order changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderEnded {
    /// The order, afterwards.
    pub order: Order,
    /// What becomes of its hold, if it has one.
    pub hold: Option<HoldChange>,
}

/// Calls an order off. `hold` is the order's, if it is authorized.
///
/// # Panics
///
/// If an authorized order comes without its hold, or anything is not the order's.
pub fn cancel(
    account: &Account,
    order: &Order,
    hold: Option<&Hold>,
    entry_id: EntryId,
    now: DateTime<Utc>,
) -> Result<OrderEnded, EndRefusal> {
    assert_is_of(hold, order);
    order.at(now).on(OrderEvent::Cancelled)?;
    let order = order.after(OrderEvent::Cancelled, now)?;
    let hold = hold.map(|hold| hold::release(account, hold, entry_id, now)).transpose()?;
    Ok(OrderEnded { order, hold })
}

/// Ends an order whose time is over. `hold` is the order's, if it is authorized.
///
/// # Panics
///
/// If an authorized order comes without its hold, or anything is not the order's.
pub fn expire(
    account: &Account,
    order: &Order,
    hold: Option<&Hold>,
    entry_id: EntryId,
    now: DateTime<Utc>,
) -> Result<OrderEnded, EndRefusal> {
    assert_is_of(hold, order);
    let expired = order.after(OrderEvent::Expired, now)?;
    if order.expires_at.is_none_or(|expires_at| now < expires_at) {
        return Err(EndRefusal::NotDue(order.status));
    }
    let hold =
        hold.map(|hold| hold::expire(account, hold, entry_id, now)).transpose().map_err(|refusal| {
            match refusal {
                ExpiryRefusal::NotActive(not_active) => EndRefusal::Hold(not_active),
                ExpiryRefusal::NotDue(_) => EndRefusal::NotDue(order.status),
            }
        })?;
    Ok(OrderEnded { order: expired, hold })
}

fn assert_is_of(hold: Option<&Hold>, order: &Order) {
    match hold {
        Some(hold) => {
            assert_eq!(
                (order.client_id, order.id.0),
                (hold.client_id, hold.id.0),
                "an order has its own hold"
            );
        }
        None => assert_ne!(order.status, OrderStatus::Authorized, "an authorized order ends with its hold"),
    }
}
