//! What providers say they received and gave back stands where its receipt says, and nowhere else: in clearing, in
//! revenue, among what is owed back, among what has paid nothing.
//!
//! Each receipt's journal rows are added up for each of these accounts and compared with its own figures. So for each
//! provider and currency clearing is what was received less what was given back, and nothing received is unbooked.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Entry, Receipt, Row};
use crate::vocabulary::{CLEARING, Code, REFUNDS_OWED, UNAPPLIED, is_open};

use super::collecting_names::CollectingNames;
use super::report_limits;

/// What a receipt's money adds up to in an account.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Standing {
    client: Uuid,
    receipt: Uuid,
    account: Box<str>,
    currency: Code,
}

impl Claim for Standing {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.receipt)
    }
}

/// The check.
#[derive(Debug)]
pub struct Receipts {
    findings: Findings,
    collecting: CollectingNames,
    standings: Reconciliation<Standing>,
}

impl Receipts {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every receipt's money stands where the receipt says: clearing is what providers have";
        Self {
            findings: Findings::new("receipts", promise, listed_max),
            collecting: CollectingNames::default(),
            standings: Reconciliation::of_sums(),
        }
    }

    fn receipt(&mut self, receipt: &Receipt<'_>) {
        self.findings.looked();
        let Some(funds) = receipt.funds else { return };
        let currency = Code::of(funds.currency);
        let figures = [funds.received, funds.refunded, funds.applied, funds.owed];
        let Some([received, refunded, applied, owed]) = ten_thousandths(figures) else {
            return self.findings.row_differs(|| Difference {
                client_id: receipt.client_id,
                subject: format!("receipt {}", receipt.receipt_id),
                expected: "amounts of money".to_owned(),
                found: format!("{figures:?}"),
            });
        };
        let unapplied = received - refunded - applied - owed;
        let clearing = format!("{CLEARING}{}", receipt.provider);
        for (account, sum) in [
            (clearing.as_str(), -(received - refunded)),
            ("revenue", applied),
            (REFUNDS_OWED, owed),
            (UNAPPLIED, unapplied),
        ] {
            let standing = Standing {
                client: receipt.client_id,
                receipt: receipt.receipt_id,
                account: account.into(),
                currency,
            };
            if sum != 0 {
                self.standings.claim_times(Hand::Left, standing, sum, None);
            }
        }
        // A person must be asked, as long as nobody has decided.
        let is_asked_for = matches!(receipt.state, "mismatched" | "late" | "excess");
        if is_asked_for && unapplied != 0 && receipt.open_alert_id.is_none() {
            self.findings.row_differs(|| Difference {
                client_id: receipt.client_id,
                subject: format!("receipt {}", receipt.receipt_id),
                expected: "an open alert about it".to_owned(),
                found: format!("none, and it is {}", receipt.state),
            });
        }
        if is_open(receipt.state).is_none() {
            self.findings.row_differs(|| Difference {
                client_id: receipt.client_id,
                subject: format!("receipt {}", receipt.receipt_id),
                expected: "a known state".to_owned(),
                found: receipt.state.to_owned(),
            });
        }
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        let Some(receipt) = entry.receipt_id else { return };
        let Some(amount) = entry.amount.ten_thousandths() else { return };
        let sides = [(entry.debit.account_id, -amount), (entry.credit.account_id, amount)];
        for (account_id, sum) in sides {
            let name = self.collecting.find(entry.client_id, account_id).map(|(name, _)| name);
            let standing = Standing {
                client: entry.client_id,
                receipt,
                account: name.unwrap_or("no collecting account").into(),
                currency: Code::of(entry.currency),
            };
            self.standings.claim_times(Hand::Right, standing, sum, Some(entry.entry_id));
        }
    }
}

fn ten_thousandths<const N: usize>(figures: [Figure; N]) -> Option<[i128; N]> {
    let mut units = [0; N];
    for (unit, figure) in units.iter_mut().zip(figures) {
        *unit = figure.ten_thousandths()?;
    }
    Some(units)
}

impl Check for Receipts {
    fn see(&mut self, row: &Row<'_>) {
        self.collecting.see(row);
        match row {
            Row::Receipt(receipt) => self.receipt(receipt),
            Row::Entry(entry) => self.entry(entry),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.standings.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let leftover = self.standings.conclude();
        report_limits(&mut self.findings, &leftover);
        for unmatched in leftover.places.values() {
            let told = |sum: fn(&crate::reconciliation::Unmatched<Standing>) -> i128| {
                let mut list: Vec<String> = unmatched
                    .iter()
                    .map(|one| {
                        let figure = Figure::TenThousandths(sum(one));
                        format!("{figure} {} in {}", one.claim.currency, one.claim.account)
                    })
                    .collect();
                list.sort();
                list.join(", ")
            };
            self.findings.differs(|| Difference {
                client_id: unmatched[0].claim.client,
                subject: format!("receipt {}", unmatched[0].claim.receipt),
                expected: told(|one| one.left),
                found: told(|one| one.right),
            });
        }
        vec![self.findings.conclude()]
    }
}
