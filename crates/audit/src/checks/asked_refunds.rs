//! Every refund that a provider is asked for is the refund of its order, of money that is there, and has what its status
//! says: the provider has told of one that succeeded, and its items are back; a person was asked about one that failed.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{AskedRefund, Row};
use crate::vocabulary::Code;

use super::report_rows;

/// That an order's money is to be given back by its provider.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OfOrder {
    client: Uuid,
    refund: Uuid,
    order: Uuid,
    amount: Figure,
    currency: Code,
}

impl Claim for OfOrder {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.refund)
    }
}

/// The check.
#[derive(Debug)]
pub struct AskedRefunds {
    findings: Findings,
    of_orders: Reconciliation<OfOrder>,
}

impl AskedRefunds {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise =
            "every refund that a provider is asked for is its order's, and has what its status says";
        Self {
            findings: Findings::new("asked-refunds", promise, listed_max),
            of_orders: Reconciliation::of_rows(),
        }
    }

    fn asked(&mut self, asked: &AskedRefund<'_>) {
        self.findings.looked();
        for (expected, found) in broken(asked) {
            self.findings.row_differs(|| Difference {
                client_id: asked.client_id,
                subject: format!("refund {}", asked.refund_id),
                expected,
                found,
            });
        }
        if let Some(order) = asked.order_id {
            let (client, refund, currency) = (asked.client_id, asked.refund_id, Code::of(asked.currency));
            let of_order = OfOrder { client, refund, order, amount: asked.amount, currency };
            self.of_orders.claim(Hand::Right, of_order, None);
        }
    }
}

/// What a refund breaks by itself: what should be there, and what is.
fn broken(asked: &AskedRefund<'_>) -> Vec<(String, String)> {
    let mut broken = Vec::new();
    if !asked.has_receipt {
        let expected = format!("a receipt in {} whose money it is", asked.currency);
        broken.push((expected, "none".to_owned()));
    }
    if asked.order_id.is_some()
        && !matches!(asked.order_status, Some("paid" | "partially_refunded" | "refunded"))
    {
        let found = asked.order_status.map_or("none".to_owned(), |status| format!("one that is {status}"));
        broken.push(("an order that was paid".to_owned(), found));
    }
    // It is made to be asked for; whatever it is told of later makes a version.
    if asked.version == 1 && asked.status != "pending" {
        broken.push(("pending, as every refund in its first version".to_owned(), asked.status.to_owned()));
    }
    if asked.status == "succeeded" && !asked.items_back && asked.has_items_left {
        broken.push(("items that are back, as the money is".to_owned(), "items that are not".to_owned()));
    }
    match asked.status {
        "pending" | "unknown" => {}
        "succeeded" => {
            if let Some((back, told)) = asked.untold {
                let expected = format!("{back} {} that the provider has told of as back", asked.currency);
                broken.push((expected, told.to_string()));
            }
        }
        "failed" if asked.failure_was_raised => {}
        "failed" => broken.push(("an alert about its failure".to_owned(), "none".to_owned())),
        other => broken.push(("pending, unknown, succeeded or failed".to_owned(), other.to_owned())),
    }
    broken
}

impl Check for AskedRefunds {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::AskedRefund(asked) => self.asked(asked),
            // One that goes back to an account has succeeded when it is made.
            Row::Refund(refund) if refund.status == "pending" => {
                let of_order = OfOrder {
                    client: refund.client_id,
                    refund: refund.refund_id,
                    order: refund.order_id,
                    amount: refund.amount,
                    currency: Code::of(refund.currency),
                };
                self.of_orders.claim(Hand::Left, of_order, None);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.of_orders.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.of_orders.conclude(),
            |one| (one.client, format!("refund {}", one.refund)),
            |one| format!("{} {} of order {}, asked for", one.amount, one.currency, one.order),
        );
        vec![self.findings.conclude()]
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn asked(status: &'static str) -> AskedRefund<'static> {
        AskedRefund {
            client_id: Uuid::nil(),
            refund_id: Uuid::nil(),
            order_id: Some(Uuid::nil()),
            order_status: Some("paid"),
            currency: "CNY",
            amount: Figure::TenThousandths(10_000),
            status,
            version: if status == "pending" { 1 } else { 2 },
            created_at: DateTime::UNIX_EPOCH,
            has_receipt: true,
            untold: None,
            failure_was_raised: false,
            items_back: status == "succeeded",
            has_items_left: true,
        }
    }

    #[test]
    fn a_refund_that_has_what_its_status_says_passes() {
        for status in ["pending", "unknown", "succeeded"] {
            assert_eq!(broken(&asked(status)), [], "{status}");
        }
        assert_eq!(broken(&AskedRefund { failure_was_raised: true, ..asked("failed") }), []);
        // Its items came back with another refund, which was asked for when this one had failed.
        let too_late = AskedRefund { items_back: false, has_items_left: false, ..asked("succeeded") };
        assert_eq!(broken(&too_late), []);
        let owed_back = AskedRefund { order_id: None, order_status: None, ..asked("succeeded") };
        assert_eq!(broken(&owed_back), []);
    }

    #[test]
    fn one_that_has_not_is_told() {
        let untold = Some((Figure::TenThousandths(10_000), Figure::ZERO));
        for refund in [
            asked("failed"),
            asked("over"),
            AskedRefund { untold, ..asked("succeeded") },
            AskedRefund { items_back: false, ..asked("succeeded") },
            AskedRefund { has_receipt: false, ..asked("pending") },
            AskedRefund { order_status: None, ..asked("pending") },
            AskedRefund { order_status: Some("pending_payment"), ..asked("pending") },
            AskedRefund { version: 1, ..asked("unknown") },
        ] {
            assert_eq!(broken(&refund).len(), 1, "{refund:?}");
        }
    }
}
