//! Each effect has exactly its events, with their places in the sequence; and each event has its effect.

use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Event, Order, Row};
use crate::vocabulary::{
    ACCOUNT_CLOSED, ACCOUNT_OPENED, ALERT_RAISED, ALERT_RESOLVED, EVENTS, MOVEMENTS, ORDER_CANCELLED,
    ORDER_EXPIRED, ORDER_PAID, ORDER_PLACED, ORDER_REFUNDED,
};

use super::report_rows;

/// More refunds than an order ever has.
const REFUNDS_MAX: i64 = 10_000;

/// That something happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Happened {
    client: Uuid,
    aggregate: Uuid,
    event_type: &'static str,
    sequence: i64,
}

impl Claim for Happened {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.aggregate)
    }
}

/// The check.
#[derive(Debug)]
pub struct Events {
    findings: Findings,
    happened: Reconciliation<Happened>,
}

impl Events {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "each effect has exactly its events, and each event its effect";
        Self { findings: Findings::new("events", promise, listed_max), happened: Reconciliation::of_rows() }
    }

    fn effect(&mut self, client: Uuid, aggregate: Uuid, event_type: &'static str, sequence: i64) {
        self.happened.claim(Hand::Left, Happened { client, aggregate, event_type, sequence }, None);
    }

    /// It is placed, then paid or over, and then refunded, a version each.
    fn order_at_provider(&mut self, order: &Order<'_>) {
        let (client, id) = (order.client_id, order.order_id);
        self.effect(client, id, ORDER_PLACED, 1);
        let second = match order.status {
            "pending_payment" => return,
            "expired" => ORDER_EXPIRED,
            "cancelled" => ORDER_CANCELLED,
            _ => ORDER_PAID,
        };
        self.effect(client, id, second, 2);
        // No more than there can be, should the version be damaged.
        for version in 3..=order.version.min(3 + REFUNDS_MAX) {
            self.effect(client, id, ORDER_REFUNDED, version);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.findings.looked();
        let known = EVENTS
            .iter()
            .find(|(word, aggregate)| *word == event.event_type && *aggregate == event.aggregate_type);
        let Some((event_type, _)) = known else {
            return self.findings.row_differs(|| Difference {
                client_id: event.client_id,
                subject: format!("event {}", event.event_id),
                expected: "a known type, of the kind of thing that it tells of".to_owned(),
                found: format!("{} of a {}", event.event_type, event.aggregate_type),
            });
        };
        let happened = Happened {
            client: event.client_id,
            aggregate: event.aggregate_id,
            event_type,
            sequence: event.sequence,
        };
        self.happened.claim(Hand::Right, happened, Some(event.event_id));
    }
}

impl Check for Events {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Account(account) => {
                self.effect(account.client_id, account.account_id, ACCOUNT_OPENED, 0);
                if account.closed {
                    self.effect(account.client_id, account.account_id, ACCOUNT_CLOSED, account.version);
                }
            }
            Row::Movement(movement) => {
                let kind = MOVEMENTS.iter().find(|(word, _, _)| *word == movement.kind);
                if let Some((_, _, event_type)) = kind {
                    self.effect(movement.client_id, movement.movement_id, event_type, 1);
                }
            }
            Row::Order(order) if order.payment_method == "provider" => self.order_at_provider(order),
            Row::Order(order) => self.effect(order.client_id, order.order_id, ORDER_PAID, 1),
            Row::Alert(alert) => {
                self.effect(alert.client_id, alert.alert_id, ALERT_RAISED, 1);
                if alert.status == "resolved" {
                    self.effect(alert.client_id, alert.alert_id, ALERT_RESOLVED, 2);
                }
            }
            Row::Event(event) => self.event(event),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.happened.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.happened.conclude(),
            |happened| (happened.client, format!("events of {}", happened.aggregate)),
            |happened| format!("{} at {}", happened.event_type, happened.sequence),
        );
        vec![self.findings.conclude()]
    }
}
