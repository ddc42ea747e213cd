//! Each finished record has its effect, and each effect its record while none of its age can have been deleted.
//!
//! A record is decided at the very time of its effect, so the two are of one age, exactly. What is younger than the
//! retention is reconciled both ways. Of older records some are there and some are not: each is looked up alone. An
//! effect of the moment that its client was made in was put there together with it, at nobody's request.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::{Check, Terms};
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Record, Row};
use crate::vocabulary::{
    ACCOUNT_CLOSED, AGAIN, CANCEL_ORDER, CAPTURE_HOLD, CAPTURE_ORDER, CLOSE_ACCOUNT, EXPIRE_HOLD,
    EXPIRE_ORDER, MOVEMENTS, OPEN_ACCOUNT, Operation, PLACE_HOLD, PLACE_ORDER, PUT_SKU, REFUND_ORDER,
    RELEASE_HOLD, RESOLVE_ALERT, TAKE_CALLBACK, operation,
};

use super::report_rows;

/// That an operation was run, and had an effect.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ran {
    client: Uuid,
    operation: &'static str,
    resource: Uuid,
}

impl Claim for Ran {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.resource)
    }
}

/// The check.
#[derive(Debug)]
pub struct Records {
    findings: Findings,
    kept_after: DateTime<Utc>,
    clients: HashMap<Uuid, DateTime<Utc>>,
    ran: Reconciliation<Ran>,
}

impl Records {
    /// A check that has seen nothing.
    pub fn new(terms: Terms) -> Self {
        let promise = "each finished record has its effect, and each effect its record";
        Self {
            findings: Findings::new("records", promise, terms.listed_max),
            kept_after: terms.records_kept_after,
            clients: HashMap::new(),
            ran: Reconciliation::of_rows(),
        }
    }

    fn effect(&mut self, client: Uuid, operation: &Operation, resource: Uuid, at: DateTime<Utc>) {
        let at_nobodys_request = self.clients.get(&client) == Some(&at);
        if at > self.kept_after && !at_nobodys_request {
            self.ran.claim(Hand::Left, Ran { client, operation: operation.name, resource }, None);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        self.findings.looked();
        let expected = match record.status {
            // It may have found nothing to do any more, or the same as one before it.
            "completed" if is_without_own_effect(record) => {
                (!(200..300).contains(&record.response_status)).then_some("an answer of 200 to 299")
            }
            // What is set by name leaves no row for each time.
            "completed" if record.operation == PUT_SKU.name => {
                let named = record.resource.is_some_and(|path| path.starts_with(PUT_SKU.path));
                (!named).then_some("the path of the sku that was set")
            }
            "completed" => match resource_of(record) {
                Some((operation, resource)) => {
                    // The hold of an order has its id, and a capture does not say whose it is.
                    let operation = if *operation == CAPTURE_ORDER { &CAPTURE_HOLD } else { operation };
                    let ran = Ran { client: record.client_id, operation: operation.name, resource };
                    if record.completed_at > self.kept_after {
                        self.ran.claim(Hand::Right, ran, None);
                    }
                    (!(200..300).contains(&record.response_status)).then_some("an answer of 200 to 299")
                }
                None => Some("a known operation, and the path of what it made or changed"),
            },
            "failed" if record.resource.is_some() || record.response_location.is_some() => {
                Some("a refusal, which has no effect")
            }
            "failed" => (!(400..500).contains(&record.response_status)).then_some("an answer of 400 to 499"),
            _ => Some("completed or failed"),
        };
        if let Some(expected) = expected {
            self.findings.row_differs(|| difference(record, expected));
        }
    }
}

/// Whether the record has no effect of its own: it may be a timer's that came too late, or a callback's that was recorded
/// before, which it names.
pub(super) fn is_without_own_effect(record: &Record<'_>) -> bool {
    let Some(operation) = operation(record.operation) else { return false };
    let again = || record.resource?.strip_prefix(operation.path)?.strip_suffix(AGAIN);
    !operation.has_own_effect
        || (*operation == TAKE_CALLBACK && again().is_some_and(|id| Uuid::try_parse(id).is_ok()))
}

/// The operation of a record, and the id of what it made or changed.
pub(super) fn resource_of(record: &Record<'_>) -> Option<(&'static Operation, Uuid)> {
    let operation = operation(record.operation)?;
    let id = record.resource?.strip_prefix(operation.path)?;
    Some((operation, id.parse().ok()?))
}

fn difference(record: &Record<'_>, expected: &str) -> Difference {
    Difference {
        client_id: record.client_id,
        subject: format!("record {:?}", record.key),
        expected: expected.to_owned(),
        found: format!(
            "{} {}, answered {}, resource {}, location {}",
            record.operation,
            record.status,
            record.response_status,
            record.resource.unwrap_or("none"),
            record.response_location.unwrap_or("none")
        ),
    }
}

impl Check for Records {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Client(client) => {
                self.clients.insert(client.client_id, client.created_at);
            }
            Row::Account(account) => {
                self.effect(account.client_id, &OPEN_ACCOUNT, account.account_id, account.created_at);
            }
            Row::Movement(movement) => {
                let kind = MOVEMENTS.iter().find(|(word, _, _)| *word == movement.kind);
                if let Some((_, operation, _)) = kind {
                    self.effect(movement.client_id, operation, movement.movement_id, movement.created_at);
                }
            }
            Row::Order(order) => {
                self.effect(order.client_id, &PLACE_ORDER, order.order_id, order.created_at);
                let ended = match order.status {
                    "cancelled" => &CANCEL_ORDER,
                    "expired" if order.payment_method == "hold" => &EXPIRE_ORDER,
                    _ => return,
                };
                self.effect(order.client_id, ended, order.order_id, order.updated_at);
            }
            Row::Hold(hold) if !hold.of_order => {
                self.effect(hold.client_id, &PLACE_HOLD, hold.hold_id, hold.created_at);
                let ended = match hold.status {
                    "released" => &RELEASE_HOLD,
                    "expired" => &EXPIRE_HOLD,
                    _ => return,
                };
                self.effect(hold.client_id, ended, hold.hold_id, hold.updated_at);
            }
            Row::Capture(capture) => {
                self.effect(capture.client_id, &CAPTURE_HOLD, capture.hold_id, capture.created_at);
            }
            Row::Refund(refund) => {
                self.effect(refund.client_id, &REFUND_ORDER, refund.refund_id, refund.created_at);
            }
            Row::Delivery(delivery) => {
                self.effect(delivery.client_id, &TAKE_CALLBACK, delivery.delivery_id, delivery.received_at);
            }
            Row::Alert(alert) => {
                let by_client = alert.resolved_by.is_some_and(|by| by.starts_with("client"));
                if let Some(at) = alert.resolved_at.filter(|_| by_client) {
                    self.effect(alert.client_id, &RESOLVE_ALERT, alert.alert_id, at);
                }
            }
            // A closing leaves no time on the account; its event has it.
            Row::Event(event) if event.event_type == ACCOUNT_CLOSED => {
                self.effect(event.client_id, &CLOSE_ACCOUNT, event.aggregate_id, event.occurred_at);
            }
            Row::Record(record) => self.record(record),
            Row::RecordWithoutEffect(record) => {
                self.findings.row_differs(|| difference(record, "what it says was made or closed"));
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.ran.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.ran.conclude(),
            |ran| (ran.client, format!("records of {}", ran.resource)),
            |ran| format!("a completed {}", ran.operation),
        );
        vec![self.findings.conclude()]
    }
}
