//! Each journal row names the request or the delivery at whose word it was written, and each request that moved money the
//! row that it wrote.
//!
//! Most requests write exactly one row of a kind that is theirs, so rows and records are reconciled both ways, without looking
//! anything up. Of a request that gives frozen money back, or moves a receipt's money, there may be any number of rows: the
//! record of each of these rows is looked up. Records are deleted some day; what is older than their retention names
//! what nobody can look at any more.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::{Check, Terms};
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Asked, Entry, Record, Row};
use crate::vocabulary::{
    CANCEL_ORDER, CAPTURE_HOLD, CAPTURE_ORDER, DEPOSIT, HOLD, HOLD_CAPTURE, HOLD_RELEASE, ORDER_PAYMENT,
    ORDER_REFUND, Operation, PLACE_HOLD, PLACE_ORDER, REFUND_ORDER, RELEASE_HOLD, RESOLVE_ALERT, TRANSFER,
    WITHDRAW,
};

use super::records::resource_of;
use super::report_rows;

/// That a request under a key moved money.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Wrote {
    client: Uuid,
    key: Box<str>,
    operation: &'static str,
    /// What it made or changed; of a refund, which its row does not name, nothing.
    subject: Option<Uuid>,
}

impl Claim for Wrote {
    type Place = (Uuid, [u8; 32]);

    /// Keys that begin alike share a place, which costs nothing but a longer look.
    fn place(&self) -> (Uuid, [u8; 32]) {
        let mut beginning = [0; 32];
        beginning.iter_mut().zip(self.key.as_bytes()).for_each(|(to, from)| *to = *from);
        (self.client, beginning)
    }
}

/// The check.
#[derive(Debug)]
pub struct JournalKeys {
    findings: Findings,
    /// From when on rows name their request, and its record must be there.
    kept_after: DateTime<Utc>,
    wrote: Reconciliation<Wrote>,
}

impl JournalKeys {
    /// A check that has seen nothing.
    pub fn new(terms: Terms) -> Self {
        let promise = "each journal row names the request or delivery that wrote it, and the request its row";
        Self {
            findings: Findings::new("journal-keys", promise, terms.listed_max),
            kept_after: terms.records_kept_after,
            wrote: Reconciliation::of_rows(),
        }
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        self.findings.looked();
        if !entry.delivery_is_there {
            self.differs(entry, "a delivery that is there", "one that is not".to_owned());
        }
        if !entry.order_is_there {
            self.differs(entry, "an order that is there", "one that is not".to_owned());
        }
        let Some(key) = entry.idempotency_key.filter(|_| entry.created_at > self.kept_after) else { return };
        if entry.kind == HOLD_RELEASE || entry.receipt_id.is_some() {
            if !entry.asked.is_some_and(|asked| can_write(&asked, entry)) {
                let found = entry.asked.map_or("none".to_owned(), |asked| {
                    format!("{} of {}", asked.operation, asked.resource.unwrap_or("nothing"))
                });
                self.differs(entry, "a completed record under its key, of what can have written it", found);
            }
        } else if let Some((operation, subject)) = writer_of(entry) {
            let wrote =
                Wrote { client: entry.client_id, key: key.into(), operation: operation.name, subject };
            self.wrote.claim(Hand::Right, wrote, Some(entry.entry_id));
        }
    }

    fn differs(&mut self, entry: &Entry<'_>, expected: &str, found: String) {
        self.findings.row_differs(|| Difference {
            client_id: entry.client_id,
            subject: format!("journal row {} ({})", entry.entry_id, entry.kind),
            expected: expected.to_owned(),
            found,
        });
    }

    fn record(&mut self, record: &Record<'_>) {
        if record.status != "completed" || record.completed_at <= self.kept_after {
            return;
        }
        let Some((operation, resource)) = resource_of(record) else { return };
        if !writes_one_row(operation, record) {
            return;
        }
        let subject = (*operation != REFUND_ORDER).then_some(resource);
        let (client, key) = (record.client_id, record.key.into());
        self.wrote.claim(Hand::Left, Wrote { client, key, operation: operation.name, subject }, None);
    }
}

/// The operation that writes a row of this kind, and what it makes or changes.
fn writer_of(entry: &Entry<'_>) -> Option<(&'static Operation, Option<Uuid>)> {
    let Entry { movement_id, order_id, hold_id, .. } = *entry;
    let of_hold = |order: &'static Operation, hold: &'static Operation| match order_id {
        Some(_) => (order, order_id),
        None => (hold, hold_id),
    };
    Some(match entry.kind {
        "deposit" => (&DEPOSIT, movement_id),
        "withdrawal" => (&WITHDRAW, movement_id),
        "transfer" => (&TRANSFER, movement_id),
        ORDER_PAYMENT => (&PLACE_ORDER, order_id),
        HOLD => of_hold(&PLACE_ORDER, &PLACE_HOLD),
        HOLD_CAPTURE => of_hold(&CAPTURE_ORDER, &CAPTURE_HOLD),
        ORDER_REFUND => (&REFUND_ORDER, None),
        _ => return None,
    })
}

/// Whether a record calls for exactly one row of those that [`writer_of`] knows. What is paid or given back at a provider
/// writes none before the provider has told of it.
fn writes_one_row(operation: &Operation, record: &Record<'_>) -> bool {
    let answer = record.answer.as_ref();
    if *operation == PLACE_ORDER {
        return answer.and_then(|answer| answer.method.as_deref()) != Some("provider");
    }
    if *operation == REFUND_ORDER {
        return answer.and_then(|answer| answer.state.as_deref()) != Some("pending");
    }
    [DEPOSIT, WITHDRAW, TRANSFER, PLACE_HOLD, CAPTURE_ORDER, CAPTURE_HOLD].contains(operation)
}

/// Whether what was asked for can have written this row: one that gives frozen money back, or one of a receipt.
fn can_write(asked: &Asked<'_>, entry: &Entry<'_>) -> bool {
    if entry.receipt_id.is_some() {
        // An order may find money that has come before it.
        return [PLACE_ORDER, RESOLVE_ALERT].iter().any(|known| known.name == asked.operation);
    }
    let subject = |operation: &Operation| {
        let id = asked.resource?.strip_prefix(operation.path)?;
        Uuid::try_parse(id).ok()
    };
    let of = |operations: [Operation; 2], id: Option<Uuid>| {
        let known = operations.iter().find(|known| known.name == asked.operation);
        known.is_some_and(|operation| id.is_some() && subject(operation) == id)
    };
    of([CAPTURE_HOLD, RELEASE_HOLD], entry.hold_id) || of([CAPTURE_ORDER, CANCEL_ORDER], entry.order_id)
}

impl Check for JournalKeys {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            // Rows of before name nothing.
            Row::HistoryKept(since) => self.kept_after = self.kept_after.max(*since),
            Row::Entry(entry) => self.entry(entry),
            Row::Record(record) => self.record(record),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.wrote.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.wrote.conclude(),
            |wrote| (wrote.client, format!("rows under the key {:?}", wrote.key)),
            |wrote| {
                let of = wrote.subject.map_or(String::new(), |subject| format!(" of {subject}"));
                format!("a row of {}{of}", wrote.operation)
            },
        );
        vec![self.findings.conclude()]
    }
}
