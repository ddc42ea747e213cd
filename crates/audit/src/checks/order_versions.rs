//! What became of an order is told without a gap, from its placing to the state that it is in, and each step is one that
//! there is.
//!
//! The versions of an order are a chain, as the rows of an account are ([`balances`](super::balances)): each leads to itself
//! from the one before. The chain begins before the first version, or with it where the placing is told by its journal row,
//! and ends with the version that the order says it has. Each version comes with the one before it, so that the step between
//! them is held against the table of [`transitions`](crate::transitions): its states, and what its figures may do.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Order, OrderNow, OrderState, OrderVersion, Row, Standing};
use crate::transitions::{Before, Fault, fault_of_step};
use crate::vocabulary::REFUND_ASKED;

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
        let promise = "what became of an order is told, step by step as the table allows, up to the state that it is in";
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

/// What a version breaks by itself and beside its order and the version before it: what should be there, and what is.
fn broken(version: &OrderVersion<'_>) -> Vec<Fault> {
    let mut broken = Vec::new();
    match version.order {
        None => broken.push(("an order of the client".to_owned(), "none".to_owned())),
        Some(order) if order.version == version.version && order.state != version.state => {
            broken.push((words(&order.state), words(&version.state)));
        }
        Some(_) => {}
    }
    broken.extend(fault_of_step(before(version), version.what, &version.state.standing));
    if !version.delivery_is_there {
        broken.push(("a delivery at whose word it was made".to_owned(), "none of that id".to_owned()));
    }
    broken
}

/// Where the order was before this version. Where that is the placing, and no version like others, it follows from how the
/// order is paid; where it is missing, the chain has a gap, or was not kept then.
fn before<'r>(version: &OrderVersion<'r>) -> Before<'r> {
    match (version.version, version.before) {
        (1, _) => Before::Nothing,
        (_, Some(before)) => Before::Was(before),
        (2, None) => version.order.and_then(|order| placing(&order)).map_or(Before::Untold, Before::Was),
        (_, None) => Before::Untold,
    }
}

/// An order as it was placed, where its journal row tells of that.
fn placing(order: &OrderNow<'_>) -> Option<Standing<'static>> {
    let status = placed_as(order.payment_method)?;
    let captured = if status == "paid" { order.amount } else { Figure::ZERO };
    Some(Standing { status, captured, refunded: Figure::ZERO })
}

fn words(state: &OrderState<'_>) -> String {
    let OrderState { standing: Standing { status, captured, refunded }, at } = state;
    format!("{status}, captured {captured}, refunded {refunded}, since {at}")
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

    const NINE: Figure = Figure::TenThousandths(90_000);

    fn standing(status: &'static str) -> Standing<'static> {
        let captured = if status == "authorized" { Figure::ZERO } else { NINE };
        Standing { status, captured, refunded: Figure::ZERO }
    }

    fn state(status: &'static str) -> OrderState<'static> {
        OrderState { standing: standing(status), at: DateTime::UNIX_EPOCH }
    }

    /// The second version of an order by hold, which is the last.
    fn version(what: &'static str, status: &'static str, order: &'static str) -> OrderVersion<'static> {
        OrderVersion {
            client_id: Uuid::nil(),
            order_id: Uuid::nil(),
            version: 2,
            what,
            idempotency_key: None,
            state: state(status),
            before: None,
            delivery_is_there: true,
            order: Some(OrderNow {
                created_at: DateTime::UNIX_EPOCH,
                payment_method: "hold",
                amount: NINE,
                version: 2,
                state: state(order),
            }),
        }
    }

    #[test]
    fn the_last_version_is_the_state_of_its_order() {
        assert_eq!(broken(&version("captured", "paid", "paid")), []);
        assert_eq!(broken(&version("captured", "paid", "refunded")).len(), 1);
        let before_it = version("captured", "paid", "refunded");
        let order = before_it.order.map(|order| OrderNow { version: 3, ..order });
        assert_eq!(broken(&OrderVersion { order, ..before_it }), []);
    }

    #[test]
    fn a_step_is_judged_by_the_version_before_or_by_the_placing() {
        // An order by hold was authorized, and cannot be refunded.
        assert_eq!(broken(&version("refunded", "paid", "paid")).len(), 1);
        let captured = version("captured", "paid", "paid");
        let after_the_end = OrderVersion { before: Some(standing("cancelled")), ..captured };
        assert_eq!(broken(&after_the_end).len(), 1);
        // Of a version whose beginning is not told, only what it leads to is known.
        let third = OrderVersion { version: 3, ..captured };
        assert_eq!(before(&third), Before::Untold);
        assert_eq!(before(&OrderVersion { version: 1, ..captured }), Before::Nothing);
        assert_eq!(before(&captured), Before::Was(standing("authorized")));
    }

    #[test]
    fn a_version_without_its_order_or_its_delivery_is_told() {
        let whole = version("captured", "paid", "paid");
        assert_eq!(broken(&OrderVersion { order: None, ..whole }).len(), 1);
        assert_eq!(broken(&OrderVersion { delivery_is_there: false, ..whole }).len(), 1);
    }
}
