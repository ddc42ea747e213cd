//! The events that tell of payments at providers.

use chrono::{DateTime, Utc};
use events::{Event, EventId};
use order::{Change, Order, VersionOfRefund};
use payment_callback::{Alert, CaseChanges};
use serde_json::{Value, json};

use super::order_data;
use crate::ids::Ids;
use crate::working_set::WorkingSet;

/// The event that tells of an order that waits for its payment.
pub fn order_placed(order: &Order, ids: &mut Ids, now: DateTime<Utc>) -> Event {
    of_order("onefold.order.placed.v1", order, order_data(order), ids, now)
}

/// The events that tell of what came of a case: one for each version of the order, and one for each alert that was
/// raised or resolved.
pub fn of_case(set: &WorkingSet, made: &CaseChanges, ids: &mut Ids, now: DateTime<Utc>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut before = made.orders.first().and_then(|order| set.order(order.client_id, order.id));
    for order in &made.orders {
        let refund = made.versions_of_refunds.iter().find(|version| version.is_of(order));
        let event_type = match Change::between(before, order, refund.map(|refund| refund.step)) {
            Change::Placed | Change::Paid => "onefold.order.paid.v1",
            Change::Expired => "onefold.order.expired.v1",
            Change::Cancelled => "onefold.order.cancelled.v1",
            Change::Refunded => "onefold.order.refunded.v1",
            Change::RefundConfirmed => "onefold.order.refund_confirmed.v1",
            Change::RefundFailed => "onefold.order.refund_failed.v1",
            other @ (Change::Captured | Change::RefundAsked | Change::Corrected) => {
                unreachable!("no case makes a version that is {}", other.as_str())
            }
        };
        let mut data = order_data(order);
        if let Some(refund) = refund.and_then(|version| refund_told(set, made, version)) {
            data["refund"] = refund;
        }
        events.push(of_order(event_type, order, data, ids, now));
        before = Some(order);
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

/// The refund that has made a version of its order.
fn refund_told(set: &WorkingSet, made: &CaseChanges, version: &VersionOfRefund) -> Option<Value> {
    let asked = made.asked.iter().find(|asked| asked.id == version.refund_id)?;
    let of_order = set.refunds_of_orders.get(&(version.client_id, version.refund_id))?;
    let mut told = json!({
        "refund_id": asked.id.0,
        "reference": of_order.reference,
        "amount": asked.amount.to_string(),
        "status": asked.status.as_str(),
    });
    if let Some(failure) = &asked.failure {
        told["failure"] = json!(failure);
    }
    Some(told)
}

fn of_order(
    event_type: &'static str,
    order: &Order,
    data: Value,
    ids: &mut Ids,
    now: DateTime<Utc>,
) -> Event {
    Event {
        client_id: order.client_id,
        id: EventId(ids.take()),
        event_type,
        aggregate_type: "order",
        aggregate_id: order.id.0,
        sequence: order.version,
        data,
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
