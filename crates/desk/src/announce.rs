//! The events that tell of an outcome. A refusal is no event: nothing happened.

pub mod payments;

use account::{Movement, MovementKind};
use chrono::{DateTime, Utc};
use events::{Event, EventId};
use order::Order;
use serde_json::{Value, json};

use crate::Outcome;
use crate::ids::Ids;

/// The event that tells of an outcome, unless the decision has told of itself.
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
        Outcome::OrderPlaced { order, payment: None } => {
            (order.client_id, "onefold.order.paid.v1", "order", order.id.0, order.version, order_data(order))
        }
        // What has to do with payments at providers has told of itself, version by version.
        Outcome::OrderPlaced { payment: Some(_), .. }
        | Outcome::CallbackTaken(_)
        | Outcome::CallbackRepeated(_)
        | Outcome::AlertResolved(_)
        | Outcome::AlertRaised(_)
        | Outcome::PaymentExpired(_)
        | Outcome::NothingDue
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
    })
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
        "status": order.status.as_str(),
    })
}
