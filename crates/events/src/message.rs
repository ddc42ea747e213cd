//! An event as it is published: a [CloudEvents 1.0](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md)
//! document in the [JSON format](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use client::ClientId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{EventId, Place};

/// The media type of [`Message::body`].
pub const CONTENT_TYPE: &str = "application/cloudevents+json; charset=utf-8";

/// The `source` of every event: together with the id it is unique.
pub const SOURCE: &str = "/onefold";

/// Digits of the `sequence` attribute. The
/// [sequence extension](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/extensions/sequence.md) wants a text
/// that sorts as the events do.
const SEQUENCE_DIGITS: usize = 19;

/// The longest type and the longest subject that are read, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The longest `traceparent` that is kept, in bytes: one of the version that there is has 55.
const TRACEPARENT_BYTES_MAX: usize = 64;

/// An event, ready to be published, or as it was delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The event's identity, which is the same however often it is published.
    pub id: EventId,
    /// The client whose data it is.
    pub client_id: ClientId,
    /// Its type with its version, such as `onefold.order.paid.v1`.
    pub event_type: String,
    /// What it happened to: kind and id, such as `order/0191…`.
    pub subject: String,
    /// Its place among the events of its subject: later events have larger numbers.
    pub sequence: i64,
    /// The CloudEvents document.
    pub body: Bytes,
    /// The trace that it was caused in ([W3C Trace Context](https://www.w3.org/TR/trace-context/)), if there is one.
    pub traceparent: Option<String>,
}

/// A delivered body that is no event of this service. The text says what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("it is no event of this service: {0}")]
pub struct NoEvent(String);

/// The document, attribute by attribute.
#[derive(Serialize)]
struct Document<'e> {
    specversion: &'static str,
    id: Uuid,
    source: &'static str,
    r#type: &'e str,
    subject: &'e str,
    time: String,
    datacontenttype: &'static str,
    clientid: Uuid,
    sequence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'e str>,
    data: &'e RawValue,
}

/// What is read of a document that a broker brings.
#[derive(Deserialize)]
struct Envelope {
    id: Uuid,
    r#type: String,
    subject: String,
    clientid: Uuid,
    sequence: String,
    traceparent: Option<String>,
}

/// A row of the outbox that waits to be published.
#[derive(Debug, sqlx::FromRow)]
pub struct Pending {
    /// The client whose data it is.
    pub client_id: ClientId,
    /// Its identity.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// The kind of thing that it happened to.
    pub aggregate_type: String,
    /// Which one.
    pub aggregate_id: Uuid,
    /// Its place among the events of that thing.
    pub sequence: i64,
    /// What there is to tell, as the text that was written.
    pub data: String,
    /// When it was decided.
    pub occurred_at: DateTime<Utc>,
    /// The trace that it was caused in.
    pub traceparent: Option<String>,
    /// Its horizon, in decimal digits.
    pub horizon: String,
}

impl Pending {
    /// Its place in its client's stream.
    pub fn place(&self) -> Place {
        Place {
            horizon: self.horizon.clone(),
            aggregate_id: self.aggregate_id,
            sequence: self.sequence,
            event_id: self.event_id.0,
        }
    }

    /// The message that tells of it: the same bytes however often it is made.
    pub fn message(self) -> Message {
        let subject = format!("{}/{}", self.aggregate_type, self.aggregate_id);
        let data = RawValue::from_string(self.data).expect("the column holds JSON");
        let document = Document {
            specversion: "1.0",
            id: self.event_id.0,
            source: SOURCE,
            r#type: &self.event_type,
            subject: &subject,
            time: self.occurred_at.to_rfc3339_opts(SecondsFormat::Micros, true),
            datacontenttype: "application/json",
            clientid: self.client_id.0,
            sequence: format!("{:0SEQUENCE_DIGITS$}", self.sequence),
            traceparent: self.traceparent.as_deref(),
            data: &data,
        };
        let body = serde_json::to_vec(&document).expect("texts and numbers are JSON").into();
        Message {
            id: self.event_id,
            client_id: self.client_id,
            event_type: self.event_type,
            subject,
            sequence: self.sequence,
            body,
            traceparent: self.traceparent,
        }
    }
}

