//! Every order of which something was taken has exactly one journal row that pays it, of that amount and from its
//! account; and every such row has its order.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Findings};
use crate::row::Row;
use crate::vocabulary::{Code, ORDER_PAYMENT};

use super::report_rows;

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

/// The check.
#[derive(Debug)]
pub struct OrderPayments {
    findings: Findings,
    paid: Reconciliation<Paid>,
}

impl OrderPayments {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every paid order has exactly its payment row, and the row its order";
        Self {
            findings: Findings::new("order-payments", promise, listed_max),
            paid: Reconciliation::of_rows(),
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
                let paid = Paid {
                    client: order.client_id,
                    order: order.order_id,
                    account: order.account_id,
                    amount: order.captured_amount,
                    currency: Code::of(order.currency),
                };
                self.paid.claim(Hand::Left, paid, None);
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
        self.paid.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.paid.conclude(),
            |paid| (paid.client, format!("order {}", paid.order)),
            |paid| format!("a payment of {} {} from account {}", paid.amount, paid.currency, paid.account),
        );
        vec![self.findings.conclude()]
    }
}
