//! Events that a consumer cannot take. They are kept with the reason, out of the way of those behind them, and can be
//! taken once more when the reason is gone.

use chrono::{DateTime, Utc};
use client::ClientId;
use events::{EventId, Message};
use uuid::Uuid;

/// The longest sentence that is kept, in characters.
const DETAIL_CHARS_MAX: usize = 1_000;

/// A sentence as a table can keep it and a terminal show it: it may repeat what somebody else has written.
pub fn legible(detail: &str) -> String {
    let legible = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    detail.chars().take(DETAIL_CHARS_MAX).map(legible).collect()
}

/// Why an event was set aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It cannot be read.
    Unreadable,
    /// It is so old that the record of it may have been forgotten: nobody can tell whether it was taken.
    TooOld,
    /// Another event was taken under its id.
    OtherContent,
    /// A rule says no.
    Refused,
    /// The service fails at it, each time.
    Failed,
}

impl Reason {
    /// The word for it in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::TooOld => "too_old",
            Self::OtherContent => "other_content",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// An event that was set aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAside {
    /// Whose event it is.
    pub client_id: ClientId,
    /// Which consumer could not take it.
    pub consumer: String,
    /// The event.
    pub event_id: Uuid,
    /// Its type.
    pub event_type: String,
    /// What it is about.
    pub subject: String,
    /// Its place among the events of that.
    pub sequence: i64,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Why, in one word: that of a [`Reason`].
    pub reason: String,
    /// Why, in a sentence.
    pub detail: String,
    /// When.
    pub set_aside_at: DateTime<Utc>,
}

/// The event as it was delivered, to be taken once more.
pub fn message_of(event: SetAside) -> Message {
    Message {
        id: EventId(event.event_id),
        client_id: event.client_id,
        event_type: event.event_type,
        subject: event.subject,
        sequence: event.sequence,
        body: event.body.into(),
        traceparent: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_reason_is_short_and_has_no_control_characters() {
        assert_eq!(legible("no \"\u{0}\u{1b}[2J\""), "no \"\u{fffd}\u{fffd}[2J\"");
        assert_eq!(legible(&"x".repeat(5_000)).len(), DETAIL_CHARS_MAX);
    }
}
