//! Taking the money of an order that is paid by a hold: in parts, or at once.

use account::hold::{self, CaptureRefusal, Capturing, HoldChange};
use account::{Account, Hold, HoldStatus};

use crate::{Order, OrderEvent, StateConflict};

/// Why nothing is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OrderCaptureRefusal {
    /// The order is not waiting for a capture.
    #[error(transparent)]
    State(#[from] StateConflict),
    /// So much cannot be taken of its hold.
    #[error(transparent)]
    Hold(#[from] CaptureRefusal),
}

/// What a capture changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderCaptured {
    /// The order, afterwards.
    pub order: Order,
    /// What becomes of its hold.
    pub hold: HoldChange,
}

/// Takes a part of the frozen amount, or all that is left of it. With the last capture the order is paid.
///
/// # Panics
///
/// If the hold is not the order's, or the account not theirs.
pub fn capture(
    account: &Account,
    order: &Order,
    hold: &Hold,
    capturing: Capturing,
) -> Result<OrderCaptured, OrderCaptureRefusal> {
    assert_eq!((order.client_id, order.id.0), (hold.client_id, hold.id.0), "an order has its own hold");
    let now = capturing.now;
    // Whether it is the last capture is known when the hold has been asked; the state must allow either.
    order.at(now).on(OrderEvent::CapturedInPart)?;
    let hold = hold::capture(account, hold, capturing)?;
    let event = match hold.hold.status {
        HoldStatus::Active => OrderEvent::CapturedInPart,
        HoldStatus::Captured | HoldStatus::Released | HoldStatus::Expired => OrderEvent::CapturedFinally,
    };
    let order = Order { captured_amount: hold.hold.captured, ..order.after(event, now)? };
    Ok(OrderCaptured { order, hold })
}
