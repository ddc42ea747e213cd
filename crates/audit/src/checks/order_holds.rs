//! An order that is paid by a hold, and its hold, are in states that go together: both end at once.

use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Findings};
use crate::row::Row;
use crate::transitions::hold_state;

use super::report_rows;

/// That the hold of an order is in a state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct HoldIs {
    client: Uuid,
    order: Uuid,
    state: Box<str>,
}

impl Claim for HoldIs {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct OrderHolds {
    findings: Findings,
    states: Reconciliation<HoldIs>,
}

impl OrderHolds {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every order that is paid by a hold has one, in the state that fits its own";
        Self {
            findings: Findings::new("order-holds", promise, listed_max),
            states: Reconciliation::of_rows(),
        }
    }
}

impl Check for OrderHolds {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Order(order) if order.payment_method == "hold" => {
                self.findings.looked();
                let state = hold_state(order.status).unwrap_or("in a state that there is");
                let is = HoldIs { client: order.client_id, order: order.order_id, state: state.into() };
                self.states.claim(Hand::Left, is, None);
            }
            // It has the order's id.
            Row::Hold(hold) if hold.of_order => {
                let is = HoldIs { client: hold.client_id, order: hold.hold_id, state: hold.status.into() };
                self.states.claim(Hand::Right, is, None);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.states.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.states.conclude(),
            |one| (one.client, format!("order {}", one.order)),
            |one| format!("a hold that is {}", one.state),
        );
        vec![self.findings.conclude()]
    }
}