impl Message {
    /// Reads a document that a broker has delivered.
    ///
    /// # Errors
    ///
    /// [`NoEvent`], for a body that this service has not written.
    pub fn read(body: Bytes) -> Result<Self, NoEvent> {
        let envelope: Envelope = serde_json::from_slice(&body).map_err(|error| NoEvent(error.to_string()))?;
        // Whoever may publish to the broker may write what he likes, and this is kept in tables and shown on terminals.
        for (name, text) in [("type", &envelope.r#type), ("subject", &envelope.subject)] {
            if text.is_empty()
                || text.len() > NAME_BYTES_MAX
                || text.contains(|c: char| !c.is_ascii_graphic())
            {
                let what = format!("its {name} is not 1 to {NAME_BYTES_MAX} printable characters of ASCII");
                return Err(NoEvent(what));
            }
        }
        let sequence = envelope
            .sequence
            .parse()
            .map_err(|_| NoEvent(format!("its sequence is {:?}", envelope.sequence)))?;
        Ok(Self {
            id: EventId(envelope.id),
            client_id: ClientId(envelope.clientid),
            event_type: envelope.r#type,
            subject: envelope.subject,
            sequence,
            body,
            traceparent: envelope.traceparent.filter(|text| is_traceparent(text)),
        })
    }
}

/// Whether it has the form of a `traceparent`, of this version or a later one. What has not is passed over, as the
/// [specification](https://www.w3.org/TR/trace-context/#versioning-of-traceparent) says.
fn is_traceparent(text: &str) -> bool {
    text.len() <= TRACEPARENT_BYTES_MAX
        && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An event of this thing, for tests that look at neither its id nor its body.
    pub(crate) fn message(subject: &str, sequence: i64) -> Message {
        Message {
            id: EventId(Uuid::nil()),
            client_id: ClientId(Uuid::nil()),
            event_type: "onefold.order.paid.v1".to_owned(),
            subject: subject.to_owned(),
            sequence,
            body: Bytes::new(),
            traceparent: None,
        }
    }

    fn pending() -> Pending {
        Pending {
            client_id: ClientId(Uuid::from_u128(1)),
            event_id: EventId(Uuid::from_u128(2)),
            event_type: "onefold.order.paid.v1".to_owned(),
            aggregate_type: "order".to_owned(),
            aggregate_id: Uuid::from_u128(3),
            sequence: 7,
            data: r#"{"amount":"1.00"}"#.to_owned(),
            occurred_at: DateTime::from_timestamp(1_700_000_000, 0).expect("a time"),
            traceparent: None,
            horizon: "700".to_owned(),
        }
    }

    #[test]
    fn a_document_has_the_attributes_of_the_specification_and_the_data_as_it_was_written() {
        let message = pending().message();
        let text = String::from_utf8(message.body.to_vec()).expect("UTF-8");
        assert_eq!(
            text,
            r#"{"specversion":"1.0","id":"00000000-0000-0000-0000-000000000002","source":"/onefold","type":"onefold.order.paid.v1","subject":"order/00000000-0000-0000-0000-000000000003","time":"2023-11-14T22:13:20.000000Z","datacontenttype":"application/json","clientid":"00000000-0000-0000-0000-000000000001","sequence":"0000000000000000007","data":{"amount":"1.00"}}"#
        );
    }

    #[test]
    fn what_is_published_is_read_back() {
        let message = Pending { traceparent: Some("00-1-2-01".to_owned()), ..pending() }.message();
        assert_eq!(Message::read(message.body.clone()).expect("an event"), message);
    }

    #[test]
    fn what_is_no_event_of_this_service_is_told_apart() {
        for body in ["", "{}", "[1]", r#"{"id":"x"}"#] {
            assert!(Message::read(Bytes::copy_from_slice(body.as_bytes())).is_err(), "{body}");
        }
    }

    /// The document of an event with another text in the place of one of its own.
    fn document_with(text: &str, other: &str) -> Bytes {
        let document = Pending { traceparent: Some("00-1-2-01".to_owned()), ..pending() }.message().body;
        let document = String::from_utf8(document.to_vec()).expect("UTF-8");
        assert!(document.contains(text));
        document.replace(text, other).into()
    }

    #[test]
    fn names_that_no_table_could_keep_and_no_terminal_show_are_none_of_this_service() {
        for name in ["", "a b", r"\u0000", r"\u001b[2J", r"\n", "\u{202e}", &"x".repeat(257)] {
            for text in ["onefold.order.paid.v1", "order/00000000-0000-0000-0000-000000000003"] {
                let fault = Message::read(document_with(text, name)).expect_err(name).to_string();
                assert!(fault.contains("printable"), "{fault}");
            }
        }
    }

    #[test]
    fn a_traceparent_that_is_none_is_passed_over() {
        for (text, kept) in [
            ("00-1-2-01", true),
            ("01-1-2-01-ab", true),
            (r"00-1-2-01\r\nx: y", false),
            (&"0".repeat(65), false),
        ] {
            let message = Message::read(document_with("00-1-2-01", text)).expect("an event");
            assert_eq!(message.traceparent.is_some(), kept, "{text}");
        }
    }
}
