//! What became of orders and holds: versions, and events.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::figure::Figure;
use crate::vocabulary::Code;

/// Where an order or a hold is in its life, with its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing<'r> {
    /// Where.
    pub status: &'r str,
    /// What has been taken.
    pub captured: Figure,
    /// What has been given back; nothing, of a hold.
    pub refunded: Figure,
}

/// Where an order is in its life, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderState<'r> {
    /// Where, with which figures.
    pub standing: Standing<'r>,
    /// Since when.
    pub at: DateTime<Utc>,
}

/// A version of an order, as it was made.
#[derive(Clone, Copy, Debug)]
pub struct OrderVersion<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// The order.
    pub order_id: Uuid,
    /// Which version.
    pub version: i64,
    /// What made it.
    pub what: &'r str,
    /// The key of the request that made it; none, if no request did.
    pub idempotency_key: Option<&'r str>,
    /// Where the order was from then on.
    pub state: OrderState<'r>,
    /// Where the version before it says that the order was; none, if there is no such row.
    pub before: Option<Standing<'r>>,
    /// Whether the delivery that it names is one; true, if it names none.
    pub delivery_is_there: bool,
    /// What its order says now; none, if there is no such order.
    pub order: Option<OrderNow<'r>>,
}

/// What an order says, where one of its versions is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderNow<'r> {
    /// When it was placed.
    pub created_at: DateTime<Utc>,
    /// How it is paid.
    pub payment_method: &'r str,
    /// What was ordered.
    pub amount: Figure,
    /// How many changes it has seen.
    pub version: i64,
    /// Its state.
    pub state: OrderState<'r>,
}

/// What never changes of an order or a hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Particulars<'r> {
    /// The client's name for it; of a hold, which its events do not name, nothing.
    pub name: Cow<'r, str>,
    /// The account that it is for.
    pub account_id: Uuid,
    /// Its currency.
    pub currency: Code,
    /// How much.
    pub amount: Figure,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event<'r> {
    /// Whose it is.
    pub client_id: Uuid,
    /// Its identity.
    pub event_id: Uuid,
    /// What happened.
    pub event_type: &'r str,
    /// To what kind of thing.
    pub aggregate_type: &'r str,
    /// To which one.
    pub aggregate_id: Uuid,
    /// Its place among the events of that one.
    pub sequence: i64,
    /// When.
    pub occurred_at: DateTime<Utc>,
    /// Where it says that the order or the hold was from then on; none, if it is of something else or says nothing.
    pub told: Option<Standing<'r>>,
    /// What it says of the order or the hold; none, if it is of something else or leaves out some of it.
    pub particulars: Option<Particulars<'r>>,
    /// What the order says of itself; none, if it is of something else or there is no such order.
    pub order: Option<Particulars<'r>>,
    /// Where it says that the order was before; none, if it says nothing of that.
    pub told_before: Option<Standing<'r>>,
    /// What the version of the order that it tells of says; none, if there is no such row.
    pub version: Option<Standing<'r>>,
    /// What the version before that says; none, if there is no such row.
    pub version_before: Option<Standing<'r>>,
}
