//! Each effect has exactly its events, with their places in the sequence; and each event has its effect.
//!
//! What has a life tells of each version of it: of the first by what it was placed as, of the last, if it has ended, by
//! how it ended, and of those between only that there is one. A sku's versions are mostly orders that take of it, so only
//! its making is looked for.
//!
//! Published events are deleted in the end. How far that went is noted for each client, and things that were made before
//! are passed over here, but for what became of orders since: their versions stay, with the time at which each was made.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Event, OrderVersion, Row};
use crate::vocabulary::{
    ACCOUNT_CLOSED, ACCOUNT_OPENED, ALERT_RAISED, ALERT_RESOLVED, EVENTS, HOLD_EXPIRED, HOLD_PLACED,
    HOLD_RELEASED, MOVEMENTS, ONCE, ORDER_AUTHORIZED, ORDER_CANCELLED, ORDER_EXPIRED, ORDER_PAID,
    ORDER_PLACED, SKU_SET,
};

use super::kept_events::KeptEvents;
use super::report_rows;

/// Stands for whatever happened to a thing between its placing and its end.
const LATER: &str = "a later event";

/// More versions than anything but a sku ever has.
const VERSIONS_MAX: i64 = 10_000;

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
    kept: KeptEvents,
    /// Since when versions of orders are kept.
    versions_since: DateTime<Utc>,
}

impl Events {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "each effect has exactly its events, and each event its effect";
        Self {
            findings: Findings::new("events", promise, listed_max),
            happened: Reconciliation::of_rows(),
            kept: KeptEvents::default(),
            versions_since: DateTime::<Utc>::MIN_UTC,
        }
    }

    fn effect(&mut self, client: Uuid, aggregate: Uuid, event_type: &'static str, sequence: i64) {
        if self.kept.is_whole(client, aggregate) {
            self.happened.claim(Hand::Left, Happened { client, aggregate, event_type, sequence }, None);
        }
    }

    /// What has a life: it tells of each of its versions.
    fn life(
        &mut self,
        client: Uuid,
        id: Uuid,
        placed: &'static str,
        later: Option<(&'static str, i64)>,
        version: i64,
    ) {
        self.effect(client, id, placed, 1);
        // No more than there can be, should the version be damaged.
        let versions = 2..=version.min(VERSIONS_MAX);
        versions.for_each(|version| self.effect(client, id, LATER, version));
        if let Some((event_type, version)) = later {
            self.effect(client, id, event_type, version);
        }
    }

    /// Whether an order that was placed before events were deleted has a version of that moment, and the event that tells
    /// of it.
    fn is_later_of_old_order(&self, client: Uuid, order: Uuid, at: DateTime<Utc>) -> bool {
        !self.kept.is_whole(client, order) && self.kept.is_kept(client, at) && at > self.versions_since
    }

    fn version(&mut self, version: &OrderVersion<'_>) {
        let (client, aggregate, at) = (version.client_id, version.order_id, version.state.at);
        if version.version > 1 && self.is_later_of_old_order(client, aggregate, at) {
            let (event_type, sequence) = (LATER, version.version);
            self.happened.claim(Hand::Left, Happened { client, aggregate, event_type, sequence }, None);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.findings.looked();
        let known = EVENTS
            .iter()
            .find(|(word, aggregate)| *word == event.event_type && *aggregate == event.aggregate_type);
        let Some((event_type, aggregate_type)) = known else {
            return self.findings.row_differs(|| Difference {
                client_id: event.client_id,
                subject: format!("event {}", event.event_id),
                expected: "a known type, of the kind of thing that it tells of".to_owned(),
                found: format!("{} of a {}", event.event_type, event.aggregate_type),
            });
        };
        let (client, aggregate) = (event.client_id, event.aggregate_id);
        let is_whole = self.kept.is_whole(client, aggregate);
        let has_a_life = matches!(*aggregate_type, "order" | "hold");
        let types: &[&'static str] = match event.sequence {
            2.. if *aggregate_type == "order"
                && self.is_later_of_old_order(client, aggregate, event.occurred_at) =>
            {
                &[LATER]
            }
            _ if !is_whole => &[],
            2.. if *aggregate_type == "sku" => &[],
            2.. if has_a_life && ONCE.contains(event_type) => &[LATER, event_type],
            2.. if has_a_life => &[LATER],
            _ => &[event_type],
        };
        for event_type in types {
            let happened = Happened { client, aggregate, event_type, sequence: event.sequence };
            self.happened.claim(Hand::Right, happened, Some(event.event_id));
        }
    }
}

impl Check for Events {
    fn see(&mut self, row: &Row<'_>) {
        self.kept.see(row);
        match row {
            Row::HistoryKept(since) => self.versions_since = *since,
            Row::OrderVersion(version) => self.version(version),
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
            Row::Order(order) => {
                let placed = match order.payment_method {
                    "hold" => ORDER_AUTHORIZED,
                    "provider" => ORDER_PLACED,
                    _ => ORDER_PAID,
                };
                let later = match (order.payment_method, order.status) {
                    (_, "cancelled") => Some((ORDER_CANCELLED, order.version)),
                    (_, "expired") => Some((ORDER_EXPIRED, order.version)),
                    ("provider", "paid" | "partially_refunded" | "refunded") => Some((ORDER_PAID, 2)),
                    _ => None,
                };
                self.life(order.client_id, order.order_id, placed, later, order.version);
            }
            Row::Hold(hold) if !hold.of_order => {
                let later = match hold.status {
                    "released" => Some((HOLD_RELEASED, hold.version)),
                    "expired" => Some((HOLD_EXPIRED, hold.version)),
                    _ => None,
                };
                self.life(hold.client_id, hold.hold_id, HOLD_PLACED, later, hold.version);
            }
            Row::Sku(sku) => self.effect(sku.client_id, sku.sku_id, SKU_SET, 1),
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
