//! What was answered, and is replayed byte for byte, is what was done: the bodies of the records against the rows.
//!
//! An answer is of its moment, so it is held to what never changes of its subject: whose it is, how much, in which currency,
//! under which name. Of an order's captures and of its cancelling the version that they made is kept, and compared too.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::check::{Check, Terms};
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Answer, Movement, OrderVersion, Record, Row};
use crate::vocabulary::{
    CANCEL_ORDER, CAPTURE_ORDER, Code, MOVEMENTS, OPEN_ACCOUNT, Operation, PLACE_HOLD, PLACE_ORDER,
    REFUND_ORDER, TAKE_CALLBACK, TRANSFER, WITHDRAW,
};

use super::records::{is_without_own_effect, resource_of};
use super::report_rows;

/// What is told of something that was made or changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Told {
    client: Uuid,
    operation: &'static str,
    subject: Uuid,
    what: What,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct What {
    /// The account or accounts, that which pays first; of a refund, its order is the second.
    whose: [Option<Uuid>; 2],
    amount: Option<Figure>,
    currency: Option<Code>,
    /// The client's name for it; of a delivery, what it did to the books.
    name: Option<Box<str>>,
    /// Of a version of an order: at whose word, which one, what had been taken and given back.
    version: Option<(Box<str>, i64, Figure, Figure)>,
}

impl Claim for Told {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.subject)
    }
}

/// The check.
#[derive(Debug)]
pub struct Answers {
    findings: Findings,
    kept_after: DateTime<Utc>,
    /// Since when versions of orders are kept.
    versions_since: DateTime<Utc>,
    clients: HashMap<Uuid, DateTime<Utc>>,
    told: Reconciliation<Told>,
}

impl Answers {
    /// A check that has seen nothing.
    pub fn new(terms: Terms) -> Self {
        let promise = "what was answered is what was done";
        Self {
            findings: Findings::new("answers", promise, terms.listed_max),
            kept_after: terms.records_kept_after,
            versions_since: DateTime::<Utc>::MIN_UTC,
            clients: HashMap::new(),
            told: Reconciliation::of_rows(),
        }
    }

    /// What must have been answered about something, if its record must still be there and there was a request.
    fn done(&mut self, client: Uuid, operation: &Operation, subject: Uuid, at: DateTime<Utc>, what: What) {
        let at_nobodys_request = self.clients.get(&client) == Some(&at);
        if at > self.kept_after && !at_nobodys_request {
            self.told.claim(Hand::Left, Told { client, operation: operation.name, subject, what }, None);
        }
    }

    fn movement(&mut self, movement: &Movement<'_>) {
        let Some((_, operation, _)) = MOVEMENTS.iter().find(|(word, _, _)| *word == movement.kind) else {
            return;
        };
        let what = What {
            whose: [movement.from_account_id, movement.to_account_id],
            ..sum(movement.amount, movement.currency, Some(movement.reference))
        };
        self.done(movement.client_id, operation, movement.movement_id, movement.created_at, what);
    }

    fn version(&mut self, version: &OrderVersion<'_>) {
        let operation = match version.what {
            "captured" => &CAPTURE_ORDER,
            "cancelled" => &CANCEL_ORDER,
            _ => return,
        };
        let Some(key) = version.idempotency_key.filter(|_| version.state.at > self.versions_since) else {
            return;
        };
        let standing = version.state.standing;
        let made = (key.into(), version.version, standing.captured, standing.refunded);
        let what = What { version: Some(made), ..What::default() };
        self.done(version.client_id, operation, version.order_id, version.state.at, what);
    }

    fn record(&mut self, record: &Record<'_>) {
        self.findings.looked();
        let Some(answer) = &record.answer else {
            return self.differs(record, "a body that can be read", "one that cannot".to_owned());
        };
        if record.status == "failed" {
            let status = i64::from(record.response_status);
            if answer.problem_status != Some(status) {
                let found = format!("{:?}", answer.problem_status);
                self.differs(record, &format!("a problem of the status {status}"), found);
            }
            return;
        }
        // That a record names nothing it could have done is another check's difference.
        let Some((operation, subject)) = resource_of(record).filter(|_| !is_without_own_effect(record))
        else {
            return;
        };
        if *operation != TAKE_CALLBACK && answer.id != Some(subject) {
            let found = answer.id.map_or("none".to_owned(), |id| id.to_string());
            return self.differs(record, &format!("the id {subject}"), found);
        }
        let of_version = [CAPTURE_ORDER, CANCEL_ORDER].contains(operation);
        if record.completed_at <= self.kept_after || of_version && record.completed_at <= self.versions_since
        {
            return;
        }
        if let Some(what) = what_of(operation, answer, record.key) {
            let (client, operation) = (record.client_id, operation.name);
            self.told.claim(Hand::Right, Told { client, operation, subject, what }, None);
        }
    }

