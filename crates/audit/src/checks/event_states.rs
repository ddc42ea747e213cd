//! What an event tells of an order or a hold is what was made then, and can follow on what was there before.
//!
//! An event of an order stands beside the version that it tells of, and the one before, both of which stay for ever; so
//! whichever events are still there are looked at. A hold has no versions: its last event must tell its state, and all
//! before that an active one, so nothing can have followed on an end.

use uuid::Uuid;

use crate::check::Check;
use crate::figure::Figure;
use crate::reconciliation::{Claim, Hand, Reconciliation};
use crate::report::{CheckReport, Difference, Findings};
use crate::row::{Event, Hold, Particulars, Row, Standing};
use crate::transitions::{Before, Fault, PLACED, fault_of_hold_event, fault_of_order_event, fault_of_step};
use crate::vocabulary::Code;

use super::kept_events::KeptEvents;
use super::report_rows;

/// More versions than a hold ever has.
const VERSIONS_MAX: i64 = 10_000;

/// That a hold was in a state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct HoldWas {
    client: Uuid,
    hold: Uuid,
    what: What,
}

/// In which, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum What {
    /// At this version, of this account and amount.
    At(i64, &'static str, Option<(Uuid, Figure, Code)>),
    /// In the end, with so much taken.
    Ended(&'static str, Figure),
}

impl Claim for HoldWas {
    type Place = (Uuid, Uuid);

    fn place(&self) -> (Uuid, Uuid) {
        (self.client, self.hold)
    }
}

/// The check.
#[derive(Debug)]
pub struct EventStates {
    findings: Findings,
    kept: KeptEvents,
    holds: Reconciliation<HoldWas>,
}

impl EventStates {
    /// A check that has seen nothing.
    pub fn new(listed_max: usize) -> Self {
        let promise = "what each event tells of an order or a hold was so, and can follow on what was before";
        Self {
            findings: Findings::new("event-states", promise, listed_max),
            kept: KeptEvents::default(),
            holds: Reconciliation::of_rows(),
        }
    }

    fn hold(&mut self, hold: &Hold<'_>) {
        let (client, id) = (hold.client_id, hold.hold_id);
        if hold.of_order || !self.kept.is_whole(client, id) {
            return;
        }
        let mut was = |what| self.holds.claim(Hand::Left, HoldWas { client, hold: id, what }, None);
        // No more than there can be, should the version be damaged.
        let last = hold.version.min(VERSIONS_MAX);
        let frozen = Some((hold.account_id, hold.amount, Code::of(hold.currency)));
        (1..last).for_each(|version| was(What::At(version, ACTIVE, frozen)));
        let status = state(hold.status);
        was(What::At(last, status, frozen));
        if status != ACTIVE {
            was(What::Ended(status, hold.captured));
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if !matches!(event.aggregate_type, "order" | "hold") {
            return;
        }
        self.findings.looked();
        let fault = match &event.told {
            None => Some(("a state that it tells of".to_owned(), "none".to_owned())),
            Some(told) if event.aggregate_type == "order" => fault_of_order(event, told),
            Some(told) => {
                self.told_of_hold(event, told);
                fault_of_hold_event(event.event_type, event.sequence == 1, told.status)
            }
        };
        if let Some((expected, found)) = fault {
            self.findings.row_differs(|| Difference {
                client_id: event.client_id,
                subject: format!(
                    "event {} of {} {}",
                    event.event_id, event.aggregate_type, event.aggregate_id
                ),
                expected,
                found,
            });
        }
    }

    fn told_of_hold(&mut self, event: &Event<'_>, told: &Standing<'_>) {
        let (client, hold) = (event.client_id, event.aggregate_id);
        if !self.kept.is_whole(client, hold) {
            return;
        }
        let row = Some(event.event_id);
        let status = state(told.status);
        let frozen = event.particulars.as_ref().map(|told| (told.account_id, told.amount, told.currency));
        let at = What::At(event.sequence, status, frozen);
        self.holds.claim(Hand::Right, HoldWas { client, hold, what: at }, row);
        if status != ACTIVE {
            let ended = What::Ended(status, told.captured);
            self.holds.claim(Hand::Right, HoldWas { client, hold, what: ended }, row);
        }
    }
}

/// What is wrong with an event of an order: its place in the table first, then beside the versions that it tells of.
fn fault_of_order(event: &Event<'_>, told: &Standing<'_>) -> Option<Fault> {
    let is_first = event.sequence == 1;
    let before = match (is_first, event.told_before) {
        (true, None) => Before::Nothing,
        (_, Some(before)) => Before::Was(before),
        // Events of earlier versions of the service do not tell; the versions do.
        (false, None) => event.version_before.map_or(Before::Untold, Before::Was),
    };
    fault_of_order_event(event.event_type, is_first, before, told)
        .or_else(|| match (event.sequence, event.told_before, event.version_before) {
            // A placing that its journal row tells of is no version; what it can have been is known all the same.
            (2, Some(placed), None) => fault_of_step(Before::Nothing, PLACED, &placed),
            _ => None,
        })
        .or_else(|| otherwise_told(event))
        .or_else(|| differing(event.version, Some(*told), "it says"))
        .or_else(|| differing(event.version_before, event.told_before, "it was before"))
}

/// Where an order and what is told of what never changes of it differ; nothing, where the order is not there.
fn otherwise_told(event: &Event<'_>) -> Option<Fault> {
    let order = event.order.as_ref()?;
    let words = |one: &Particulars<'_>| {
        format!("order {:?} of {} {} for account {}", one.name, one.amount, one.currency, one.account_id)
    };
    let told = event.particulars.as_ref();
    (told != Some(order)).then(|| (words(order), told.map_or("one of which less is told".to_owned(), words)))
}

/// Where a version and what is told of it differ; nothing, where one of the two is not there.
fn differing(version: Option<Standing<'_>>, told: Option<Standing<'_>>, when: &str) -> Option<Fault> {
    let (version, told) = version.zip(told)?;
    let words = |one: &Standing<'_>| {
        format!("{when} {}, captured {}, refunded {}", one.status, one.captured, one.refunded)
    };
    (version != told).then(|| (words(&version), words(&told)))
}

const ACTIVE: &str = "active";

fn state(word: &str) -> &'static str {
    let known = [ACTIVE, "captured", "released", "expired"];
    known.into_iter().find(|state| *state == word).unwrap_or("in no known state")
}

impl Check for EventStates {
    fn see(&mut self, row: &Row<'_>) {
        self.kept.see(row);
        match row {
            Row::Hold(hold) => self.hold(hold),
            Row::Event(event) => self.event(event),
            _ => {}
        }
    }

    fn search(&mut self) -> bool {
        self.findings.search();
        self.holds.search()
    }

    fn conclude(mut self: Box<Self>) -> Vec<CheckReport> {
        report_rows(
            &mut self.findings,
            self.holds.conclude(),
            |was| (was.client, format!("events of hold {}", was.hold)),
            |was| match &was.what {
                What::At(version, state, None) => format!("{state} at {version}"),
                What::At(version, state, Some((account, amount, currency))) => {
                    format!("{state} at {version}, with {amount} {currency} of account {account} frozen")
                }
                What::Ended(state, captured) => format!("{state} in the end, with {captured} captured"),
            },
        );
        vec![self.findings.conclude()]
    }
}
