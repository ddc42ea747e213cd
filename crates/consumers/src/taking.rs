//! One event at one consumer.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use client::ClientId;
use desk::{Answered, Clock, Desk, Request};
use events::Message;
use idempotency::{Fingerprint, Key, Name};
use sqlx::PgPool;

use crate::rebuilding::{self, NotRebuilt};
use crate::set_aside::{Reason, SetAside, legible};
use crate::told::{Told, Unreadable};
use crate::{Endpoints, Failures, Rebuilds, notifications, read_model, store};

/// How long a repetition waits for the first, which runs somewhere at this moment.
const WAIT: Duration = Duration::from_secs(5);

/// How often the service of one process may fail at an event before it is set aside. What is merely away (the database, a free
/// place in a queue) does not count: it is asked for until it is back. Nor does a process that was killed.
const FAILURES_MAX: u32 = 5;

/// The pause before an event is delivered again, at first and at most.
const LATER: Duration = Duration::from_millis(200);
const LATER_MAX: Duration = Duration::from_secs(30);

/// Clocks of servers, and the clock that a record is deleted by, do not agree to the second.
const CLOCKS_DIFFER_BY: Duration = Duration::from_secs(600);

/// A consumer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Consumer {
    /// Keeps the daily totals.
    ReadModel,
    /// Has clients told of their events at their own endpoints.
    Notifications,
}

impl Consumer {
    /// Every consumer.
    pub const ALL: [Self; 2] = [Self::ReadModel, Self::Notifications];

    /// Its name: for its subscription, and in the names of its effects.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadModel => "read-model",
            Self::Notifications => "notifications",
        }
    }

    /// The consumer of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|consumer| consumer.name() == name)
    }
}

/// What became of an event at a consumer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Came {
    /// It is taken: its effect and its record are committed, now or earlier, or there is nothing in it for this consumer.
    Taken,
    /// Not now: it is to be delivered again after this pause.
    Later(Duration),
    /// Never: for this reason, told in a sentence.
    Never(Reason, String),
}

/// What consumers need.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the desk and the clock have nothing to show")]
pub struct Consuming {
    /// The door.
    pub desk: Desk,
    /// For look-ups, and for what is set aside.
    pub pool: PgPool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// For how long the desk keeps its records at least.
    pub retention: Duration,
    /// Who wants to be told of what.
    pub endpoints: Endpoints,
    /// Which days are rebuilt: of the many old events of one day the first has it rebuilt, and the others find it so.
    pub rebuilds: Rebuilds,
    /// How often the service has failed at which event.
    pub failures: Failures,
}

/// What an event asks of the door.
struct Asking {
    operation: &'static str,
    fingerprint: Fingerprint,
    command: desk::Command,
}

impl Consuming {
    /// Has a consumer take an event. `attempt` is how often it was delivered, this time included; the pause before the next
    /// time follows from it, and nothing else.
    pub async fn take(&self, consumer: Consumer, message: &Message, attempt: u32) -> Came {
        let came = match consumer {
            Consumer::ReadModel => self.count(message, attempt).await,
            Consumer::Notifications => self.notify(message, attempt).await,
        };
        let came = came.unwrap_or_else(|fault| Came::Never(Reason::Unreadable, fault.to_string()));
        if !matches!(came, Came::Later(_)) {
            self.failures.forget(consumer, message.id);
        }
        came
    }

    async fn count(&self, message: &Message, attempt: u32) -> Result<Came, Unreadable> {
        let told = Told::read(&message.body)?;
        let Some(asked) = read_model::Asked::by(&told, &message.event_type, message.sequence)? else {
            return Ok(Came::Taken);
        };
        if self.may_be_forgotten(told.time) {
            return Ok(self.rebuild_day_of(message, &asked, attempt).await);
        }
        let (operation, fingerprint, command) = (read_model::OPERATION, asked.fingerprint(), asked.command());
        let asking = Asking { operation, fingerprint, command };
        Ok(self.ask(Consumer::ReadModel, message, attempt, asking).await)
    }

    async fn notify(&self, message: &Message, attempt: u32) -> Result<Came, Unreadable> {
        // First, since most clients have no endpoint, and then the event need not be read.
        let endpoints = match self.endpoints.wanting(&self.pool, message).await {
            Ok(endpoints) if endpoints.is_empty() => return Ok(Came::Taken),
            Ok(endpoints) => endpoints,
            Err(error) => {
                tracing::debug!(%error, "cannot look for webhook endpoints now");
                return Ok(Came::Later(pause_after(attempt)));
            }
        };
        if self.may_be_forgotten(Told::read(&message.body)?.time) {
            let detail =
                "the event is older than the records are kept: its endpoints may have been told of it";
            return Ok(Came::Never(Reason::TooOld, detail.to_owned()));
        }
        let (operation, fingerprint) = (notifications::OPERATION, notifications::fingerprint(message));
        let command = notifications::command(message, endpoints);
        let asking = Asking { operation, fingerprint, command };
        Ok(self.ask(Consumer::Notifications, message, attempt, asking).await)
    }

