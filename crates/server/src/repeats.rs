//! Repeats that another server has answered: the gateway's filter between a request and the desk, beside what this server
//! remembers itself.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use desk::remembered::Recollection;
use desk::{Answered, Command};
use futures::future::BoxFuture;
use gateway::layers::repeat_filter::{self, RepeatFilterLayer};
use idempotency::{Answer, Fingerprint, Name};

use crate::access_log::Facts;
use crate::app::AppState;
use crate::problem::Problem;

/// A request on its way to the desk.
#[expect(missing_debug_implementations, reason = "what is still looked up has nothing to show")]
pub struct Effect {
    /// The name under which it happens once.
    pub name: Name,
    /// What is asked for, as far as repeats are told from reuses by it.
    pub fingerprint: Fingerprint,
    /// Method and path template.
    pub operation: &'static str,
    /// What is asked for.
    pub wanted: Wanted,
    /// How long it would wait for the first one's answer.
    pub wait: Option<Duration>,
    /// What is known of the request.
    pub facts: Arc<Facts>,
}

impl repeat_filter::Effect for Effect {
    fn name(&self) -> &Name {
        &self.name
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// What is asked for, as far as it is known before anybody has looked for an earlier answer. A repeat gets that answer
/// whatever this is, and without the database where some server remembers it: so nothing is looked up before.
#[expect(missing_debug_implementations, reason = "what is still looked up has nothing to show")]
pub enum Wanted {
    /// This.
    Command(Command),
    /// Something on what is there already, which is looked up first.
    LookedUp(BoxFuture<'static, Result<Command, Problem>>),
    /// Something that this server, as it is configured now, could not do. It may have been done before.
    Undoable(Problem),
}

/// What became of it.
#[derive(Debug)]
pub struct Told {
    /// The answer.
    pub answered: Answered,
    /// Whether it waited for another request under the same name.
    pub waited: bool,
}

impl repeat_filter::Reply for Told {
    fn replayed(answer: Answer) -> Self {
        Self { answered: Answered::Replayed(answer), waited: false }
    }
}

/// The filter, if there is one, as a layer in front of the desk.
pub fn filter(state: &AppState) -> Option<RepeatFilterLayer<Memory>> {
    let repeats = state.repeats.get()?;
    Some(RepeatFilterLayer::new(Arc::clone(repeats), Memory(state.clone())))
}

/// The finished answers that the desk remembers.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the state has nothing to show")]
pub struct Memory(AppState);

impl repeat_filter::Memory for Memory {
    fn knows(&self, name: &Name, fingerprint: Fingerprint) -> bool {
        self.0.desk.recall(name, fingerprint).is_some()
    }

    fn answer(&self, name: &Name, fingerprint: Fingerprint) -> Option<(Answer, DateTime<Utc>)> {
        match self.0.desk.recall(name, fingerprint)? {
            Recollection::Replay { answer, expires_at } => Some((answer, expires_at)),
            Recollection::Reused => None,
        }
    }

    fn note(&self, name: &Name, fingerprint: Fingerprint, answer: &Answer, expires_at: DateTime<Utc>) {
        self.0.desk.note_replayed(name, fingerprint, answer, expires_at);
    }

    fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }
}
