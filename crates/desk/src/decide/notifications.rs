//! Writing down which endpoints are to be told of an event.

use notifications::WebhookDelivery;

use super::{Case, Decision};
use crate::Outcome;
use crate::command::NotificationCommand;
use crate::working_set::Changes;

pub(super) fn decide(case: &Case<'_>, command: &NotificationCommand) -> Decision {
    let delivery = |endpoint_id: &notifications::EndpointId| WebhookDelivery {
        client_id: case.client,
        endpoint_id: *endpoint_id,
        event_id: command.event_id,
        event_type: command.event_type.clone(),
        body: command.body.clone(),
        traceparent: command.traceparent.clone(),
        created_at: case.now,
    };
    let webhooks = command.endpoints.iter().map(delivery).collect();
    let changes = Changes { webhooks, ..Changes::default() };
    Decision { outcome: Outcome::WebhooksDue(command.event_id), changes }
}
