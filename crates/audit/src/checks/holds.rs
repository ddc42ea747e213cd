//! What an account has held is the sum of its active holds; and what was frozen, taken and given back of a hold is what
//! its journal rows say, to the last, each under the name that the client gave.

use std::iter;

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Capture, Entry, Hold, Row};
use crate::vocabulary::{Code, HOLD, HOLD_CAPTURE, HOLD_EXPIRY, HOLD_RELEASE};

use super::{report_limits, report_rows};

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

/// A part of what became of a hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Part {
    client: Uuid,
    hold: Uuid,
    /// The account; of captures, which do not name it, none.
    account: Option<Uuid>,
    currency: Code,
    what: &'static str,
}

impl Claim for Part {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.hold)
    }
}

/// A journal row of a hold, by the name that it bears.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Named {
    client: Uuid,
    hold: Uuid,
    what: &'static str,
    /// Of a capture: which row it is, and how much it took.
    capture: Option<(Uuid, Figure, Code)>,
    reference: Option<Box<str>>,
}

impl Claim for Named {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.hold)
    }
}

/// What was given back by a release or with the last capture.
const RELEASED: &str = "given back";
/// What was taken.
const TAKEN: &str = "taken";
/// What was given back because its time was over.
const EXPIRED: &str = "given back as expired";

/// The check.
#[derive(Debug)]
pub struct Holds {
    held: Findings,
    moved: Findings,
    sums: Reconciliation<Held>,
    parts: Reconciliation<Part>,
    named: Reconciliation<Named>,
}

impl Holds {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        Self {
            held: Findings::new("holds", "what is held equals the active holds", listed_max),
            moved: Findings::new(
                "hold-rows",
                "what was frozen, taken and given back of a hold equals its journal rows",
                listed_max,
            ),
            sums: Reconciliation::of_sums(),
            parts: Reconciliation::of_sums(),
            named: Reconciliation::of_rows(),
        }
    }

    fn hold(&mut self, hold: &Hold<'_>) {
        self.moved.looked();
        let rest = hold.amount.minus(hold.captured);
        let (left, released, expired) = match hold.status {
            "active" => (rest, Figure::ZERO, Figure::ZERO),
            "captured" | "released" => (Figure::ZERO, rest, Figure::ZERO),
            "expired" => (Figure::ZERO, Figure::ZERO, rest),
            other => {
                let found = other.to_owned();
                return self.moved.row_differs(|| Difference {
                    client_id: hold.client_id,
                    subject: format!("hold {}", hold.hold_id),
                    expected: "active, captured, released or expired".to_owned(),
                    found,
                });
            }
        };
        let held = Held { client: hold.client_id, account: hold.account_id };
        self.sums.claim_times(Hand::Left, held, units(left), None);
        let part = |account, what| Part {
            client: hold.client_id,
            hold: hold.hold_id,
            account,
            currency: Code::of(hold.currency),
            what,
        };
        let account = Some(hold.account_id);
        for (part, sum) in [
            (part(account, "frozen"), hold.amount),
            (part(account, TAKEN), hold.captured),
            (part(account, RELEASED), released),
            (part(account, EXPIRED), expired),
            (part(None, "captured"), hold.captured),
        ] {
            self.parts.claim_times(Hand::Left, part, units(sum), None);
        }
        let back =
            [(RELEASED, released), (EXPIRED, expired)].into_iter().filter(|(_, sum)| *sum != Figure::ZERO);
        for what in iter::once("frozen").chain(back.map(|(what, _)| what)) {
            let reference = hold.reference.map(Into::into);
            let named = Named { client: hold.client_id, hold: hold.hold_id, what, capture: None, reference };
            self.named.claim(Hand::Left, named, None);
        }
    }

    fn capture(&mut self, capture: &Capture<'_>) {
        let part = Part {
            client: capture.client_id,
            hold: capture.hold_id,
            account: None,
            currency: Code::of(capture.currency),
            what: "captured",
        };
        self.parts.claim_times(Hand::Right, part, units(capture.amount), Some(capture.entry_id));
        let named = Named {
            client: capture.client_id,
            hold: capture.hold_id,
            what: TAKEN,
            capture: Some((capture.entry_id, capture.amount, Code::of(capture.currency))),
            reference: capture.named.map(Into::into),
        };
        self.named.claim(Hand::Left, named, None);
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        let (what, account) = match entry.kind {
            HOLD => ("frozen", entry.debit.account_id),
            HOLD_CAPTURE => (TAKEN, entry.debit.account_id),
            HOLD_RELEASE => (RELEASED, entry.credit.account_id),
            HOLD_EXPIRY => (EXPIRED, entry.credit.account_id),
            _ => return,
        };
        // The hold of an order has the order's id.
        let Some(hold) = entry.hold_id.or(entry.order_id) else { return };
        let currency = Code::of(entry.currency);
        let part = Part { client: entry.client_id, hold, account: Some(account), currency, what };
        self.parts.claim_times(Hand::Right, part, units(entry.amount), Some(entry.entry_id));
        let capture = (what == TAKEN).then_some((entry.entry_id, entry.amount, currency));
        let reference = entry.reference.map(Into::into);
        let named = Named { client: entry.client_id, hold, what, capture, reference };
        self.named.claim(Hand::Right, named, Some(entry.entry_id));
    }
}

/// What is no number counts for nothing, and is a difference of the check that sees its row.
fn units(figure: Figure) -> i128 {
    figure.ten_thousandths().unwrap_or(0)
}

impl Check for Holds {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Account(account) => {
                self.held.looked();
                let held = Held { client: account.client_id, account: account.account_id };
                self.sums.claim_times(Hand::Right, held, units(account.held), None);
            }
            Row::Hold(hold) => self.hold(hold),
            Row::Capture(capture) => self.capture(capture),
            Row::Entry(entry) => self.entry(entry),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.held.search();
        self.moved.search();
        [self.sums.search(), self.parts.search(), self.named.search()].contains(&true)
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        let sums = self.sums.conclude();
        report_limits(&mut self.held, &sums);
        for unmatched in sums.places.values().flatten() {
            self.held.differs(|| Difference {
                client_id: unmatched.claim.client,
                subject: format!("account {}", unmatched.claim.account),
                expected: format!("{} held, as its active holds", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        let parts = self.parts.conclude();
        report_limits(&mut self.moved, &parts);
        for unmatched in parts.places.values().flatten() {
            let Part { client, hold, account, currency, what } = &unmatched.claim;
            let of = account.map_or(String::new(), |account| format!(" of account {account}"));
            self.moved.differs(|| Difference {
                client_id: *client,
                subject: format!("hold {hold}"),
                expected: format!("{} {currency} {what}{of}", Figure::TenThousandths(unmatched.left)),
                found: Figure::TenThousandths(unmatched.right).to_string(),
            });
        }
        report_rows(
            &mut self.moved,
            self.named.conclude(),
            |named| (named.client, format!("rows of hold {}", named.hold)),
            |named| {
                let capture = named.capture.map_or(String::new(), |(row, amount, currency)| {
                    format!(" of {amount} {currency}, {row}")
                });
                let name = named.reference.as_ref().map_or("no name".to_owned(), |name| format!("{name:?}"));
                format!("a row of what was {}{capture}, under {name}", named.what)
            },
        );
        vec![self.held.conclude(), self.moved.conclude()]
    }
}
