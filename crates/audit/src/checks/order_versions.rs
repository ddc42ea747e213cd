//! What became of an order is told without a gap, from its placing to the state that it is in.
//!
//! The versions of an order are a chain, as the rows of an account are ([`balances`](super::balances)): each leads to itself
//! from the one before. The chain begins before the first version, or with it where the placing is told by its journal row,
//! and ends with the version that the order says it has.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Order, OrderState, OrderVersion, Row};
use crate::vocabulary::{REFUND_ASKED, change};

use super::report_rows;

/// That an order had a version.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Reached {
    client: Uuid,
    order: Uuid,
    version: i64,
}

impl Claim for Reached {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// That a provider was to give back money of an order, from this time on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    client: Uuid,
    order: Uuid,
    at: DateTime<Utc>,
}

impl Claim for Asked {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct OrderVersions {
    findings: Findings,
    /// Since when versions are kept. Of an order that was placed before, the beginning is not told.
    kept_since: DateTime<Utc>,
    chain: Reconciliation<Reached>,
    asked: Reconciliation<Asked>,
}

impl OrderVersions {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "what became of an order is told version by version, up to the state that it is in";
        Self {
            findings: Findings::new("order-versions", promise, listed_max),
            kept_since: DateTime::<Utc>::MIN_UTC,
            chain: Reconciliation::of_rows(),
            asked: Reconciliation::of_rows(),
        }
    }

    fn order(&mut self, order: &Order<'_>) {
        self.findings.looked();
        if order.created_at <= self.kept_since {
            return;
        }
        let reached = |version| Reached { client: order.client_id, order: order.order_id, version };
        let told_by_journal = placed_as(order.payment_method);
        let begins_with = i64::from(told_by_journal.is_some());
        self.chain.claim(Hand::Right, reached(begins_with), None);
        self.chain.claim(Hand::Left, reached(order.version), None);
        if let Some(placed) = told_by_journal.filter(|placed| order.version == 1 && order.status != *placed) {
            self.findings.row_differs(|| Difference {
                client_id: order.client_id,
                subject: format!("order {}", order.order_id),
                expected: format!("{placed}, as it was placed, at version 1"),
                found: order.status.to_owned(),
            });
        }
    }

    fn version(&mut self, version: &OrderVersion<'_>) {
        self.findings.looked();
        for (expected, found) in broken(version) {
            self.findings.row_differs(|| Difference {
                client_id: version.client_id,
                subject: format!("version {} of order {}", version.version, version.order_id),
                expected,
                found,
            });
        }
        let (client, order) = (version.client_id, version.order_id);
        if version.order.is_some_and(|order| order.created_at > self.kept_since) {
            let reached = |version| Reached { client, order, version };
            self.chain.claim(Hand::Left, reached(version.version.wrapping_sub(1)), None);
            self.chain.claim(Hand::Right, reached(version.version), None);
        }
        if version.what == REFUND_ASKED {
            self.asked.claim(Hand::Right, Asked { client, order, at: version.state.at }, None);
        }
    }
}

/// The state in which an order is placed that its journal row tells of; none, where it is a version like others.
fn placed_as(payment_method: &str) -> Option<&'static str> {
    match payment_method {
        "balance" => Some("paid"),
        "hold" => Some("authorized"),
        _ => None,
    }
}

/// What a version breaks by itself and beside its order: what should be there, and what is.
fn broken(version: &OrderVersion<'_>) -> Vec<(String, String)> {
    let mut broken = Vec::new();
    match version.order {
        None => broken.push(("an order of the client".to_owned(), "none".to_owned())),
        Some(order) if order.version == version.version && order.state != version.state => {
            broken.push((words(&order.state), words(&version.state)));
        }
        Some(_) => {}
    }
    let status = version.state.status;
    match change(version.what) {
        Some(states) if states.contains(&status) => {}
        Some(states) => {
            let expected = format!("{}, as what was {}", states.join(" or "), version.what);
            broken.push((expected, status.to_owned()));
        }
        None => broken.push(("a known change".to_owned(), version.what.to_owned())),
    }
    if !version.delivery_is_there {
        broken.push(("a delivery at whose word it was made".to_owned(), "none of that id".to_owned()));
    }
    broken
}

fn words(state: &OrderState<'_>) -> String {
    let OrderState { status, captured_amount, refunded_amount, at } = state;
    format!("{status}, captured {captured_amount}, refunded {refunded_amount}, since {at}")
}

impl Check for OrderVersions {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::HistoryKept(since) => self.kept_since = *since,
            Row::Order(order) => self.order(order),
            Row::OrderVersion(version) => self.version(version),
            Row::AskedRefund(asked) if asked.created_at > self.kept_since => {
                let Some(order) = asked.order_id else { return };
                let asked = Asked { client: asked.client_id, order, at: asked.created_at };
                self.asked.claim(Hand::Left, asked, None);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        let (chain, asked) = (self.chain.search(), self.asked.search());
        chain || asked
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.chain.conclude(),
            |one| (one.client, format!("history of order {}", one.order)),
            |one| format!("version {}", one.version),
        );
        report_rows(
            &mut self.findings,
            self.asked.conclude(),
            |one| (one.client, format!("history of order {}", one.order)),
            |one| format!("a refund asked for at {}", one.at),
        );
        vec![self.findings.conclude()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;
    use crate::row::OrderNow;

    fn state(status: &'static str) -> OrderState<'static> {
        OrderState {
            status,
            captured_amount: Figure::ZERO,
            refunded_amount: Figure::ZERO,
            at: DateTime::UNIX_EPOCH,
        }
    }

    fn version(what: &'static str, status: &'static str, order: &'static str) -> OrderVersion<'static> {
        OrderVersion {
            client_id: Uuid::nil(),
            order_id: Uuid::nil(),
            version: 2,
            what,
            state: state(status),
            delivery_is_there: true,
            order: Some(OrderNow { created_at: DateTime::UNIX_EPOCH, version: 2, state: state(order) }),
        }
    }

    #[test]
    fn the_last_version_is_the_state_of_its_order() {
        assert_eq!(broken(&version("cancelled", "cancelled", "cancelled")), []);
        assert_eq!(broken(&version("cancelled", "cancelled", "paid")).len(), 1);
        let before_it = version("paid", "paid", "refunded");
        let order = before_it.order.map(|order| OrderNow { version: 3, ..order });
        assert_eq!(broken(&OrderVersion { order, ..before_it }), []);
    }

    #[test]
    fn a_change_leads_to_the_states_that_it_can_lead_to() {
        for (what, status, fits) in [
            ("captured", "authorized", true),
            ("captured", "cancelled", false),
            ("paid", "pending_payment", false),
            ("gone", "paid", false),
        ] {
            assert_eq!(broken(&version(what, status, status)).is_empty(), fits, "{what} to {status}");
        }
    }

    #[test]
    fn a_version_without_its_order_or_its_delivery_is_told() {
        assert_eq!(broken(&OrderVersion { order: None, ..version("paid", "paid", "paid") }).len(), 1);
        let without = OrderVersion { delivery_is_there: false, ..version("paid", "paid", "paid") };
        assert_eq!(broken(&without).len(), 1);
    }
}
