//! The roll-up of every collecting account is the sum of its journal rows, debits and credits each.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Row, Side};

use super::collecting_names::CollectingNames;
use super::report_limits;

/// What a collecting account was debited or credited.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Collected {
    client: Uuid,
    account: Uuid,
    debits: bool,
}

impl Claim for Collected {
    type Place = (Uuid, Uuid, bool);

    fn place(&self) -> (Uuid, Uuid, bool) {
        (self.client, self.account, self.debits)
    }
}

/// The check.
#[derive(Debug)]
pub struct Collecting {
    findings: Findings,
    names: CollectingNames,
    sums: Reconciliation<Collected>,
}

impl Collecting {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every roll-up of a collecting account equals its journal rows";
        Self {
            findings: Findings::new("roll-ups", promise, listed_max),
            names: CollectingNames::default(),
            sums: Reconciliation::of_sums(),
        }
    }

    fn add(&mut self, hand: Hand, client: Uuid, account: Uuid, debits: bool, figure: Figure) {
        let sum = figure.ten_thousandths().unwrap_or(0);
        self.sums.claim_times(hand, Collected { client, account, debits }, sum, None);
    }

    fn side(&mut self, client: Uuid, side: Side, debits: bool, amount: Figure) {
        if side.after.is_none() && self.names.find(client, side.account_id).is_some() {
            self.add(Hand::Left, client, side.account_id, debits, amount);
        }
    }
}

impl Check for Collecting {
    fn see(&mut self, row: &Row<'_>) {
        self.names.see(row);
        match row {
            Row::Entry(entry) => {
                self.side(entry.client_id, entry.debit, true, entry.amount);
                self.side(entry.client_id, entry.credit, false, entry.amount);
            }
            Row::Total(total) => {
                self.findings.looked();
                self.add(Hand::Right, total.client_id, total.account_id, true, total.debits);
                self.add(Hand::Right, total.client_id, total.account_id, false, total.credits);
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
            let Collected { client, account, debits } = unmatched.claim;
            let word = if debits { "debits" } else { "credits" };
            let names = &self.names;
            self.findings.differs(|| Difference {
                client_id: client,
                subject: match names.find(client, account) {
                    Some((name, currency)) => format!("collecting account {name} {currency} ({account})"),
                    None => format!("collecting account {account}"),
                },
                expected: format!(
                    "{word} of {}, as its journal rows",
                    Figure::TenThousandths(unmatched.left)
                ),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        vec![self.findings.conclude()]
    }
}