    fn differs(&mut self, record: &Record<'_>, expected: &str, found: String) {
        self.findings.row_differs(|| Difference {
            client_id: record.client_id,
            subject: format!("the answer of record {:?}", record.key),
            expected: expected.to_owned(),
            found,
        });
    }
}

/// So much, under that name.
fn sum(amount: Figure, currency: &str, name: Option<&str>) -> What {
    let (amount, currency) = (Some(amount), Some(Code::of(currency)));
    What { amount, currency, name: name.map(Into::into), ..What::default() }
}

/// What an answer says that rows say too; nothing, of an operation after which no row says it any more.
fn what_of(operation: &Operation, answer: &Answer<'_>, key: &str) -> Option<What> {
    let name = answer.name.as_deref().map(Into::into);
    let sum = What { amount: answer.amount, currency: answer.currency, name, ..What::default() };
    let account = answer.account_id;
    if [CAPTURE_ORDER, CANCEL_ORDER].contains(operation) {
        let (version, captured, refunded) = (
            answer.version.unwrap_or(0),
            answer.captured.unwrap_or(Figure::ZERO),
            answer.refunded.unwrap_or(Figure::ZERO),
        );
        return Some(What { version: Some((key.into(), version, captured, refunded)), ..What::default() });
    }
    if *operation == TAKE_CALLBACK {
        return Some(What { name: answer.effect.as_deref().map(Into::into), ..What::default() });
    }
    let whose = match operation {
        known if *known == TRANSFER => [answer.from_account_id, answer.to_account_id],
        known if *known == WITHDRAW => [account, None],
        known if MOVEMENTS.iter().any(|(_, movement, _)| movement == known) => [None, account],
        known if *known == REFUND_ORDER => [account, answer.order_id],
        known if [PLACE_ORDER, PLACE_HOLD].contains(known) => [account, None],
        known if *known == OPEN_ACCOUNT => [None, None],
        _ => return None,
    };
    Some(What { whose, ..sum })
}

impl Check for Answers {
    fn see(&mut self, row: &Row<'_>) {
        match row {
            Row::Client(client) => {
                self.clients.insert(client.client_id, client.created_at);
            }
            Row::HistoryKept(since) => self.versions_since = *since,
            Row::Account(account) => {
                let what = What { currency: Some(Code::of(account.currency)), ..What::default() };
                self.done(account.client_id, &OPEN_ACCOUNT, account.account_id, account.created_at, what);
            }
            Row::Movement(movement) => self.movement(movement),
            Row::Order(order) => {
                let what = What {
                    whose: [Some(order.account_id), None],
                    ..sum(order.amount, order.currency, Some(order.client_order_no))
                };
                self.done(order.client_id, &PLACE_ORDER, order.order_id, order.created_at, what);
            }
            Row::OrderVersion(version) => self.version(version),
            Row::Hold(hold) if !hold.of_order => {
                let what = What {
                    whose: [Some(hold.account_id), None],
                    ..sum(hold.amount, hold.currency, hold.reference)
                };
                self.done(hold.client_id, &PLACE_HOLD, hold.hold_id, hold.created_at, what);
            }
            Row::Refund(refund) => {
                let what = What {
                    whose: [Some(refund.account_id), Some(refund.order_id)],
                    ..sum(refund.amount, refund.currency, Some(refund.reference))
                };
                self.done(refund.client_id, &REFUND_ORDER, refund.refund_id, refund.created_at, what);
            }
            Row::Delivery(delivery) => {
                let what = What { name: Some(delivery.effect.into()), ..What::default() };
                self.done(
                    delivery.client_id,
                    &TAKE_CALLBACK,
                    delivery.delivery_id,
                    delivery.received_at,
                    what,
                );
            }
            Row::Record(record) => self.record(record),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.told.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.told.conclude(),
            |told| (told.client, format!("answers about {}", told.subject)),
            |told| format!("{}, that {}", told.operation, words(&told.what)),
        );
        vec![self.findings.conclude()]
    }
}

fn words(what: &What) -> String {
    let mut words = Vec::new();
    words.extend(what.amount.map(|amount| format!("{amount} moved")));
    words.extend(what.currency.map(|currency| format!("in {currency}")));
    words.extend(what.whose.iter().flatten().map(|id| format!("for {id}")));
    words.extend(what.name.as_ref().map(|name| format!("as {name:?}")));
    words.extend(what.version.as_ref().map(|(key, version, captured, refunded)| {
        format!("made version {version} with captured {captured}, refunded {refunded}, under the key {key:?}")
    }));
    words.join(" ")
}
