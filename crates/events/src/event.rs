//! An event.

use chrono::{DateTime, Utc};
use client::ClientId;
use uuid::Uuid;

/// Identifies an event: UUID version 7, fixed when it is written, so that whoever publishes it, however often,
/// publishes the same one.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    derive_more::Display,
    sqlx::Type,
    derive_more::From,
)]
#[sqlx(transparent)]
pub struct EventId(pub Uuid);

/// Something that happened to an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The client whose data it is.
    pub client_id: ClientId,
    /// Its identity.
    pub id: EventId,
    /// Its type with its version, such as `onefold.order.paid.v1`.
    pub event_type: &'static str,
    /// What kind of thing it happened to, such as `order`.
    pub aggregate_type: &'static str,
    /// Which one.
    pub aggregate_id: Uuid,
    /// Its place among the events of the aggregate: later events have larger numbers, which need not follow on
    /// each other.
    pub sequence: i64,
    /// What there is to tell, as a JSON document.
    pub data: serde_json::Value,
    /// When it was decided.
    pub occurred_at: DateTime<Utc>,
    /// The trace that it was caused in ([W3C Trace Context](https://www.w3.org/TR/trace-context/)), if there is one.
    pub traceparent: Option<String>,
}
