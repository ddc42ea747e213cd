//! Every journal row is what its kind says: who stands on its sides, why it is there, and how fine its amount is.

use money::Currency;

use crate::check::Check;
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Entry, Row, Side};
use crate::vocabulary::{CLEARING, Cause, Party, kind};

use super::collecting_names::CollectingNames;

/// The check.
#[derive(Debug)]
pub struct Entries {
    findings: Findings,
    collecting: CollectingNames,
}

impl Entries {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every journal row has the sides, the cause and the amount that its kind allows";
        Self {
            findings: Findings::new("entries", promise, listed_max),
            collecting: CollectingNames::default(),
        }
    }

    /// What is wrong with the row: what its kind allows, and what it has.
    fn fault(&self, entry: &Entry<'_>) -> Option<(String, String)> {
        let Ok(currency) = Currency::from_code(entry.currency) else {
            return Some(("a currency of ISO 4217".to_owned(), entry.currency.to_owned()));
        };
        let digits = currency.minor_unit();
        let amount = entry.amount.ten_thousandths();
        if !entry.amount.has_at_most(digits) || amount.is_none_or(|amount| amount <= 0) {
            let expected =
                format!("an amount above 0 with {digits} fraction digits at most, as in {currency}");
            return Some((expected, entry.amount.to_string()));
        }
        let Some(kind) = kind(entry.kind) else {
            return Some(("a known kind".to_owned(), entry.kind.to_owned()));
        };
        let causes = [entry.movement_id, entry.order_id, entry.hold_id, entry.receipt_id];
        let causes = causes.map(|cause| cause.is_some());
        let (fits, expected) = match kind.cause {
            Cause::Movement => {
                (causes == [true, false, false, false], "a movement as its cause, and nothing else")
            }
            Cause::Order => {
                (causes == [false, true, false, false], "an order as its cause, and nothing else")
            }
            Cause::HoldOrOrder => (
                causes == [false, true, false, false] || causes == [false, false, true, false],
                "a hold or an order as its cause, and nothing else",
            ),
            Cause::Receipt => {
                (matches!(causes, [false, _, false, true]), "a receipt as its cause, and no movement or hold")
            }
        };
        if !fits {
            let Entry { movement_id, order_id, hold_id, receipt_id, .. } = entry;
            let found = format!(
                "movement {movement_id:?}, order {order_id:?}, hold {hold_id:?}, receipt {receipt_id:?}"
            );
            return Some((expected.to_owned(), found));
        }
        self.side_fault(entry, "debits", entry.debit, kind.debit)
            .or_else(|| self.side_fault(entry, "credits", entry.credit, kind.credit))
    }

    fn side_fault(
        &self,
        entry: &Entry<'_>,
        verb: &str,
        side: Side,
        party: Party,
    ) -> Option<(String, String)> {
        // Which account a side without figures is, and whether it is known, is another check's question.
        let name = self.collecting.find(entry.client_id, side.account_id).map(|(name, _)| name);
        let (expected, fits) = match party {
            Party::Customer => ("a customer's account", side.after.is_some()),
            Party::Clearing => (
                "a provider's clearing account",
                side.after.is_none() && name.is_none_or(|name| name.starts_with(CLEARING)),
            ),
            Party::Held => (
                "what its own account has held",
                side.after.is_none() && entry.debit.account_id == entry.credit.account_id,
            ),
            Party::Collecting(word) => (word, side.after.is_none() && name.is_none_or(|name| name == word)),
        };
        let found = name.unwrap_or("a customer's account");
        (!fits).then(|| (format!("a row that {verb} {expected}"), format!("one that {verb} {found}")))
    }
}

impl Check for Entries {
    fn see(&mut self, row: &Row<'_>) {
        self.collecting.see(row);
        let Row::Entry(entry) = row else { return };
        self.findings.looked();
        if let Some((expected, found)) = self.fault(entry) {
            self.findings.row_differs(|| Difference {
                client_id: entry.client_id,
                subject: format!("journal row {} ({})", entry.entry_id, entry.kind),
                expected,
                found,
            });
        }
    }

    fn conclude(self: Box<Self>) -> Vec<CheckReport> {
        vec![self.findings.conclude()]
    }
}
