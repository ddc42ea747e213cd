//! The [AsyncAPI 3.0](https://www.asyncapi.com/docs/reference/specification/v3.0.0) document: the events that the service
//! publishes, and where.
//!
//! - this file: the document;
//! - [`event_types`]: the types of event there are;
//! - [`shapes`]: what they carry.
//!
//! `openapi/asyncapi.json` holds a copy, and a test fails when the two differ.

pub mod event_types;
pub mod shapes;

use events::brokers::{nats, rabbitmq};
use events::message::{CONTENT_TYPE, SOURCE};
use serde_json::{Map, Value, json};

use self::event_types::{EVENT_TYPES, EventType};
use self::shapes::{SHAPES, id};

/// The document as text: indented, the same for the same code, ending with a line break.
pub fn json() -> String {
    format!("{:#}\n", document())
}

/// The document.
pub fn document() -> Value {
    let mut schemas = Map::from_iter([("Event".to_owned(), envelope())]);
    schemas.extend(SHAPES.iter().map(|shape| (shape.name.to_owned(), (shape.schema)())));
    let messages: Map<_, _> =
        EVENT_TYPES.iter().map(|event_type| (event_type.name.to_owned(), message(event_type))).collect();
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Onefold's events",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Every effect tells of itself, at least once and of each thing in order. An event may come twice, \
                under the same id.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "defaultContentType": CONTENT_TYPE,
        "servers": {
            "nats": { "host": "localhost:4222", "protocol": "nats", "description": "NATS with JetStream" },
            "rabbitmq": { "host": "localhost:5672", "protocol": "amqp", "protocolVersion": "0.9.1" },
        },
        "channels": {
            "nats": channel("nats", &format!("{}.{{partition}}.{{client}}.{{event}}", nats::STREAM), true),
            "rabbitmq": channel("rabbitmq", "{client}.{event}", false),
        },
        "operations": {
            "publishToNats": { "action": "send", "channel": { "$ref": "#/channels/nats" } },
            "publishToRabbitMq": { "action": "send", "channel": { "$ref": "#/channels/rabbitmq" } },
        },
        "components": { "messages": messages, "schemas": schemas },
    })
}

/// Where a broker has the events.
fn channel(server: &str, address: &str, has_partitions: bool) -> Value {
    let messages: Map<_, _> = EVENT_TYPES
        .iter()
        .map(|EventType { name, .. }| {
            ((*name).to_owned(), json!({ "$ref": format!("#/components/messages/{name}") }))
        })
        .collect();
    let events: Vec<_> = EVENT_TYPES.iter().map(|event_type| event_type.address()).collect();
    let mut channel = json!({
        "address": address,
        "servers": [{ "$ref": format!("#/servers/{server}") }],
        "parameters": {
            "client": { "description": "The id of the client whose data it is" },
            "event": { "description": "The type of the event, without its first word", "enum": events },
        },
        "messages": messages,
    });
    if has_partitions {
        let partitions: Vec<_> = (0..nats::PARTITIONS).map(|partition| partition.to_string()).collect();
        channel["parameters"]["partition"] = json!({
            "description": "All events of a thing are in one partition; subscribe to `*`",
            "enum": partitions,
        });
    } else {
        channel["bindings"] = json!({
            "amqp": {
                "is": "routingKey",
                "exchange": { "name": rabbitmq::EXCHANGE, "type": "topic", "durable": true, "autoDelete": false },
            },
        });
    }
    channel
}

fn message(event_type: &EventType) -> Value {
    json!({
        "name": event_type.name,
        "title": event_type.summary,
        "contentType": CONTENT_TYPE,
        "payload": {
            "allOf": [
                { "$ref": "#/components/schemas/Event" },
                {
                    "type": "object",
                    "properties": {
                        "type": { "const": event_type.name },
                        "subject": { "pattern": format!("^{}/", event_type.aggregate) },
                        "data": { "$ref": format!("#/components/schemas/{}", event_type.shape) },
                    },
                },
            ],
        },
    })
}

/// What all events have: the attributes of CloudEvents 1.0, and its extensions `sequence` and `traceparent`.
fn envelope() -> Value {
    json!({
        "type": "object",
        "description": "A CloudEvents 1.0 document in the JSON format",
        "required": [
            "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "clientid", "sequence", "data",
        ],
        "properties": {
            "specversion": { "const": "1.0", "description": "The version of CloudEvents" },
            "id": id("The event's identity, the same however often it comes"),
            "source": { "const": SOURCE, "description": "Who tells: the service" },
            "type": { "type": "string", "description": "What happened, with the version of its data" },
            "subject": {
                "type": "string",
                "description": "What it happened to: kind and id",
                "pattern": "^[a-z_]+/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            },
            "time": { "type": "string", "format": "date-time", "description": "When it was decided" },
            "datacontenttype": { "const": "application/json", "description": "What `data` is" },
            "clientid": id("The client whose data it is"),
            "sequence": {
                "type": "string",
                "description": "Its place among the events of its subject: later events have larger ones, which need not follow \
                    on each other. As many digits as a text needs to sort as its number does",
                "pattern": "^[0-9]{19}$",
            },
            "traceparent": {
                "type": "string",
                "description": "The trace that it was caused in (W3C Trace Context), if there is one",
            },
            "data": { "type": "object", "description": "What there is to tell; its shape goes by `type`" },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_copy_in_the_repository_is_what_the_code_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/asyncapi.json");
        let copy = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            copy == json(),
            "openapi/asyncapi.json is not what the code says; run: cargo run -- asyncapi > openapi/asyncapi.json"
        );
    }

    #[test]
    fn the_document_has_the_types_that_the_audit_knows() {
        let documented: BTreeSet<(&str, &str)> =
            EVENT_TYPES.iter().map(|event_type| (event_type.name, event_type.aggregate)).collect();
        let audited: BTreeSet<(&str, &str)> = audit::vocabulary::EVENTS.iter().copied().collect();
        assert_eq!(documented, audited);
        assert_eq!(documented.len(), EVENT_TYPES.len(), "a type stands twice in the list");
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = document();
        let mut references = BTreeSet::new();
        collect(&document, &mut references);
        for reference in &references {
            let pointer = reference.strip_prefix('#').expect("all are of this document");
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
        for shape in SHAPES {
            let reference = format!("#/components/schemas/{}", shape.name);
            assert!(references.contains(&reference), "nothing carries {}", shape.name);
        }
    }

    fn collect(value: &Value, references: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| collect(member, references));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
            _ => {}
        }
    }
}
