//! The names that this process is running, and who waits for them.
//!
//! One entry per name: the first to ask runs, whoever asks under the same name meanwhile is told so at once, or
//! waits for the first one's answer. Waiting costs a place in memory and no database connection.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use idempotency::{Fingerprint, Name};
use tokio::sync::watch;

use crate::desk::Answered;

/// The names in flight. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<Mutex<HashMap<Name, Running>>>);

#[derive(Debug)]
struct Running {
    fingerprint: Fingerprint,
    operation: &'static str,
    first_seen_at: DateTime<Utc>,
    stage: watch::Receiver<Stage>,
}

/// How far a request has come.
#[derive(Clone, Debug)]
enum Stage {
    /// It waits in a queue, or its record is being looked for.
    Asked,
    /// It has no record, and runs.
    Running,
    /// It is answered.
    Answered(Answered),
}

/// What somebody finds who comes with a name.
#[derive(Debug)]
pub enum Entered {
    /// Nobody was there: the ticket obliges to answer, the answer goes to everybody who waits.
    First(Ticket, Awaited),
    /// Somebody is there.
    Occupied {
        /// Whether it is the same request.
        same_request: bool,
        /// What will be answered to it.
        awaited: Awaited,
    },
}

impl InFlight {
    /// Comes with a name.
    pub fn enter(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
        operation: &'static str,
        now: DateTime<Utc>,
    ) -> Entered {
        match self.names().entry(name.clone()) {
            Entry::Occupied(running) => Entered::Occupied {
                same_request: running.get().fingerprint == fingerprint,
                awaited: Awaited(running.get().stage.clone()),
            },
            Entry::Vacant(place) => {
                let (sender, stage) = watch::channel(Stage::Asked);
                place.insert(Running { fingerprint, operation, first_seen_at: now, stage: stage.clone() });
                let ticket = Ticket {
                    names: self.clone(),
                    name: name.clone(),
                    stage: sender,
                    answered: false,
                    if_lost: Answered::Failed,
                };
                Entered::First(ticket, Awaited(stage))
            }
        }
    }

    /// What is running under the name, and since when.
    pub fn running(&self, name: &Name) -> Option<(&'static str, DateTime<Utc>)> {
        self.names().get(name).map(|running| (running.operation, running.first_seen_at))
    }

    /// How many names are in flight.
    pub fn len(&self) -> usize {
        self.names().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // A panic while the lock is held leaves the map as good as it was: every change is a single call.
    fn names(&self) -> MutexGuard<'_, HashMap<Name, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The obligation to answer for a name. Dropped without an answer, as when a task panics, it answers
/// [`Answered::Failed`], or what [`Ticket::if_lost`] has said: nobody is left waiting.
#[derive(Debug)]
pub struct Ticket {
    names: InFlight,
    name: Name,
    stage: watch::Sender<Stage>,
    answered: bool,
    if_lost: Answered,
}

impl Ticket {
    /// Frees the name, and answers everybody who waits for it. In this order: whoever has the answer and asks
    /// again must find the record, not a request that seems to be running.
    pub fn answer(mut self, answered: Answered) {
        self.settle(answered);
    }

    /// Says that the request has no record, and runs.
    pub fn running(&self) {
        self.stage.send_replace(Stage::Running);
    }

    /// Says what is true from now on, should the ticket be lost.
    pub fn if_lost(&mut self, answered: Answered) {
        self.if_lost = answered;
    }

    fn settle(&mut self, answered: Answered) {
        self.answered = true;
        self.names.names().remove(&self.name);
        self.stage.send_replace(Stage::Answered(answered));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.answered {
            self.settle(self.if_lost.clone());
        }
    }
}

/// An answer to come.
#[derive(Debug)]
pub struct Awaited(watch::Receiver<Stage>);

impl Awaited {
    /// Waits for it.
    pub async fn answer(self) -> Answered {
        self.reached(|stage| matches!(stage, Stage::Answered(_))).await.unwrap_or(Answered::Failed)
    }

    /// Waits until it is known whether there is a record: answers what was answered, or nothing if it runs.
    pub async fn answer_unless_running(self) -> Option<Answered> {
        self.reached(|stage| !matches!(stage, Stage::Asked)).await
    }

    async fn reached(mut self, far_enough: impl FnMut(&Stage) -> bool) -> Option<Answered> {
        match self.0.wait_for(far_enough).await.as_deref() {
            Ok(Stage::Answered(answered)) => Some(answered.clone()),
            Ok(Stage::Asked | Stage::Running) => None,
            // A ticket answers before it is gone, so this is never seen.
            Err(_) => Some(Answered::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use client::ClientId;
    use idempotency::Key;
    use idempotency::fingerprint::Meaning;
    use uuid::Uuid;

    use super::*;

    fn name() -> Name {
        Name { client_id: ClientId(Uuid::nil()), key: Key::from_value("k").expect("a key") }
    }

    fn enter(names: &InFlight, meaning: &'static str) -> Entered {
        names.enter(&name(), Meaning::of(meaning).fingerprint(), "test", DateTime::UNIX_EPOCH)
    }

    fn other(entered: Entered, same: bool) -> Awaited {
        match entered {
            Entered::Occupied { same_request, awaited } if same_request == same => awaited,
            entered => panic!("the first is there, and this is {entered:?}"),
        }
    }

    #[tokio::test]
    async fn everybody_under_one_name_gets_the_answer_of_the_first() {
        let names = InFlight::default();
        let Entered::First(ticket, first) = enter(&names, "a") else { panic!("nobody was there") };
        let second = other(enter(&names, "a"), true);
        ticket.answer(Answered::Contended);
        assert!(matches!(first.answer().await, Answered::Contended));
        assert!(matches!(second.answer().await, Answered::Contended));
        assert!(names.is_empty(), "an answered name is free again");
    }

    #[tokio::test]
    async fn it_is_known_whether_a_name_runs_as_soon_as_its_record_has_been_looked_for() {
        let names = InFlight::default();
        let Entered::First(ticket, _) = enter(&names, "a") else { panic!("nobody was there") };
        let second = other(enter(&names, "a"), true);
        ticket.running();
        assert_eq!(second.answer_unless_running().await, None);

        let third = other(enter(&names, "a"), true);
        ticket.answer(Answered::Contended);
        assert_eq!(third.answer_unless_running().await, Some(Answered::Contended));
    }

    #[tokio::test]
    async fn another_request_under_the_name_is_told_apart() {
        let names = InFlight::default();
        let _first = enter(&names, "a");
        other(enter(&names, "b"), false);
    }

    #[tokio::test]
    async fn a_ticket_that_is_lost_answers_that_it_failed() {
        let names = InFlight::default();
        let Entered::First(ticket, first) = enter(&names, "a") else { panic!("nobody was there") };
        drop(ticket);
        assert!(matches!(first.answer().await, Answered::Failed));
        assert!(names.is_empty());
    }

    #[tokio::test]
    async fn a_ticket_that_is_lost_during_a_commit_does_not_say_that_nothing_happened() {
        let names = InFlight::default();
        let Entered::First(mut ticket, first) = enter(&names, "a") else { panic!("nobody was there") };
        ticket.if_lost(Answered::OutcomeUnknown);
        drop(ticket);
        assert!(matches!(first.answer().await, Answered::OutcomeUnknown));
    }
}
