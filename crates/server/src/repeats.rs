//! Repeats that another server has answered: the gateway's filter beside what this server remembers itself.

use desk::remembered::Recollection;
use idempotency::{Answer, Fingerprint, Name};

use crate::app::AppState;

/// What is known of a request before the desk is asked.
#[derive(Debug)]
pub enum Asked {
    /// Another server has answered it, so.
    Answered(Answer),
    /// The desk shall decide, and the errand is to be ended when it has.
    Undecided(Errand),
}

/// A request on its way through the desk, as far as other servers are to be told of it.
#[derive(Debug)]
pub struct Errand(Option<(Name, Fingerprint, gateway::repeats::Errand)>);

/// Asks the filter, if there is one, about a request that this server does not remember. What it remembers the desk
/// answers from memory, and what the server has named itself comes once.
pub async fn ask(state: &AppState, name: &Name, fingerprint: Fingerprint) -> Asked {
    let Some(repeats) = state.repeats.get() else { return Asked::Undecided(Errand(None)) };
    if name.key.is_of_service() || state.desk.recall(name, fingerprint).is_some() {
        return Asked::Undecided(Errand(None));
    }
    match repeats.ask(name, fingerprint, state.clock.now()).await {
        gateway::repeats::Asked::Answered { answer, expires_at } => {
            state.desk.note_replayed(name, fingerprint, &answer, expires_at);
            Asked::Answered(answer)
        }
        gateway::repeats::Asked::Undecided(errand) => {
            Asked::Undecided(Errand(Some((name.clone(), fingerprint, errand))))
        }
    }
}

impl Errand {
    /// Tells the other servers what became of the request. What this server remembers of it now is committed, and for
    /// ever: that is what its memory takes. A refusal that may run again is not among it, so no other server is told.
    pub fn end(self, state: &AppState) {
        let (Some(repeats), Some((name, fingerprint, errand))) = (state.repeats.get(), self.0) else {
            return;
        };
        match state.desk.recall(&name, fingerprint) {
            Some(Recollection::Replay { answer, expires_at }) => {
                repeats.finished(errand, &name, fingerprint, &answer, expires_at, state.clock.now());
            }
            Some(Recollection::Reused) | None => repeats.given_up(errand),
        }
    }
}
