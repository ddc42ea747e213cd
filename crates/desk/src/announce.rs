//! The events that tell of an outcome. A refusal is no event: nothing happened.

pub mod payments;

use account::{Hold, Movement, MovementKind};
use chrono::{DateTime, Utc};
use client::ClientId;
use events::{Event, EventId};
use inventory::Sku;
use order::{Order, OrderId, PaymentMethod, Refund};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Outcome;
use crate::ids::Ids;
use crate::working_set::{Changes, WorkingSet};

/// The event that tells of an outcome, unless the decision has told of itself.
///
/// The sequence orders the events of one thing: it is the thing's version. What an order's hold goes through is told by
/// the order alone.
pub fn announce(outcome: &Outcome, ids: &mut Ids, now: DateTime<Utc>) -> Option<Event> {
    let (client_id, event_type, aggregate_type, aggregate_id, sequence, data) = match outcome {
        Outcome::AccountOpened(account) => (
            account.client_id,
            "onefold.account.opened.v1",
            "account",
            account.id.0,
            account.version,
            json!({ "account_id": account.id.0, "owner": account.owner, "currency": account.currency.code() }),
        ),
        Outcome::AccountClosed(account) => (
            account.client_id,
            "onefold.account.closed.v1",
            "account",
            account.id.0,
            account.version,
            json!({ "account_id": account.id.0 }),
        ),
        Outcome::Moved(movement) => (
            movement.client_id,
            match movement.parties.kind() {
                MovementKind::Deposit => "onefold.movement.deposited.v1",
                MovementKind::Withdrawal => "onefold.movement.withdrawn.v1",
                MovementKind::Transfer => "onefold.movement.transferred.v1",
            },
            "movement",
            movement.id.0,
            1,
            movement_data(movement),
        ),
        Outcome::HoldPlaced(hold) => of_hold("onefold.hold.placed.v1", hold),
        Outcome::HoldCaptured(hold) => of_hold("onefold.hold.captured.v1", hold),
        Outcome::HoldReleased(hold) => of_hold("onefold.hold.released.v1", hold),
        Outcome::HoldExpired(hold) => of_hold("onefold.hold.expired.v1", hold),
        Outcome::OrderPlaced { order, payment: None } => match order.payment_method {
            PaymentMethod::Hold => of_order("onefold.order.authorized.v1", order, order_data(order)),
            PaymentMethod::Balance | PaymentMethod::Provider => {
                of_order("onefold.order.paid.v1", order, order_data(order))
            }
        },
        Outcome::OrderCaptured(order) => of_order("onefold.order.captured.v1", order, order_data(order)),
        Outcome::OrderCancelled { order, .. } => {
            of_order("onefold.order.cancelled.v1", order, order_data(order))
        }
        Outcome::OrderExpired(order) => of_order("onefold.order.expired.v1", order, order_data(order)),
        Outcome::OrderRefunded(refund, order) => {
            of_order("onefold.order.refunded.v1", order, refund_data(refund, order))
        }
        Outcome::RefundAsked(refund, order) => {
            of_order("onefold.order.refund_asked.v1", order, refund_data(refund, order))
        }
        Outcome::SkuSet(sku) => {
            (sku.client_id, "onefold.sku.set.v1", "sku", sku.id.0, sku.version, sku_data(sku))
        }
        // What has to do with payments at providers has told of itself, version by version.
        Outcome::OrderPlaced { payment: Some(_), .. }
        | Outcome::CallbackTaken(_)
        | Outcome::CallbackRepeated(_)
        | Outcome::AlertResolved(_)
        | Outcome::RefundNoted(_)
        | Outcome::AlertRaised(_)
        | Outcome::PaymentExpired(_)
        | Outcome::EventCounted(_)
        | Outcome::DayRebuilt(_)
        | Outcome::WebhooksDue(_)
        | Outcome::NothingDue
        | Outcome::Undecided
        | Outcome::Refused(_) => return None,
    };
    Some(Event {
        client_id,
        id: EventId(ids.take()),
        event_type,
        aggregate_type,
        aggregate_id,
        sequence,
        data,
        occurred_at: now,
        traceparent: None,
    })
}

/// Adds to each event of an order what the order was before it, so that whoever adds events up needs no memory of the
/// order, and no order among the events.
pub fn tell_what_was(set: &WorkingSet, changes: &mut Changes) {
    let Changes { events, orders, .. } = changes;
    for event in events.iter_mut().filter(|event| event.aggregate_type == "order") {
        let (client, id, version) = (event.client_id, OrderId(event.aggregate_id), event.sequence - 1);
        let earlier = orders.iter().find(|order| order.id == id && order.version == version);
        let before = earlier.or_else(|| set.order(client, id).filter(|order| order.version == version));
        event.data["previous"] = before.map_or(Value::Null, |order| {
            json!({
                "captured_amount": order.captured_amount.to_string(),
                "refunded_amount": order.refunded_amount.to_string(),
                "status": order.status.as_str(),
            })
        });
    }
}

/// Whose it is, what happened, to what kind of thing, to which, its version, and what there is to tell.
type Told = (ClientId, &'static str, &'static str, Uuid, i64, Value);

fn of_hold(event_type: &'static str, hold: &Hold) -> Told {
    let data = json!({
        "hold_id": hold.id.0,
        "account_id": hold.account_id.0,
        "currency": hold.amount.currency().code(),
        "amount": hold.amount.to_string(),
        "captured_amount": hold.captured.to_string(),
        "status": hold.status.as_str(),
    });
    (hold.client_id, event_type, "hold", hold.id.0, hold.version, data)
}

fn of_order(event_type: &'static str, order: &Order, data: Value) -> Told {
    (order.client_id, event_type, "order", order.id.0, order.version, data)
}

fn movement_data(movement: &Movement) -> Value {
    json!({
        "movement_id": movement.id.0,
        "kind": movement.parties.kind().as_str(),
        "from_account_id": movement.parties.from().map(|account| account.0),
        "to_account_id": movement.parties.to().map(|account| account.0),
        "currency": movement.amount.currency().code(),
        "amount": movement.amount.to_string(),
        "reference": movement.reference,
    })
}

fn order_data(order: &Order) -> Value {
    json!({
        "order_id": order.id.0,
        "client_order_no": order.client_order_no,
        "account_id": order.account_id.0,
        "currency": order.amount.currency().code(),
        "amount": order.amount.to_string(),
        "captured_amount": order.captured_amount.to_string(),
        "refunded_amount": order.refunded_amount.to_string(),
        "status": order.status.as_str(),
    })
}

fn refund_data(refund: &Refund, order: &Order) -> Value {
    let mut data = order_data(order);
    data["refund"] = json!({
        "refund_id": refund.id.0,
        "reference": refund.reference,
        "amount": refund.amount.to_string(),
        "status": refund.status.as_str(),
    });
    data
}

fn sku_data(sku: &Sku) -> Value {
    json!({
        "sku": sku.code.0,
        "currency": sku.price.currency().code(),
        "price": sku.price.to_string(),
        "total": sku.total,
    })
}
