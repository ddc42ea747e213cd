//! What was given back of an order to its account is the sum of its refunds, and each refund has exactly its journal row.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::Row;
use crate::vocabulary::{Code, ORDER_REFUND};

use super::{report_limits, report_rows};

/// What was given back of an order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Refunded {
    client: Uuid,
    order: Uuid,
    currency: Code,
}

impl Claim for Refunded {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// That money went back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Back {
    client: Uuid,
    order: Uuid,
    account: Uuid,
    amount: Figure,
    currency: Code,
    reference: Box<str>,
}

impl Claim for Back {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct Refunds {
    sums: Findings,
    rows: Findings,
    refunded: Reconciliation<Refunded>,
    back: Reconciliation<Back>,
}

impl Refunds {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        Self {
            sums: Findings::new(
                "refunds",
                "what was refunded of an order to its account equals its refunds",
                listed_max,
            ),
            rows: Findings::new(
                "refund-rows",
                "every refund has exactly its journal row, and the row its refund",
                listed_max,
            ),
            refunded: Reconciliation::of_sums(),
            back: Reconciliation::of_rows(),
        }
    }
}

impl Check for Refunds {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            // What is given back at a provider follows from receipts, and has a check of its own.
            Row::Order(order) if order.payment_method != "provider" => {
                self.sums.looked();
                let (client, order_id) = (order.client_id, order.order_id);
                let refunded = Refunded { client, order: order_id, currency: Code::of(order.currency) };
                let sum = order.refunded_amount.ten_thousandths().unwrap_or(0);
                self.refunded.claim_times(Hand::Left, refunded, sum, None);
            }
            // What a provider is asked for moves nothing before it is back, and that follows from receipts.
            Row::Refund(refund) if refund.status != "pending" => {
                self.rows.looked();
                let (client, order, currency) =
                    (refund.client_id, refund.order_id, Code::of(refund.currency));
                let sum = refund.amount.ten_thousandths().unwrap_or(0);
                let refunded = Refunded { client, order, currency };
                self.refunded.claim_times(Hand::Right, refunded, sum, Some(refund.refund_id));
                let back = Back {
                    client,
                    order,
                    account: refund.account_id,
                    amount: refund.amount,
                    currency,
                    reference: refund.reference.into(),
                };
                self.back.claim(Hand::Left, back, Some(refund.refund_id));
            }
            Row::Entry(entry) if entry.kind == ORDER_REFUND => {
                let Some(order) = entry.order_id else { return };
                let back = Back {
                    client: entry.client_id,
                    order,
                    account: entry.credit.account_id,
                    amount: entry.amount,
                    currency: Code::of(entry.currency),
                    reference: entry.reference.unwrap_or_default().into(),
                };
                self.back.claim(Hand::Right, back, Some(entry.entry_id));
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.sums.search();
        self.rows.search();
        let (refunded, back) = (self.refunded.search(), self.back.search());
        refunded || back
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let refunded = self.refunded.conclude();
        report_limits(&mut self.sums, &refunded);
        for unmatched in refunded.places.values().flatten() {
            let Refunded { client, order, currency } = unmatched.claim;
            self.sums.differs(|| Difference {
                client_id: client,
                subject: format!("order {order}"),
                expected: format!("refunds of {} {currency}", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        report_rows(
            &mut self.rows,
            self.back.conclude(),
            |back| (back.client, format!("refunds of order {}", back.order)),
            |back| {
                format!(
                    "a refund of {} {} to account {} ({:?})",
                    back.amount, back.currency, back.account, back.reference
                )
            },
        );
        vec![self.sums.conclude(), self.rows.conclude()]
    }
}
