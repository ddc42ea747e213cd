//! What was taken of an order is no more than its amount, what was given back no more than what was taken, and its
//! status fits both.

use money::Currency;

use crate::check::Check;
use crate::figure::Figure;
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Order, Row};

/// The check.
#[derive(Debug)]
pub struct OrderAmounts {
    findings: Findings,
}

impl OrderAmounts {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "refunded ≤ captured ≤ amount, as the order's status allows";
        Self { findings: Findings::new("order-amounts", promise, listed_max) }
    }
}

/// What the order breaks, in words; nothing if it breaks nothing.
fn broken(order: &Order<'_>) -> Option<&'static str> {
    let Ok(currency) = Currency::from_code(order.currency) else { return Some("a currency of ISO 4217") };
    let figures = [order.amount, order.captured_amount, order.refunded_amount];
    if !figures.iter().all(|figure| figure.has_at_most(currency.minor_unit())) {
        return Some("amounts that are no finer than their currency");
    }
    let [amount, captured, refunded] = figures;
    // A person may accept more than was asked for at a provider.
    let within = captured <= amount || order.payment_method == "provider";
    if !(Figure::ZERO <= refunded && refunded <= captured && within && amount > Figure::ZERO) {
        return Some("0 ≤ refunded ≤ captured ≤ amount");
    }
    if order.payment_method == "balance" && captured != amount {
        return Some("all captured at once, as paid from the balance");
    }
    let nothing = Figure::ZERO;
    let expires = order.expires_at.is_some();
    let fits = match order.payment_method {
        "balance" => !expires,
        "hold" => expires,
        // Those that were placed before orders had such a time have none.
        _ => true,
    };
    if !fits {
        return Some("a time at which it expires, unless it is paid from the balance");
    }
    match order.status {
        "pending_payment" if captured != nothing => Some("nothing captured before the payment"),
        "authorized" | "cancelled" | "expired" if refunded != nothing => Some("nothing refunded"),
        "paid" if captured == nothing || refunded != nothing => Some("captured, and nothing refunded"),
        "partially_refunded" if refunded == nothing || refunded == captured => Some("a part refunded"),
        "refunded" if captured == nothing || refunded != captured => Some("all refunded that was captured"),
        "pending_payment" | "authorized" | "cancelled" | "expired" | "paid" | "partially_refunded"
        | "refunded" => None,
        _ => Some("a known status"),
    }
}

impl Check for OrderAmounts {
    fn see(&mut self, row: &Row<'_>) {
        let Row::Order(order) = row else { return };
        self.findings.looked();
        if let Some(expected) = broken(order) {
            self.findings.row_differs(|| Difference {
                client_id: order.client_id,
                subject: format!("order {}", order.order_id),
                expected: expected.to_owned(),
                found: format!(
                    "amount {}, captured {}, refunded {}, {} {}",
                    order.amount, order.captured_amount, order.refunded_amount, order.status, order.currency
                ),
            });
        }
    }

    fn conclude(self: Box<Self>) -> Vec<CheckReport> {
        vec![self.findings.conclude()]
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;

    fn order(status: &'static str, [amount, captured, refunded]: [i128; 3]) -> Order<'static> {
        let figure = |yuan: i128| Figure::TenThousandths(yuan * 10_000);
        Order {
            client_id: Uuid::nil(),
            order_id: Uuid::nil(),
            client_order_no: "A-1",
            account_id: Uuid::nil(),
            currency: "CNY",
            amount: figure(amount),
            captured_amount: figure(captured),
            refunded_amount: figure(refunded),
            payment_method: "hold",
            status,
            expires_at: Some(DateTime::UNIX_EPOCH),
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn amounts_that_fit_the_status_pass() {
        let table = [
            ("pending_payment", [10, 0, 0]),
            ("authorized", [10, 4, 0]),
            ("paid", [10, 4, 0]),
            ("partially_refunded", [10, 10, 3]),
            ("refunded", [10, 4, 4]),
            ("cancelled", [10, 0, 0]),
            ("expired", [10, 4, 0]),
        ];
        for (status, amounts) in table {
            assert_eq!(broken(&order(status, amounts)), None, "{status} {amounts:?}");
        }
    }

    #[test]
    fn amounts_that_do_not_are_told() {
        let table = [
            ("pending_payment", [10, 1, 0]),
            ("authorized", [10, 4, 1]),
            ("paid", [10, 0, 0]),
            ("paid", [10, 11, 0]),
            ("paid", [10, 10, 1]),
            ("partially_refunded", [10, 10, 10]),
            ("refunded", [10, 10, 11]),
            ("refunded", [10, 10, 9]),
            ("somewhere", [10, 10, 0]),
        ];
        for (status, amounts) in table {
            assert!(broken(&order(status, amounts)).is_some(), "{status} {amounts:?}");
        }
        assert_eq!(broken(&Order { payment_method: "provider", ..order("paid", [10, 11, 0]) }), None);
        assert!(broken(&Order { expires_at: None, ..order("paid", [10, 10, 0]) }).is_some());
        let at_once = Order { payment_method: "balance", ..order("paid", [10, 10, 0]) };
        assert!(broken(&at_once).is_some());
        assert_eq!(broken(&Order { expires_at: None, ..at_once }), None);
        let in_part = Order { expires_at: None, payment_method: "balance", ..order("paid", [10, 4, 0]) };
        assert!(broken(&in_part).is_some());
    }
}
