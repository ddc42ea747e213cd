//! Every movement has exactly one journal row, of its kind, amount, accounts and reference; and every row that names a
//! movement has it.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Findings};
use crate::row::Row;
use crate::vocabulary::{Code, kind};

use super::report_rows;

/// That money moved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Moved {
    client: Uuid,
    movement: Uuid,
    kind: &'static str,
    from: Option<Uuid>,
    to: Option<Uuid>,
    amount: Figure,
    currency: Code,
    reference: Box<str>,
}

impl Claim for Moved {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.movement)
    }
}

/// The check.
#[derive(Debug)]
pub struct Movements {
    findings: Findings,
    moved: Reconciliation<Moved>,
}

impl Movements {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "every movement has exactly its journal row, and the row its movement";
        Self { findings: Findings::new("movements", promise, listed_max), moved: Reconciliation::of_rows() }
    }
}

/// The word of a known kind; of any other, that it is not one.
fn kind_of(word: &str) -> &'static str {
    kind(word).map_or("unknown", |kind| kind.word)
}

impl Check for Movements {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Movement(movement) => {
                self.findings.looked();
                let moved = Moved {
                    client: movement.client_id,
                    movement: movement.movement_id,
                    kind: kind_of(movement.kind),
                    from: movement.from_account_id,
                    to: movement.to_account_id,
                    amount: movement.amount,
                    currency: Code::of(movement.currency),
                    reference: movement.reference.into(),
                };
                self.moved.claim(Hand::Left, moved, None);
            }
            Row::Entry(entry) => {
                let Some(movement) = entry.movement_id else { return };
                let moved = Moved {
                    client: entry.client_id,
                    movement,
                    kind: kind_of(entry.kind),
                    from: entry.debit.after.map(|_| entry.debit.account_id),
                    to: entry.credit.after.map(|_| entry.credit.account_id),
                    amount: entry.amount,
                    currency: Code::of(entry.currency),
                    reference: entry.reference.unwrap_or_default().into(),
                };
                self.moved.claim(Hand::Right, moved, Some(entry.entry_id));
            }
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.moved.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.moved.conclude(),
            |moved| (moved.client, format!("movement {}", moved.movement)),
            |moved| {
                let account = |id: Option<Uuid>| id.map_or("outside".to_owned(), |id| id.to_string());
                format!(
                    "a row of a {} of {} {} from {} to {} ({:?})",
                    moved.kind,
                    moved.amount,
                    moved.currency,
                    account(moved.from),
                    account(moved.to),
                    moved.reference
                )
            },
        );
        vec![self.findings.conclude()]
    }
}