    /// Whether the record of an event of that time may have been deleted: it is made after the event, and kept for the
    /// retention at least. Until then "no record" means "not taken"; from then on nobody can tell.
    fn may_be_forgotten(&self, happened_at: DateTime<Utc>) -> bool {
        let certain = self.retention - CLOCKS_DIFFER_BY.min(self.retention / 2);
        self.clock.now().signed_duration_since(happened_at).to_std().is_ok_and(|age| age > certain)
    }

    /// An event that may or may not be in its day's totals: the day is computed from the books, which have it.
    async fn rebuild_day_of(&self, message: &Message, asked: &read_model::Asked, attempt: u32) -> Came {
        let (client, day) = (message.client_id, asked.day);
        match self.rebuild_unless_done(client, asked).await {
            Ok(true) => Came::Taken,
            Ok(false) => Came::Later(pause_after(attempt)),
            Err(fault @ NotRebuilt::NotOver(_)) => Came::Never(Reason::TooOld, fault.to_string()),
            // A day that cannot be read however often, and not for want of a database, would stop the events behind.
            Err(fault)
                if fault.is_of_the_day()
                    && self.failures.count(Consumer::ReadModel, message.id) >= FAILURES_MAX =>
            {
                Came::Never(Reason::Failed, fault.to_string())
            }
            Err(fault) => {
                tracing::debug!(%fault, %day, "a day cannot be rebuilt now");
                Came::Later(pause_after(attempt))
            }
        }
    }

    /// Answers whether the day's totals come from the books: not yet, while others are rebuilt.
    async fn rebuild_unless_done(
        &self,
        client: ClientId,
        asked: &read_model::Asked,
    ) -> Result<bool, NotRebuilt> {
        let is_done = || reports::store::is_rebuilt(&self.pool, client, asked.day, asked.currency);
        if is_done().await? {
            return Ok(true);
        }
        let Some(_rebuild) = self.rebuilds.begin(client) else { return Ok(false) };
        // Another event may have had it done between the look and the turn.
        if !is_done().await? {
            let (now, wanted) = (self.clock.now(), Some(asked.currency));
            rebuilding::rebuild(&self.desk, &self.pool, (client, asked.day), wanted, now).await?;
        }
        Ok(true)
    }

    /// Brings an effect to the door under the name of the consumer and the event, and waits for the commit.
    async fn ask(&self, consumer: Consumer, message: &Message, attempt: u32, asking: Asking) -> Came {
        let Asking { operation, fingerprint, command } = asking;
        let event_id = message.id.0;
        let request = Request {
            name: Name {
                client_id: message.client_id,
                key: Key::of_service(consumer.name(), &[event_id.as_bytes()]),
            },
            fingerprint,
            operation,
            command,
            request_id: event_id.to_string(),
        };
        match self.desk.submit(request, Some(WAIT)).await.answered {
            Answered::Ran(answer) | Answered::Replayed(answer) if answer.status < 400 => Came::Taken,
            Answered::Ran(answer) | Answered::Replayed(answer) => {
                Came::Never(Reason::Refused, String::from_utf8_lossy(&answer.body).into_owned())
            }
            Answered::Reused => {
                let detail = "an event with another content was taken under this id";
                Came::Never(Reason::OtherContent, detail.to_owned())
            }
            Answered::Failed => match self.failures.count(consumer, message.id) {
                failures @ FAILURES_MAX.. => Came::Never(
                    Reason::Failed,
                    format!("the service failed at it {failures} times: its log says why"),
                ),
                _ => Came::Later(pause_after(attempt)),
            },
            Answered::InProgress
            | Answered::Undecided
            | Answered::Contended
            | Answered::Overloaded
            | Answered::Unavailable
            | Answered::OutcomeUnknown => Came::Later(pause_after(attempt)),
        }
    }

    /// Sets an event aside, out of the way of those behind it.
    ///
    /// # Errors
    ///
    /// If the database does not answer: then the event is not to be acknowledged.
    pub async fn set_aside(
        &self,
        consumer: Consumer,
        message: &Message,
        (reason, detail): (Reason, String),
    ) -> sqlx::Result<()> {
        let event = SetAside {
            client_id: message.client_id,
            consumer: consumer.name().to_owned(),
            event_id: message.id.0,
            event_type: message.event_type.clone(),
            subject: message.subject.clone(),
            sequence: message.sequence,
            body: message.body.to_vec(),
            reason: reason.as_str().to_owned(),
            detail: legible(&detail),
            set_aside_at: self.clock.now(),
        };
        store::set_aside(&self.pool, &event).await?;
        tracing::warn!(
            consumer = consumer.name(),
            event_id = %message.id,
            event_type = message.event_type,
            reason = event.reason,
            detail = event.detail,
            "an event was set aside: `onefold consumer replay` takes it once more"
        );
        Ok(())
    }
}

/// Twice as long each time.
fn pause_after(attempt: u32) -> Duration {
    LATER.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LATER_MAX)
}
