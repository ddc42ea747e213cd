//! What can be asked for about webhooks.

use notifications::EndpointId;
use uuid::Uuid;

/// An event that endpoints of its client are to be told of. The name that it goes through the door under is the event's, so
/// each endpoint is told of it once, however often it is delivered again to make sure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotificationCommand {
    /// The event.
    pub event_id: Uuid,
    /// Its type.
    pub event_type: String,
    /// Its bytes, as they are to be sent.
    pub body: Vec<u8>,
    /// The trace that it belongs to.
    pub traceparent: Option<String>,
    /// Who is told. No endpoint comes twice.
    pub endpoints: Vec<EndpointId>,
}
