//! Which broker there is, and where.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[cfg(feature = "kafka")]
use super::Kafka;
use super::{InProcess, Nats, RabbitMq};
use crate::Broker;

/// The word for [`InProcess`].
const IN_PROCESS: &str = "in-process";

/// A broker's address, as the configuration gives it: a word, or a URL. It is not shown, for it may hold a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "Cow<'static, str>")]
pub struct Address {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    InProcess,
    Nats,
    RabbitMq,
    #[cfg(feature = "kafka")]
    Kafka,
}

/// What is wrong with an address. The text has a remedy, and nothing of the address but its scheme.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// A scheme of no broker, or none.
    #[error(
        "{0:?} is no kind of broker: it is {IN_PROCESS}, or a URL that begins with nats://, tls:// (NATS over TLS), amqp:// \
         (RabbitMQ) or kafka://"
    )]
    UnknownKind(String),
    /// RabbitMQ over TLS. The client library's TLS would bring a hundred more crates, a second generation of cryptography among
    /// them.
    #[error(
        "amqps:// is not supported: give amqp:// to a TLS proxy on this machine, which speaks TLS to RabbitMQ"
    )]
    NoTls,
    /// Kafka, where its library is not built in.
    #[error("this program is built without Kafka: build it with --features kafka")]
    NoKafka,
    /// The scheme is known, the rest is not understood.
    #[error("the URL of the broker cannot be read: {0}; write it as {1}")]
    Malformed(String, &'static str),
}

impl Address {
    /// A broker at this address, to which nothing is connected yet. The consumers are those that the service has itself: what is
    /// published must be kept for each. A server that keeps events for a time keeps them for `retention`.
    ///
    /// # Errors
    ///
    /// A URL that cannot be read.
    pub fn broker(&self, consumers: &[&str], retention: Duration) -> Result<Arc<dyn Broker>, AddressError> {
        Ok(match self.kind {
            Kind::InProcess => Arc::new(InProcess::new(consumers.iter().copied())),
            Kind::Nats => Arc::new(Nats::at(&self.text, retention)?),
            Kind::RabbitMq => Arc::new(RabbitMq::at(&self.text, consumers)?),
            #[cfg(feature = "kafka")]
            Kind::Kafka => Arc::new(Kafka::at(&self.text)?),
        })
    }
}

impl Default for Address {
    /// No server: events go to the consumers of the same process.
    fn default() -> Self {
        Self { kind: Kind::InProcess, text: IN_PROCESS.to_owned() }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let scheme = text.split_once("://").map_or(text, |(scheme, _)| scheme);
        let kind = match scheme {
            IN_PROCESS if scheme == text => Kind::InProcess,
            "nats" | "tls" => Kind::Nats,
            "amqp" => Kind::RabbitMq,
            "amqps" => return Err(AddressError::NoTls),
            #[cfg(feature = "kafka")]
            "kafka" => Kind::Kafka,
            #[cfg(not(feature = "kafka"))]
            "kafka" => return Err(AddressError::NoKafka),
            // What has no scheme may be anything, a password too.
            unknown => {
                let shown = if unknown.len() < text.len() { unknown } else { "what is given" };
                return Err(AddressError::UnknownKind(shown.to_owned()));
            }
        };
        let address = Self { kind, text: text.to_owned() };
        address.broker(&[], Duration::ZERO)?;
        Ok(address)
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Address> for Cow<'static, str> {
    fn from(address: Address) -> Self {
        match address.kind {
            Kind::InProcess => IN_PROCESS.into(),
            _ => "…".into(),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Address({:?})", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_by_its_scheme() {
        for (text, kind) in [
            ("in-process", Kind::InProcess),
            ("nats://127.0.0.1:4222", Kind::Nats),
            ("nats://one:4222,nats://other:4222\n", Kind::Nats),
            ("tls://user:secret@nats.example", Kind::Nats),
            ("amqp://guest:guest@127.0.0.1:5672/%2f", Kind::RabbitMq),
        ] {
            assert_eq!(text.parse::<Address>().expect("an address").kind, kind, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_secret_shown() {
        for (text, says) in [
            ("", "\"what is given\" is no kind of broker"),
            ("secret", "\"what is given\" is no kind of broker"),
            ("http://secret@example", "\"http\" is no kind of broker"),
            ("amqps://user:secret@rabbit.example", "amqps:// is not supported"),
            ("in-process://x", "\"in-process\" is no kind of broker"),
            ("nats://user:secret@[", "the URL of the broker cannot be read"),
            ("amqp://user:secret@[", "the URL of the broker cannot be read"),
        ] {
            let told = text.parse::<Address>().expect_err(text).to_string();
            assert!(told.contains(says), "{text:?}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn an_address_is_neither_printed_nor_written() {
        let address: Address = "amqp://user:secret@127.0.0.1".parse().expect("an address");
        assert_eq!(format!("{address:?}"), "Address(RabbitMq)");
        assert_eq!(serde_json::to_string(&address).expect("a text"), "\"…\"");
        let none = serde_json::to_string(&Address::default()).expect("a text");
        assert_eq!(serde_json::from_str::<Address>(&none).expect("an address"), Address::default());
    }
}
