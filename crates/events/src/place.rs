//! How far a client's events are published.

use uuid::Uuid;

/// An event's place in the stream of its client. Places are ordered by their fields, one after the other, as the database
/// compares them: the horizon as a number. Of one thing, later events have later places.
#[derive(Clone, PartialEq, Eq, Debug, sqlx::FromRow)]
pub struct Place {
    /// The transaction id (64 bits, in decimal digits) that none had reached when the event was written, or that of its own
    /// transaction if that is later.
    pub horizon: String,
    /// What the event happened to.
    pub aggregate_id: Uuid,
    /// Its place among the events of that.
    pub sequence: i64,
    /// Its identity.
    pub event_id: Uuid,
}

impl Place {
    /// Before every event.
    pub fn start() -> Self {
        Self { horizon: "0".to_owned(), aggregate_id: Uuid::nil(), sequence: i64::MIN, event_id: Uuid::nil() }
    }
}
