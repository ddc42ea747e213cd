//! One event for one endpoint.

use chrono::{DateTime, Utc};
use client::ClientId;
use uuid::Uuid;

use crate::EndpointId;

/// An event that an endpoint is to be told of. There is one for each endpoint and event, for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookDelivery {
    /// Whose event it is.
    pub client_id: ClientId,
    /// Who is told.
    pub endpoint_id: EndpointId,
    /// The event, which is also the delivery's `webhook-id`: the receiver's own means against repetitions.
    pub event_id: Uuid,
    /// The event's type.
    pub event_type: String,
    /// The bytes that are sent: the event as CloudEvents JSON.
    pub body: Vec<u8>,
    /// The trace that the event belongs to (W3C Trace Context).
    pub traceparent: Option<String>,
    /// When it was decided that it is to be sent.
    pub created_at: DateTime<Utc>,
}
