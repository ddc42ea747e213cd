//! Every balance equals its journal rows, and every row's figures follow from the row before.
//!
//! The rows of an account are a chain. Each link says which version it makes and what the account has then; and, since
//! its amount is known, from which version and figures it came. An account begins at version 0 with nothing, and ends
//! with what its balance row says. So what is arrived at, by rows and beginnings, must be what is departed from, by
//! rows and balances: each version of each account once. If that holds, the chain has no gap, no fork and no false
//! step, and leads from nothing to the balance. It takes no order to see it.

use std::collections::HashSet;

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation, Unmatched};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Account, After, Entry, Row, Side};
use crate::vocabulary::moved;

use super::report_limits;

/// Whose account, which one.
type Place = (Uuid, Uuid);

/// That an account had this, at this version.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Standing {
    account: Place,
    at: After,
}

impl Claim for Standing {
    type Place = Place;

    fn place(&self) -> Place {
        self.account
    }
}

/// The check.
#[derive(Debug)]
pub struct Balances {
    balances: Findings,
    figures: Findings,
    chain: Reconciliation<Standing>,
    /// Of the accounts that are searched, those that there are. Rows of others are told of by another check.
    there: HashSet<Place>,
}

impl Balances {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        Self {
            balances: Findings::new("balances", "every balance equals its journal rows", listed_max),
            figures: Findings::new(
                "figures",
                "every row's figures follow from the row before it",
                listed_max,
            ),
            chain: Reconciliation::of_rows(),
            there: HashSet::new(),
        }
    }

    fn account(&mut self, account: &Account<'_>) {
        self.balances.looked();
        let place = (account.client_id, account.account_id);
        if account.closed && (account.available, account.held) != (Figure::ZERO, Figure::ZERO) {
            self.balances.row_differs(|| Difference {
                client_id: account.client_id,
                subject: format!("account {}", account.account_id),
                expected: "nothing on a closed account".to_owned(),
                found: format!("{} available, {} held", account.available, account.held),
            });
        }
        if self.chain.is_searched(&place) {
            self.there.insert(place);
        }
        let nothing = After { version: 0, available: Figure::ZERO, held: Figure::ZERO };
        self.chain.claim(Hand::Left, Standing { account: place, at: nothing }, None);
        // Closing makes a version without a row, and it is the last.
        let version = account.version - i64::from(account.closed);
        let at = After { version, available: account.available, held: account.held };
        self.chain.claim(Hand::Right, Standing { account: place, at }, None);
    }

    fn side(&mut self, entry: &Entry<'_>, side: Side, backwards: fn(Figure, Figure) -> Figure) {
        let Some(after) = side.after else { return };
        self.figures.looked();
        let account = (entry.client_id, side.account_id);
        let (available, held) = moved(entry.kind, entry.amount);
        let before = After {
            version: after.version.wrapping_sub(1),
            available: backwards(after.available, available),
            held: backwards(after.held, held),
        };
        let row = Some(entry.entry_id);
        self.chain.claim(Hand::Right, Standing { account, at: before }, row);
        self.chain.claim(Hand::Left, Standing { account, at: after }, row);
    }

    /// Of an account's claims that nothing answers, the lowest arrival belongs to the lowest departure: between the two
    /// the chain is broken.
    fn report(&mut self, (client_id, account_id): Place, unmatched: &[Unmatched<Standing>]) {
        let mut arrivals: Vec<_> = unmatched.iter().filter(|one| one.left > one.right).collect();
        let mut departures: Vec<_> = unmatched.iter().filter(|one| one.right > one.left).collect();
        arrivals.sort_by_key(|one| one.claim.at);
        departures.sort_by_key(|one| one.claim.at);
        let subject = format!("account {account_id}");
        let breaks = arrivals.len().max(departures.len());
        for number in 0..breaks {
            let (arrival, departure) = (arrivals.get(number), departures.get(number));
            // A balance is the only departure that no row makes.
            let is_balance = departure.is_some_and(|departure| departure.row.is_none());
            let findings = if is_balance { &mut self.balances } else { &mut self.figures };
            findings.differs(|| Difference {
                client_id,
                subject: subject.clone(),
                expected: arrival.map_or("nothing".to_owned(), |arrival| words(&arrival.claim.at)),
                found: match departure {
                    None => "nothing that follows".to_owned(),
                    Some(Unmatched { claim, row: Some(row), .. }) => {
                        format!("journal row {row}, which follows on {}", words(&claim.at))
                    }
                    Some(Unmatched { claim, row: None, .. }) => words(&claim.at),
                },
            });
        }
    }
}

fn words(at: &After) -> String {
    format!("version {} with {} available, {} held", at.version, at.available, at.held)
}

impl Check for Balances {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Account(account) => self.account(account),
            Row::Entry(entry) => {
                self.side(entry, entry.credit, Figure::minus);
                self.side(entry, entry.debit, Figure::plus);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.balances.search();
        self.figures.search();
        self.chain.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let chain = std::mem::replace(&mut self.chain, Reconciliation::of_rows());
        let leftover = chain.conclude();
        report_limits(&mut self.figures, &leftover);
        for (place, unmatched) in &leftover.places {
            if self.there.contains(place) {
                self.report(*place, unmatched);
            }
        }
        vec![self.balances.conclude(), self.figures.conclude()]
    }
}
