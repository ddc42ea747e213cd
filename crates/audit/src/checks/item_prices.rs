//! What an order's items cost, piece by piece at the prices that it was placed at, is what it amounts to. An order need not
//! have items.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::Row;

use super::report_limits;

/// What the items of an order cost in all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Cost {
    client: Uuid,
    order: Uuid,
}

impl Claim for Cost {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct ItemPrices {
    findings: Findings,
    costs: Reconciliation<Cost>,
}

impl ItemPrices {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "the items of an order cost what it amounts to";
        Self { findings: Findings::new("item-prices", promise, listed_max), costs: Reconciliation::of_sums() }
    }
}

impl Check for ItemPrices {
    fn see(&mut self, row: &Row<'_>) {
        let Row::Item(item) = row else { return };
        self.findings.looked();
        // That there is no such order is another check's difference.
        let Some(amount) = item.order_amount else { return };
        let cost = Cost { client: item.client_id, order: item.order_id };
        // The order's amount is claimed once, with its first item. If that is gone, so is the claim, and it shows.
        if item.is_first {
            self.costs.claim_times(Hand::Left, cost.clone(), units(amount), None);
        }
        let price = units(item.price).saturating_mul(item.quantity.into());
        self.costs.claim_times(Hand::Right, cost, price, None);
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.costs.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let costs = self.costs.conclude();
        report_limits(&mut self.findings, &costs);
        for unmatched in costs.places.values().flatten() {
            self.findings.differs(|| Difference {
                client_id: unmatched.claim.client,
                subject: format!("items of order {}", unmatched.claim.order),
                expected: format!("{}, as the order", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        vec![self.findings.conclude()]
    }
}

/// What is no number counts for nothing, and so differs.
fn units(figure: Figure) -> i128 {
    figure.ten_thousandths().unwrap_or(0)
}
