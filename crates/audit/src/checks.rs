//! The checks, a file for each. Those of [`balances`] come first: with them stands everything else.

pub mod answers;
pub mod asked_refunds;
pub mod balances;
pub mod business_keys;
pub mod collecting;
pub mod collecting_names;
pub mod entries;
pub mod event_states;
pub mod events;
pub mod holds;
pub mod item_prices;
pub mod journal_keys;
pub mod kept_events;
pub mod known_accounts;
pub mod movements;
pub mod order_amounts;
pub mod order_holds;
pub mod order_payments;
pub mod order_versions;
pub mod payments;
pub mod receipts;
pub mod records;
pub mod refunds;
pub mod stock;
pub mod trial_balance;

use uuid::Uuid;

use crate::reconciliation::{Claim, Leftover, Unmatched};
use crate::report::{Difference, Findings};

/// Reports, for each place where the rows of two tables differ, what the left one calls for and the right one has.
fn report_rows<T: Claim>(
    findings: &mut Findings,
    leftover: Leftover<T>,
    subject: impl Fn(&T) -> (Uuid, String),
    words: impl Fn(&T) -> String,
) {
    report_limits(findings, &leftover);
    for unmatched in leftover.places.values() {
        findings.differs(|| {
            let (client_id, subject) = subject(&unmatched[0].claim);
            let said = |more: fn(&Unmatched<T>) -> i128| listed(unmatched, more, &words);
            let (expected, found) = (said(|one| one.left - one.right), said(|one| one.right - one.left));
            Difference { client_id, subject, expected, found }
        });
    }
}

/// Says where a reconciliation could not name all that differs.
fn report_limits<T: Claim>(findings: &mut Findings, leftover: &Leftover<T>) {
    if leftover.may_be_more {
        findings.may_be_more();
    }
    if leftover.given_up {
        findings.differs(|| Difference {
            client_id: Uuid::nil(),
            subject: "more rows than can be listed".to_owned(),
            expected: "each with its counterpart".to_owned(),
            found: "so many without that none is named".to_owned(),
        });
    }
}

fn listed<T: Claim>(
    unmatched: &[Unmatched<T>],
    more: fn(&Unmatched<T>) -> i128,
    words: &impl Fn(&T) -> String,
) -> String {
    let mut list: Vec<String> = unmatched
        .iter()
        .filter_map(|one| match more(one) {
            ..=0 => None,
            1 => Some(words(&one.claim)),
            times => Some(format!("{times} times {}", words(&one.claim))),
        })
        .collect();
    list.sort();
    if list.is_empty() { "nothing".to_owned() } else { list.join(", and ") }
}
