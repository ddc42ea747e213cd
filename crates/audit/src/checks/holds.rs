//! What an account has held is the sum of its active holds.
//!
//! Nothing can hold yet, so no row stands on the left side, and every account must have nothing held. A table of holds
//! is one more arm in `see`: its active rows claim their amounts there.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::Row;

use super::report_limits;

/// What an account has held.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    client: Uuid,
    account: Uuid,
}

impl Claim for Held {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.account)
    }
}

/// The check.
#[derive(Debug)]
pub struct Holds {
    findings: Findings,
    sums: Reconciliation<Held>,
}

impl Holds {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "what is held equals the active holds";
        Self { findings: Findings::new("holds", promise, listed_max), sums: Reconciliation::of_sums() }
    }
}

impl Check for Holds {
    fn see(&mut self, row: &Row<'_>) {
        let Row::Account(account) = row else { return };
        self.findings.looked();
        let held = Held { client: account.client_id, account: account.account_id };
        self.sums.claim_times(Hand::Right, held, account.held.ten_thousandths().unwrap_or(0), None);
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
                subject: format!("account {}", unmatched.claim.account),
                expected: format!("{} held, as its active holds", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        vec![self.findings.conclude()]
    }
}
