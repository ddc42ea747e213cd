//! Where events go: `[events]`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use events::brokers::Address;
use serde::{Deserialize, Serialize};
use validator::Validate;

/// `[events]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct EventsSection {
    /// The broker that events are published to.
    pub broker: Address,
    /// A file with its address, where that does not stand here. Empty: none.
    pub broker_file: PathBuf,
    /// Whether this server publishes. If no server does, events wait.
    pub relay: bool,
    /// For how long a published event is kept, in days; never for less than a record.
    #[validate(range(min = 1, max = 3_650))]
    pub retention_days: u32,
}

impl Default for EventsSection {
    fn default() -> Self {
        Self { broker: Address::default(), broker_file: PathBuf::new(), relay: true, retention_days: 7 }
    }
}

impl EventsSection {
    /// The broker's address, read from where it is.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that has none; an address at both places. No error shows one.
    pub fn address(&self) -> anyhow::Result<Address> {
        if self.broker_file.as_os_str().is_empty() {
            return Ok(self.broker.clone());
        }
        if self.broker != Address::default() {
            bail!("events.broker and events.broker_file are both given: leave one out");
        }
        let path = self.broker_file.display();
        let text = std::fs::read_to_string(&self.broker_file)
            .with_context(|| format!("events.broker_file: cannot read {path}"))?;
        text.parse().with_context(|| format!("events.broker_file: {path} has no address of a broker"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_file_is_the_same_as_one_of_the_configuration() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "nats://user:secret@nats.example\n").expect("it is written");
        let in_file = EventsSection { broker_file: file.path().to_owned(), ..EventsSection::default() };
        let inline = EventsSection {
            broker: "nats://user:secret@nats.example".parse().expect("an address"),
            ..EventsSection::default()
        };
        assert_eq!(in_file.address().expect("it is read"), inline.address().expect("it stands there"));
        let both = EventsSection { broker: inline.broker, ..in_file };
        assert!(format!("{:#}", both.address().expect_err("two are too many")).contains("leave one out"));
    }

    #[test]
    fn a_file_without_an_address_stops_the_start_and_is_not_shown() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "secret\n").expect("it is written");
        let section = EventsSection { broker_file: file.path().to_owned(), ..EventsSection::default() };
        let told = format!("{:#}", section.address().expect_err("it is no address"));
        assert!(told.starts_with("events.broker_file: ") && told.contains("no kind of broker"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
}
