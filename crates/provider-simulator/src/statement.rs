//! A provider's settlement statement: the money that came and went, as CSV.

use chrono::SecondsFormat;

use crate::books::Books;
use crate::event::Outcome;
use crate::provider::Provider;

/// The names of the columns.
pub const HEADER: &str = "provider_payment_id,payment_no,amount,currency,kind,time";

/// The statement of one provider, with its header, a line each for what was paid (`payment`) and what went back
/// (`refund`), in the order of time. Amounts are positive, in units of the currency, with a point; times are RFC 3339 in
/// UTC. What was not paid, and refunds that did not go through, are not on it.
pub fn csv(books: &Books, provider: Provider) -> String {
    let mut lines = Vec::new();
    for booked in books.payments().iter().filter(|booked| booked.provider == provider) {
        let payment = &booked.payment;
        let refunds = booked
            .refunds
            .iter()
            .filter(|one| one.refund.outcome == Outcome::Done)
            .map(|one| (one.at, one.refund.amount, "refund"));
        for (at, amount, kind) in
            booked.paid_at().map(|at| (at, payment.amount, "payment")).into_iter().chain(refunds)
        {
            let decimals = crate::amount::iso_decimals(&payment.currency);
            let amount = amount.text(decimals).unwrap_or_else(|| amount.to_string());
            let line = format!(
                "{},{},{amount},{},{kind},{}",
                payment.provider_payment_id,
                payment.payment_no,
                payment.currency,
                at.to_rfc3339_opts(SecondsFormat::Millis, true)
            );
            lines.push((at, line));
        }
    }
    // Lines of one moment keep the order of the books.
    lines.sort_by_key(|(at, _)| *at);
    let body = lines.into_iter().map(|(_, line)| line + "\n");
    std::iter::once(format!("{HEADER}\n")).chain(body).collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::books::{Entry, Happened};
    use crate::event::samples::{amount, at};

    #[test]
    fn it_lists_the_money_that_moved_in_the_order_of_time() {
        let mut books = Books::default();
        let mut happen = |payment_no: &str, minutes: i64, happened| {
            books
                .apply(&Entry {
                    at: at() + TimeDelta::minutes(minutes),
                    provider: Provider::Standard,
                    payment_no: payment_no.to_owned(),
                    nth: 1,
                    amount: amount("88.8"),
                    currency: "CNY".to_owned(),
                    happened,
                })
                .unwrap();
        };
        let refund = |refund_no: &str, outcome| Happened::Refunded {
            refund_no: refund_no.to_owned(),
            amount: amount("10"),
            outcome,
        };
        happen("P-1", 0, Happened::Paid);
        happen("P-2", 1, Happened::Paid);
        happen("P-3", 2, Happened::Failed);
        happen("P-1", 3, refund("R-1", Outcome::Done));
        happen("P-1", 4, refund("R-2", Outcome::Closed));
        let id = |payment_no| crate::ids::payment(Provider::Standard, payment_no, 1);
        assert_eq!(
            csv(&books, Provider::Standard),
            format!(
                "{HEADER}\n\
                 {},P-1,88.80,CNY,payment,2026-11-28T23:59:58.000Z\n\
                 {},P-2,88.80,CNY,payment,2026-11-29T00:00:58.000Z\n\
                 {},P-1,10.00,CNY,refund,2026-11-29T00:02:58.000Z\n",
                id("P-1"),
                id("P-2"),
                id("P-1")
            )
        );
        assert_eq!(csv(&books, Provider::Stripe), format!("{HEADER}\n"));
    }
}
