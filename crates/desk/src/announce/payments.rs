//! The events that tell of payments at providers.

use chrono::{DateTime, Utc};
use events::{Event, EventId};
use order::{Order, OrderStatus};
use payment_callback::{Alert, CaseChanges};
use serde_json::{Value, json};

use super::order_data;
use crate::ids::Ids;

/// The event that tells of an order that waits for its payment.
pub fn order_placed(order: &Order, ids: &mut Ids, now: DateTime<Utc>) -> Event {
    of_order("onefold.order.placed.v1", order, ids, now)
}

/// The events that tell of what came of a case: one for each version of the order, and one for each alert that was
/// raised or resolved.
pub fn of_case(made: &CaseChanges, ids: &mut Ids, now: DateTime<Utc>) -> Vec<Event> {
    let mut events = Vec::new();
    for order in &made.orders {
        let event_type = match order.status {
            OrderStatus::Paid => "onefold.order.paid.v1",
            OrderStatus::Expired => "onefold.order.expired.v1",
            OrderStatus::Cancelled => "onefold.order.cancelled.v1",
            OrderStatus::PartiallyRefunded | OrderStatus::Refunded => "onefold.order.refunded.v1",
            OrderStatus::PendingPayment | OrderStatus::Authorized => continue,
        };
        events.push(of_order(event_type, order, ids, now));
    }
    for alert in &made.alerts {
        // What is raised and answered in one decision is told of both ways.
        if alert.version == 1 {
            events.push(of_alert("onefold.payment_alert.raised.v1", alert, 1, ids, now));
        }
        if alert.resolution.is_some() {
            events.push(of_alert("onefold.payment_alert.resolved.v1", alert, 2, ids, now));
        }
    }
    events
}

fn of_order(event_type: &'static str, order: &Order, ids: &mut Ids, now: DateTime<Utc>) -> Event {
    Event {
        client_id: order.client_id,
        id: EventId(ids.take()),
        event_type,
        aggregate_type: "order",
        aggregate_id: order.id.0,
        sequence: order.version,
        data: order_data(order),
        occurred_at: now,
        traceparent: None,
    }
}

fn of_alert(
    event_type: &'static str,
    alert: &Alert,
    sequence: i64,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Event {
    Event {
        client_id: alert.client_id,
        id: EventId(ids.take()),
        event_type,
        aggregate_type: "payment_alert",
        aggregate_id: alert.id.0,
        sequence,
        data: alert_data(alert),
        occurred_at: now,
        traceparent: None,
    }
}

fn alert_data(alert: &Alert) -> Value {
    json!({
        "alert_id": alert.id.0,
        "kind": alert.kind.as_str(),
        "payment_no": alert.payment_no,
        "provider": alert.provider.word(),
        "provider_payment_id": alert.provider_payment_id,
        "status": alert.status(),
        "action": alert.resolution.as_ref().map(|resolution| resolution.action.as_str()),
    })
}
