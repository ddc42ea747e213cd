//! Debits equal credits, for each client and currency: over what the balances and the roll-ups say, which is not the
//! journal. What customers have, and what collecting accounts were credited, is what collecting accounts were debited.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::Row;
use crate::vocabulary::Code;

use super::collecting_names::CollectingNames;
use super::report_limits;

/// A client's books in one currency.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Books {
    client: Uuid,
    currency: Code,
}

impl Claim for Books {
    type Place = (Uuid, Code);

    fn place(&self) -> (Uuid, Code) {
        (self.client, self.currency)
    }
}

/// The check.
#[derive(Debug)]
pub struct TrialBalance {
    findings: Findings,
    collecting: CollectingNames,
    sums: Reconciliation<Books>,
}

impl TrialBalance {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "debits equal credits, for each client and currency";
        Self {
            findings: Findings::new("trial-balance", promise, listed_max),
            collecting: CollectingNames::default(),
            sums: Reconciliation::of_sums(),
        }
    }

    fn add(&mut self, hand: Hand, client: Uuid, currency: Code, figure: Figure) {
        // What is no number counts for nothing, and is a difference of the check that sees its row.
        let sum = figure.ten_thousandths().unwrap_or(0);
        self.sums.claim_times(hand, Books { client, currency }, sum, None);
    }
}

impl Check for TrialBalance {
    fn see(&mut self, row: &Row<'_>) {
        self.collecting.see(row);
        match row {
            Row::Account(account) => {
                self.findings.looked();
                let currency = Code::of(account.currency);
                let balance = account.available.plus(account.held);
                self.add(Hand::Right, account.client_id, currency, balance);
            }
            Row::Total(total) => {
                self.findings.looked();
                let named = self.collecting.find(total.client_id, total.account_id);
                let Some((_, currency)) = named else { return };
                self.add(Hand::Left, total.client_id, currency, total.debits);
                self.add(Hand::Right, total.client_id, currency, total.credits);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.sums.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let leftover = self.sums.conclude();
        report_limits(&mut self.findings, &leftover);
        for unmatched in leftover.places.values().flatten() {
            self.findings.differs(|| Difference {
                client_id: unmatched.claim.client,
                subject: format!("books in {}", unmatched.claim.currency),
                expected: format!("credits of {}, as the debits", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        vec![self.findings.conclude()]
    }
}
