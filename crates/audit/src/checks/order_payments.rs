//! Every order of which something was taken has exactly one journal row that pays it, of that amount and from its
//! account; or, where it is paid by a hold, rows that capture so much in all. And every such row has its order.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::Row;
use crate::vocabulary::{Code, HOLD_CAPTURE, ORDER_PAYMENT};

use super::{report_limits, report_rows};

/// That an order was paid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Paid {
    client: Uuid,
    order: Uuid,
    account: Uuid,
    amount: Figure,
    currency: Code,
}

impl Claim for Paid {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// That so much of an order was captured, in all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Captured {
    client: Uuid,
    order: Uuid,
    account: Uuid,
    currency: Code,
}

impl Claim for Captured {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// The check.
#[derive(Debug)]
pub struct OrderPayments {
    findings: Findings,
    paid: Reconciliation<Paid>,
    captured: Reconciliation<Captured>,
}

impl OrderPayments {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every paid order has exactly its payment rows, and the rows their order";
        Self {
            findings: Findings::new("order-payments", promise, listed_max),
            paid: Reconciliation::of_rows(),
            captured: Reconciliation::of_sums(),
        }
    }
}

impl Check for OrderPayments {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Order(order) => {
                self.findings.looked();
                // What is paid at a provider has a check of its own.
                if order.captured_amount == Figure::ZERO || order.payment_method == "provider" {
                    return;
                }
                if order.payment_method == "hold" {
                    let captured = Captured {
                        client: order.client_id,
                        order: order.order_id,
                        account: order.account_id,
                        currency: Code::of(order.currency),
                    };
                    let sum = order.captured_amount.ten_thousandths().unwrap_or(0);
                    return self.captured.claim_times(Hand::Left, captured, sum, None);
                }
                let paid = Paid {
                    client: order.client_id,
                    order: order.order_id,
                    account: order.account_id,
                    amount: order.captured_amount,
                    currency: Code::of(order.currency),
                };
                self.paid.claim(Hand::Left, paid, None);
            }
            Row::Entry(entry) if entry.kind == HOLD_CAPTURE => {
                let Some(order) = entry.order_id else { return };
                let captured = Captured {
                    client: entry.client_id,
                    order,
                    account: entry.debit.account_id,
                    currency: Code::of(entry.currency),
                };
                let sum = entry.amount.ten_thousandths().unwrap_or(0);
                self.captured.claim_times(Hand::Right, captured, sum, Some(entry.entry_id));
            }
            Row::Entry(entry) => {
                let Some(order) = entry.order_id.filter(|_| entry.kind == ORDER_PAYMENT) else { return };
                let paid = Paid {
                    client: entry.client_id,
                    order,
                    account: entry.debit.account_id,
                    amount: entry.amount,
                    currency: Code::of(entry.currency),
                };
                self.paid.claim(Hand::Right, paid, Some(entry.entry_id));
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        let (paid, captured) = (self.paid.search(), self.captured.search());
        paid || captured
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.paid.conclude(),
            |paid| (paid.client, format!("order {}", paid.order)),
            |paid| format!("a payment of {} {} from account {}", paid.amount, paid.currency, paid.account),
        );
        let captured = self.captured.conclude();
        report_limits(&mut self.findings, &captured);
        for unmatched in captured.places.values().flatten() {
            let Captured { client, order, account, currency } = unmatched.claim;
            self.findings.differs(|| Difference {
                client_id: client,
                subject: format!("order {order}"),
                expected: format!(
                    "captures of {} {currency} from account {account}",
                    Figure::TenThousandths(unmatched.left)
                ),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        vec![self.findings.conclude()]
    }
}
