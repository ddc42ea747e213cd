//! Every order that is paid at a provider has exactly one payment, of its amount and in the state that fits its own; what
//! was captured of it, less what was given back, is what its receipts' rows have put into revenue. What a delivery has led
//! a payment to stays so. And every question
//! that a receipt says is open is an open alert, and the other way round.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Delivery, Order, Payment, Row};
use crate::transitions::{payment_after, payment_states};
use crate::vocabulary::{CLEARING, Code};

use super::collecting_names::CollectingNames;
use super::{report_limits, report_rows};

/// That an order is to be paid at a provider.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct AtProvider {
    client: Uuid,
    order: Uuid,
    amount: Figure,
    currency: Code,
}

impl Claim for AtProvider {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// What an order has earned through receipts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Earned {
    client: Uuid,
    order: Uuid,
    currency: Code,
}

impl Claim for Earned {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.order)
    }
}

/// That a person is asked about a receipt.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked {
    client: Uuid,
    receipt: Uuid,
    alert: Uuid,
}

impl Claim for Asked {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.receipt)
    }
}

/// The check.
#[derive(Debug)]
pub struct Payments {
    findings: Findings,
    alert_findings: Findings,
    collecting: CollectingNames,
    at_providers: Reconciliation<AtProvider>,
    earned: Reconciliation<Earned>,
    asked: Reconciliation<Asked>,
}

impl Payments {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every order at a provider has its payment, and has earned what its receipts say";
        let of_alerts = "every question that a receipt has open is an open alert, and the other way round";
        Self {
            findings: Findings::new("payments", promise, listed_max),
            alert_findings: Findings::new("alerts", of_alerts, listed_max),
            collecting: CollectingNames::default(),
            at_providers: Reconciliation::of_rows(),
            earned: Reconciliation::of_sums(),
            asked: Reconciliation::of_rows(),
        }
    }

    fn order(&mut self, order: &Order<'_>) {
        if order.payment_method != "provider" {
            return;
        }
        let (client, currency) = (order.client_id, Code::of(order.currency));
        let at_provider = AtProvider { client, order: order.order_id, amount: order.amount, currency };
        self.at_providers.claim(Hand::Left, at_provider, None);
        let figures = (order.captured_amount.ten_thousandths(), order.refunded_amount.ten_thousandths());
        if let (Some(captured), Some(refunded)) = figures
            && captured != refunded
        {
            let earned = Earned { client, order: order.order_id, currency };
            self.earned.claim_times(Hand::Left, earned, captured - refunded, None);
        }
    }

    fn payment(&mut self, payment: &Payment<'_>) {
        self.findings.looked();
        let (Some(order), Some(amount), Some(currency)) =
            (payment.order_id, payment.amount, payment.currency)
        else {
            if payment.status != "parked" {
                self.findings.row_differs(|| Difference {
                    client_id: payment.client_id,
                    subject: format!("payment {:?}", payment.payment_no),
                    expected: "an order and an amount, unless it is parked".to_owned(),
                    found: payment.status.to_owned(),
                });
            }
            return;
        };
        let at_provider =
            AtProvider { client: payment.client_id, order, amount, currency: Code::of(currency) };
        self.at_providers.claim(Hand::Right, at_provider, None);
        if let Some(expires_at) = payment.order_expires_at
            && payment.expires_at != Some(expires_at)
        {
            self.findings.row_differs(|| Difference {
                client_id: payment.client_id,
                subject: format!("payment {:?}", payment.payment_no),
                expected: format!("one until {expires_at}, as its order"),
                found: payment.expires_at.map_or("one for ever".to_owned(), |at| format!("one until {at}")),
            });
        }
        // Both end in one transaction. An order that is not there is told of by its claim.
        let Some(order_status) = payment.order_status else { return };
        let fitting = payment_states(order_status);
        if !fitting.contains(&payment.status) {
            self.findings.row_differs(|| Difference {
                client_id: payment.client_id,
                subject: format!("payment {:?}", payment.payment_no),
                expected: format!("{}, as its order is {order_status}", fitting.join(" or ")),
                found: payment.status.to_owned(),
            });
        }
    }

    /// What a delivery has led a payment to, that stays so.
    fn delivery(&mut self, delivery: &Delivery<'_>) {
        let (Some(after), Some(status)) = (payment_after(delivery.effect), delivery.payment_status) else {
            return;
        };
        if status != after {
            self.findings.row_differs(|| Difference {
                client_id: delivery.client_id,
                subject: format!("the payment of delivery {}", delivery.delivery_id),
                expected: format!("{after}, as it was {} by it", delivery.effect),
                found: status.to_owned(),
            });
        }
    }
}

impl Check for Payments {
    fn see(&mut self, row: &Row<'_>) {
        self.collecting.see(row);
        match row {
            Row::Order(order) => self.order(order),
            Row::Payment(payment) => self.payment(payment),
            Row::Delivery(delivery) => self.delivery(delivery),
            Row::Entry(entry) => {
                let (Some(order), Some(_)) = (entry.order_id, entry.receipt_id) else { return };
                let Some(amount) = entry.amount.ten_thousandths() else { return };
                let earned = Earned { client: entry.client_id, order, currency: Code::of(entry.currency) };
                for (account, sum) in [(entry.debit.account_id, -amount), (entry.credit.account_id, amount)] {
                    let name = self.collecting.find(entry.client_id, account).map(|(name, _)| name);
                    if name == Some("revenue") {
                        self.earned.claim_times(Hand::Right, earned.clone(), sum, Some(entry.entry_id));
                    }
                }
            }
            Row::Receipt(receipt) => {
                if let Some(alert) = receipt.open_alert_id {
                    let asked = Asked { client: receipt.client_id, receipt: receipt.receipt_id, alert };
                    self.asked.claim(Hand::Left, asked, None);
                }
            }
            Row::Alert(alert) => {
                self.alert_findings.looked();
                // Other alerts stand beside the receipt's own question.
                let is_own = alert.cause.starts_with("receipt:");
                if let Some(receipt) = alert.receipt_id.filter(|_| is_own && alert.status == "open") {
                    let asked = Asked { client: alert.client_id, receipt, alert: alert.alert_id };
                    self.asked.claim(Hand::Right, asked, None);
                }
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.alert_findings.search();
        let searching = [self.at_providers.search(), self.earned.search(), self.asked.search()];
        searching.contains(&true)
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.at_providers.conclude(),
            |one| (one.client, format!("order {}", one.order)),
            |one| format!("a payment of {} {}", one.amount, one.currency),
        );
        let leftover = self.earned.conclude();
        report_limits(&mut self.findings, &leftover);
        for unmatched in leftover.places.values().flatten() {
            let told = |sum| format!("{} {}", Figure::TenThousandths(sum), unmatched.claim.currency);
            self.findings.differs(|| Difference {
                client_id: unmatched.claim.client,
                subject: format!("order {}, earned through {CLEARING}…", unmatched.claim.order),
                expected: told(unmatched.left),
                found: told(unmatched.right),
            });
        }
        report_rows(
            &mut self.alert_findings,
            self.asked.conclude(),
            |one| (one.client, format!("receipt {}", one.receipt)),
            |one| format!("the open alert {}", one.alert),
        );
        vec![self.findings.conclude(), self.alert_findings.conclude()]
    }
}
