//! An order that is paid by a hold, and its hold, are of one account, amount and time, and in states that go together: both
//! end at once.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Findings};
use crate::row::Row;
use crate::transitions::hold_state;
use crate::vocabulary::Code;

use super::report_rows;

/// What the hold of an order is, and in which state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct HoldIs {
    client: Uuid,
    order: Uuid,
    account: Uuid,
    amount: Figure,
    currency: Code,
    expires_at: Option<DateTime<Utc>>,
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
        let promise =
            "every order that is paid by a hold has one, of its amount and in the state that fits its own";
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
                let is = HoldIs {
                    client: order.client_id,
                    order: order.order_id,
                    account: order.account_id,
                    amount: order.amount,
                    currency: Code::of(order.currency),
                    expires_at: order.expires_at,
                    state: state.into(),
                };
                self.states.claim(Hand::Left, is, None);
            }
            // It has the order's id.
            Row::Hold(hold) if hold.of_order => {
                let is = HoldIs {
                    client: hold.client_id,
                    order: hold.hold_id,
                    account: hold.account_id,
                    amount: hold.amount,
                    currency: Code::of(hold.currency),
                    expires_at: hold.expires_at,
                    state: hold.status.into(),
                };
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
            |one| {
                let until = one.expires_at.map_or("for ever".to_owned(), |at| format!("until {at}"));
                format!(
                    "a hold of {} {} of account {}, {until}, that is {}",
                    one.amount, one.currency, one.account, one.state
                )
            },
        );
        vec![self.findings.conclude()]
    }
}
