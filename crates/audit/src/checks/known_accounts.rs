//! Both sides of every row are accounts of its client, in its currency.
//!
//! A customer's account has as many rows as versions, each in its currency: so often it claims to be named. How often
//! it *is* named is not told here, for a lost row breaks the chain of [`balances`](super::balances); but who names an
//! account that is not there, or in another currency, is left over in any case.

use std::collections::HashMap;

use uuid::Uuid;

use crate::check::Check;
use crate::reconciliation::{Claim, Hand, Reconciliation, Unmatched};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Entry, Row, Side};
use crate::vocabulary::Code;

use super::collecting_names::CollectingNames;

/// That a customer's account is one of its client, in this currency.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Named {
    account: (Uuid, Uuid),
    currency: Code,
}

impl Claim for Named {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        self.account
    }
}

/// The check.
#[derive(Debug)]
pub struct KnownAccounts {
    findings: Findings,
    collecting: CollectingNames,
    named: Reconciliation<Named>,
    /// The accounts that are searched, with their currencies.
    there: HashMap<(Uuid, Uuid), Code>,
}

impl KnownAccounts {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "both sides of every row are accounts of its client, in its currency";
        Self {
            findings: Findings::new("accounts", promise, listed_max),
            collecting: CollectingNames::default(),
            named: Reconciliation::of_rows(),
            there: HashMap::new(),
        }
    }

    fn side(&mut self, entry: &Entry<'_>, side: Side) {
        let currency = Code::of(entry.currency);
        // A part of the account on the other side, where it is named.
        if side.after.is_none() && entry.debit.account_id == entry.credit.account_id {
            return;
        }
        if side.after.is_some() {
            let named = Named { account: (entry.client_id, side.account_id), currency };
            return self.named.claim(Hand::Right, named, Some(entry.entry_id));
        }
        let found = match self.collecting.find(entry.client_id, side.account_id) {
            Some((_, held)) if held == currency => return,
            Some((name, held)) => format!("{name}, which collects {held}"),
            None => format!("{}, which is no collecting account of the client", side.account_id),
        };
        self.findings.row_differs(|| Difference {
            client_id: entry.client_id,
            subject: format!("journal row {}", entry.entry_id),
            expected: format!("a collecting account in {currency}"),
            found,
        });
    }

    fn report(&mut self, (client_id, account_id): (Uuid, Uuid), unmatched: &[Unmatched<Named>]) {
        let there = self.there.get(&(client_id, account_id)).copied();
        for Unmatched { claim, left, right, row } in unmatched {
            if right <= left || there == Some(claim.currency) {
                continue;
            }
            let times = right - left;
            self.findings.differs(|| Difference {
                client_id,
                subject: match (times, row) {
                    (1, Some(row)) => format!("journal row {row}"),
                    _ => format!("{times} journal rows of account {account_id}"),
                },
                expected: match there {
                    Some(currency) => format!("{currency}, which account {account_id} holds"),
                    None => "an account of the client".to_owned(),
                },
                found: match there {
                    Some(_) => claim.currency.to_string(),
                    None => format!("{account_id}, which is none"),
                },
            });
        }
    }
}

impl Check for KnownAccounts {
    fn see(&mut self, row: &Row<'_>) {
        self.collecting.see(row);
        match row {
            Row::Account(account) => {
                let place = (account.client_id, account.account_id);
                let currency = Code::of(account.currency);
                if self.named.is_searched(&place) {
                    self.there.insert(place, currency);
                }
                let rows = i128::from(account.version) - i128::from(account.closed);
                self.named.claim_times(Hand::Left, Named { account: place, currency }, rows, None);
            }
            Row::Entry(entry) => {
                self.findings.looked();
                self.side(entry, entry.debit);
                self.side(entry, entry.credit);
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.named.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let named = std::mem::replace(&mut self.named, Reconciliation::of_rows());
        for (place, unmatched) in &named.conclude().places {
            self.report(*place, unmatched);
        }
        vec![self.findings.conclude()]
    }
}
