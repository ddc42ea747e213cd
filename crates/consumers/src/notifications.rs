//! The consumer that has clients told of their events: which endpoints want an event, as a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use client::ClientId;
use desk::Command;
use desk::command::NotificationCommand;
use events::Message;
use idempotency::Fingerprint;
use idempotency::fingerprint::Meaning;
use notifications::{Endpoint, EndpointId};
use sqlx::PgPool;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The operation, as it stands in the records.
pub const OPERATION: &str = "notify";

/// For how long the list of endpoints is believed: an endpoint is told of what happens from so long after its adding on.
const KNOWN_FOR: Duration = Duration::from_secs(1);

/// More endpoints than these are not looked at.
const ENDPOINTS_MAX: i64 = 10_000;

/// The endpoints of all clients, as they were a moment ago. Cheap to clone; all clones share what is known.
#[derive(Clone, Default, Debug)]
pub struct Endpoints(Arc<Mutex<Known>>);

#[derive(Default, Debug)]
struct Known {
    of_clients: HashMap<ClientId, Vec<Endpoint>>,
    until: Option<Instant>,
}

impl Endpoints {
    /// The endpoints that are to be told of an event.
    ///
    /// # Errors
    ///
    /// If it is time to look for them and the database does not answer.
    pub async fn wanting(&self, pool: &PgPool, message: &Message) -> sqlx::Result<Vec<EndpointId>> {
        // Whoever comes while somebody looks waits for what that one finds.
        let mut known = self.0.lock().await;
        if known.until.is_none_or(|until| until <= Instant::now()) {
            let mut of_clients: HashMap<ClientId, Vec<Endpoint>> = HashMap::new();
            for endpoint in notifications::store::endpoints::active(pool, ENDPOINTS_MAX).await? {
                of_clients.entry(endpoint.client_id).or_default().push(endpoint);
            }
            *known = Known { of_clients, until: Some(Instant::now() + KNOWN_FOR) };
        }
        let endpoints = known.of_clients.get(&message.client_id).into_iter().flatten();
        let wanting = endpoints.filter(|endpoint| endpoint.wants(&message.event_type));
        Ok(wanting.map(|endpoint| endpoint.id).collect())
    }
}

/// What of the event matters. Not who is told: endpoints may come and go between two deliveries of one event.
pub fn fingerprint(message: &Message) -> Fingerprint {
    Meaning::of(OPERATION)
        .field("type", &message.event_type)
        .field("subject", &message.subject)
        .field("sequence", &message.sequence.to_string())
        .fingerprint()
}

/// The effect.
pub fn command(message: &Message, endpoints: Vec<EndpointId>) -> Command {
    Command::Notify(Box::new(NotificationCommand {
        event_id: message.id.0,
        event_type: message.event_type.clone(),
        body: message.body.to_vec(),
        traceparent: message.traceparent.clone(),
        endpoints,
    }))
}
