//! What the configuration file can set, with the default of each key.
//!
//! The file is TOML; every key may be left out, and none is there that the code does not know: a misspelt key that
//! was passed over in silence would leave its owner believing in a limit that is not there. Units end the names.
//! Where the server listens and which database it uses are not in the file but flags and variables: they belong to
//! the machine, and the database's URL holds a secret.
//!
//! In reading order:
//!
//! - this file: the sections and their keys;
//! - [`issued_keys`]: the keys that the server makes;
//! - [`route_limits`]: how often single routes may be asked for;
//! - [`proxies`]: proxies in front of the service;
//! - [`repeats`](mod@repeats): the filter for repeats;
//! - [`secrets`]: secrets that stand here, or in files of their own;
//! - [`callbacks`]: the endpoints that payment providers call;
//! - [`telemetry`]: where traces are sent;
//! - [`events`]: where events go;
//! - [`webhooks`]: what is done with events;
//! - [`statements`]: how their settlement statements are laid out;
//! - [`file`](mod@file): from a path or a text to a [`Configuration`], with one sentence for what is wrong in it.

pub mod callbacks;
pub mod events;
pub mod file;
pub mod issued_keys;
pub mod proxies;
pub mod repeats;
pub mod route_limits;
pub mod secrets;
pub mod statements;
pub mod telemetry;
pub mod webhooks;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use chrono::TimeDelta;
use desk::sweeper::SweepSettings;
use idempotency::FailedPolicy;
use serde::{Deserialize, Serialize};
use validator::Validate;

use crate::app::HttpSettings;
use crate::endpoints::Endpoint;
use crate::issued_keys::VALID_HOURS;
use crate::listen;
use crate::provider_calls::CallSettings;
use crate::pruning::Kept;
use crate::watch::{AuditSettings, FIRST_AUDIT_WITHIN};

pub use callbacks::CallbackSection;
pub use events::EventsSection;
pub use file::ConfigurationError;
pub use proxies::{ProxyHeader, TrustedProxy};
pub use repeats::RepeatsSection;
pub use route_limits::RequestsPerSecond;
pub use secrets::InlineSecret;
pub use statements::StatementSection;
pub use telemetry::TelemetrySection;
pub use webhooks::{ConsumersSection, WebhooksSection};

/// The whole file. `onefold.example.toml` describes every key and holds the defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct Configuration {
    /// How long a key is remembered, and what a recorded refusal does.
    #[validate(nested)]
    pub idempotency: IdempotencySection,
    /// Lanes, batches and patience of the desk.
    #[validate(nested)]
    pub desk: DeskSection,
    /// Limits of the HTTP surface.
    #[validate(nested)]
    pub http: HttpSection,
    /// How often a client may ask for single routes, by method and path template. There are none unless given.
    #[serde(skip_serializing)]
    pub requests_per_second: BTreeMap<String, RequestsPerSecond>,
    /// Where servers tell each other of repeats. Nowhere, unless there is a Redis.
    #[validate(nested)]
    pub repeats: RepeatsSection,
    /// When a person is asked about payments at providers.
    #[validate(nested)]
    pub payments: PaymentsSection,
    /// What this server does with events.
    #[validate(nested)]
    pub consumers: ConsumersSection,
    /// How clients are told of their events.
    #[validate(nested)]
    pub webhooks: WebhooksSection,
    /// Where payment providers call: an endpoint a section, by name. There are none unless given.
    #[serde(skip_serializing)]
    #[validate(nested)]
    pub callbacks: BTreeMap<String, CallbackSection>,
    /// How settlement statements are laid out, a provider a section. Without one, as the provider's own.
    #[serde(skip_serializing)]
    pub statements: BTreeMap<String, StatementSection>,
    /// Where events go, and how long they are kept.
    #[validate(nested)]
    pub events: EventsSection,
    /// The service's own connections.
    #[validate(nested)]
    pub database: DatabaseSection,
    /// When the server audits the books.
    #[validate(nested)]
    pub verify: VerifySection,
    /// Where traces are sent.
    #[validate(nested)]
    pub telemetry: TelemetrySection,
    /// The PostgreSQL that the service runs when it is given none.
    #[validate(nested)]
    pub embedded: EmbeddedSection,
}

/// `[idempotency]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct IdempotencySection {
    /// How long a record is kept at least, in hours.
    #[validate(range(min = 1, max = 87_600))]
    pub retention_hours: u32,
    /// What the same request does under a key whose record is a refusal.
    pub failed: Failed,
    /// What the keys are sealed with that the server makes: the secret for new ones, and the one before it.
    pub issue_secrets: Vec<InlineSecret>,
    /// The files of those secrets, where they do not stand here.
    pub issue_secret_files: Vec<PathBuf>,
    /// For how long a key that the server has made may be used for the first time, in hours.
    #[validate(range(min = 1, max = 8_760))]
    pub issued_valid_hours: u32,
    /// Clients that may use no keys but those that the server has made, by name.
    pub require_issued: Vec<String>,
}

/// What a recorded refusal does to the same request under the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Failed {
    /// It is answered again, as a success would be.
    Replay,
    /// The request runs again, and the record counts its attempts.
    Retry,
}

/// `[desk]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct DeskSection {
    /// Tasks that run batches, with one database connection each.
    #[validate(range(min = 1, max = 64))]
    pub lanes: u32,
    /// Commands in a batch at most.
    #[validate(range(min = 1, max = 1_024))]
    pub batch_max: u32,
    /// Commands that may wait in a lane's queue; one more is refused at once.
    #[validate(range(min = 1, max = 1_000_000))]
    pub queue_max: u32,
    /// Tries of a batch that loses the optimistic lock.
    #[validate(range(min = 1, max = 1_000))]
    pub tries_max: u32,
    /// How long a lane tries to get its connection back before it answers that nothing happened.
    #[validate(range(min = 1, max = 60_000))]
    pub reconnect_wait_ms: u32,
    /// How long a lane tries to learn what became of a commit whose answer was lost.
    #[validate(range(min = 1, max = 300_000))]
    pub unknown_wait_ms: u32,
    /// PostgreSQL's `statement_timeout` for the lanes.
    #[validate(range(min = 100, max = 600_000))]
    pub statement_timeout_ms: u32,
    /// PostgreSQL's `lock_timeout` for the lanes.
    #[validate(range(min = 10, max = 600_000))]
    pub lock_timeout_ms: u32,
    /// PostgreSQL's `idle_in_transaction_session_timeout` for the lanes.
    #[validate(range(min = 100, max = 600_000))]
    pub idle_in_transaction_timeout_ms: u32,
    /// Between two questions after names that another process is running.
    #[validate(range(min = 1, max = 10_000))]
    pub poll_interval_ms: u32,
    /// Finished answers that are remembered in this process, in MB.
    #[validate(range(max = 65_536))]
    pub remembered_mb: u32,
}

/// `[http]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSection {
    /// A request's body at most, in bytes.
    #[validate(range(min = 1_024, max = 16_777_216))]
    pub body_bytes_max: u32,
    /// How long a request may take from its last header to its answer, the wait that it prefers not counted.
    #[validate(range(min = 100, max = 600_000))]
    pub request_timeout_ms: u32,
    /// How long a request's headers may take to arrive, and a connection may idle.
    #[validate(range(min = 100, max = 600_000))]
    pub header_read_timeout_ms: u32,
    /// A request's headers together at most, in bytes.
    #[validate(range(min = 8_192, max = 1_048_576))]
    pub header_bytes_max: u32,
    /// Headers of a request at most.
    #[validate(range(min = 10, max = 1_000))]
    pub headers_max: u32,
    /// Connections at a time; one more waits to be accepted.
    #[validate(range(min = 1, max = 1_000_000))]
    pub connections_max: u32,
    /// Requests that a client may make per second; 0: as many as it likes.
    #[validate(range(max = 1_000_000))]
    pub requests_per_second: u32,
    /// How long an API key that was good stands while the database says nothing, in seconds.
    #[validate(range(max = 86_400))]
    pub api_key_grace_s: u32,
    /// Wrong API keys that an address may show per minute; 0: as many as it likes.
    #[validate(range(max = 1_000_000))]
    pub wrong_keys_per_minute: u32,
    /// Callbacks that may come from an address per second; 0: as many as it likes.
    #[validate(range(max = 1_000_000))]
    pub callbacks_per_second: u32,
    /// Networks of proxies that are believed where a request comes from.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// In which header they say it.
    pub proxy_header: ProxyHeader,
}

/// `[payments]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct PaymentsSection {
    /// For how long money may be parked under a number that nobody has asked for, until an alert is raised, in seconds.
    #[validate(range(min = 1, max = 2_592_000))]
    pub unmatched_alert_after_s: u32,
    /// How long a provider that is asked may take to answer.
    #[validate(range(min = 100, max = 60_000))]
    pub provider_timeout_ms: u32,
    /// Requests to one provider at a time, for each client.
    #[validate(range(min = 1, max = 256))]
    pub provider_requests_max: u32,
}

/// `[database]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseSection {
    /// Connections for reads, beside one for each lane.
    #[validate(range(min = 1, max = 1_000))]
    pub pool_max: u32,
    /// How long a start waits for a database that does not answer yet.
    #[validate(range(max = 600_000))]
    pub start_wait_ms: u32,
}

/// `[verify]`
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct VerifySection {
    /// Between two audits of the books, in minutes; 0: none.
    #[validate(range(max = 44_640))]
    pub every_minutes: u32,
}

/// `[embedded]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct EmbeddedSection {
    /// The directory with PostgreSQL's programs; empty: searched for.
    pub programs: PathBuf,
    /// PostgreSQL's `max_connections`.
    #[validate(range(min = 10, max = 10_000))]
    pub max_connections: u32,
    /// PostgreSQL's `shared_buffers`, in MB.
    #[validate(range(min = 16, max = 65_536))]
    pub shared_buffers_mb: u32,
}

impl Default for IdempotencySection {
    fn default() -> Self {
        Self {
            retention_hours: 72,
            failed: Failed::Replay,
            issue_secrets: Vec::new(),
            issue_secret_files: Vec::new(),
            issued_valid_hours: VALID_HOURS,
            require_issued: Vec::new(),
        }
    }
}

impl Default for DeskSection {
    fn default() -> Self {
        let desk::Settings {
            lanes,
            batch_max,
            queue_max,
            tries_max,
            reconnect_wait,
            unknown_wait,
            statement_timeout,
            lock_timeout,
            idle_in_transaction_timeout,
            poll_interval,
            retention: _,
            failed: _,
            remembered_bytes,
        } = desk::Settings::default();
        Self {
            lanes: small(lanes),
            batch_max: small(batch_max),
            queue_max: small(queue_max),
            tries_max,
            reconnect_wait_ms: small(reconnect_wait.as_millis()),
            unknown_wait_ms: small(unknown_wait.as_millis()),
            statement_timeout_ms: small(statement_timeout.as_millis()),
            lock_timeout_ms: small(lock_timeout.as_millis()),
            idle_in_transaction_timeout_ms: small(idle_in_transaction_timeout.as_millis()),
            poll_interval_ms: small(poll_interval.as_millis()),
            remembered_mb: small(remembered_bytes >> 20),
        }
    }
}

/// A default as the number that stands in the file.
fn small<N: TryInto<u32>>(number: N) -> u32 {
    number.try_into().ok().expect("the desk's defaults are within the ranges of their keys")
}

impl Default for HttpSection {
    fn default() -> Self {
        Self {
            body_bytes_max: 65_536,
            request_timeout_ms: 30_000,
            header_read_timeout_ms: 15_000,
            header_bytes_max: 32_768,
            headers_max: 100,
            connections_max: 4_096,
            requests_per_second: 0,
            api_key_grace_s: 0,
            wrong_keys_per_minute: 300,
            callbacks_per_second: 500,
            trusted_proxies: Vec::new(),
            proxy_header: ProxyHeader::XForwardedFor,
        }
    }
}

impl Default for PaymentsSection {
    fn default() -> Self {
        let SweepSettings { unmatched_asked_after } = SweepSettings::default();
        let CallSettings { timeout, at_once_max, pause: _ } = CallSettings::default();
        Self {
            unmatched_alert_after_s: small(unmatched_asked_after.num_seconds()),
            provider_timeout_ms: small(timeout.as_millis()),
            provider_requests_max: small(at_once_max),
        }
    }
}

impl Default for DatabaseSection {
    fn default() -> Self {
        Self { pool_max: 10, start_wait_ms: 15_000 }
    }
}

impl Default for EmbeddedSection {
    fn default() -> Self {
        let embedded_postgres::Settings { max_connections, shared_buffers_mb, .. } =
            embedded_postgres::Settings::new("");
        Self { programs: PathBuf::new(), max_connections, shared_buffers_mb }
    }
}

impl Configuration {
    /// What the desk is to be opened with.
    pub fn desk_settings(&self) -> desk::Settings {
        desk::Settings {
            lanes: self.desk.lanes as usize,
            batch_max: self.desk.batch_max as usize,
            queue_max: self.desk.queue_max as usize,
            tries_max: self.desk.tries_max,
            reconnect_wait: millis(self.desk.reconnect_wait_ms),
            unknown_wait: millis(self.desk.unknown_wait_ms),
            statement_timeout: millis(self.desk.statement_timeout_ms),
            lock_timeout: millis(self.desk.lock_timeout_ms),
            idle_in_transaction_timeout: millis(self.desk.idle_in_transaction_timeout_ms),
            poll_interval: millis(self.desk.poll_interval_ms),
            retention: Duration::from_secs(u64::from(self.idempotency.retention_hours) * 60 * 60),
            failed: match self.idempotency.failed {
                Failed::Replay => FailedPolicy::Replay,
                Failed::Retry => FailedPolicy::Retry,
            },
            remembered_bytes: u64::from(self.desk.remembered_mb) << 20,
        }
    }

    /// For how long published events are kept: an account's closing is told by its event alone, which its record is audited
    /// against, so never for less than a record.
    pub fn events_kept(&self) -> TimeDelta {
        let records = TimeDelta::hours(i64::from(self.idempotency.retention_hours));
        TimeDelta::days(i64::from(self.events.retention_days)).max(records + TimeDelta::days(1))
    }

    /// For how long what of events is kept that is done with, or that nobody could take.
    pub fn kept(&self) -> Kept {
        let days = |count: u32| TimeDelta::days(count.into());
        Kept {
            delivered: days(self.webhooks.kept_days),
            dead: days(self.webhooks.dead_kept_days),
            set_aside: days(self.consumers.set_aside_kept_days),
        }
    }

    /// What the HTTP surface allows. Whether the demo's key is good depends on where the server listens.
    pub fn http_settings(&self) -> HttpSettings {
        HttpSettings {
            body_bytes_max: self.http.body_bytes_max as usize,
            request_timeout: millis(self.http.request_timeout_ms),
            demo_key_allowed: false,
            requests_per_second: NonZeroU32::new(self.http.requests_per_second),
            requests_per_second_by_route: self
                .requests_per_second
                .iter()
                .map(|(route, RequestsPerSecond(quota))| (route.clone(), *quota))
                .collect(),
            api_key_grace: Duration::from_secs(self.http.api_key_grace_s.into()),
            wrong_keys_per_minute: NonZeroU32::new(self.http.wrong_keys_per_minute),
            callbacks_per_second: NonZeroU32::new(self.http.callbacks_per_second),
            trusted_proxies: self.http.proxy_header.of(&self.http.trusted_proxies),
        }
    }

    /// When a person is asked about what the sweeper finds.
    pub fn sweep_settings(&self) -> SweepSettings {
        SweepSettings {
            unmatched_asked_after: TimeDelta::seconds(self.payments.unmatched_alert_after_s.into()),
        }
    }

    /// When the server audits the books.
    pub fn audit_settings(&self) -> AuditSettings {
        let minutes = u64::from(self.verify.every_minutes);
        AuditSettings {
            every: (minutes > 0).then(|| Duration::from_secs(minutes * 60)),
            first_within: FIRST_AUDIT_WITHIN,
            retention: self.desk_settings().retention,
        }
    }

    /// How providers are called.
    pub fn call_settings(&self) -> CallSettings {
        CallSettings {
            timeout: millis(self.payments.provider_timeout_ms),
            at_once_max: self.payments.provider_requests_max as usize,
            ..CallSettings::default()
        }
    }

    /// Where payment providers call, with their keys read and found safe.
    ///
    /// # Errors
    ///
    /// What is wrong with the first endpoint that has a fault, without any of its values. Whatever could accept a forgery
    /// is a fault.
    pub fn callback_endpoints(&self) -> anyhow::Result<Vec<Endpoint>> {
        let endpoints = self.callbacks.iter().map(|(name, section)| {
            section.endpoint(name).with_context(|| format!("the endpoint callbacks.{name} cannot be used"))
        });
        endpoints.collect()
    }

    /// What the listener allows.
    pub fn listen_limits(&self) -> listen::Limits {
        listen::Limits {
            header_read_timeout: millis(self.http.header_read_timeout_ms),
            header_bytes_max: self.http.header_bytes_max as usize,
            headers_max: self.http.headers_max as usize,
            connections_max: self.http.connections_max as usize,
        }
    }

    /// The PostgreSQL to run in `data_dir`.
    pub fn embedded_settings(&self, data_dir: PathBuf) -> embedded_postgres::Settings {
        let programs = &self.embedded.programs;
        embedded_postgres::Settings {
            programs: (!programs.as_os_str().is_empty()).then(|| programs.clone()),
            max_connections: self.embedded.max_connections,
            shared_buffers_mb: self.embedded.shared_buffers_mb,
            ..embedded_postgres::Settings::new(data_dir)
        }
    }
}

fn millis(count: u32) -> Duration {
    Duration::from_millis(u64::from(count))
}

#[cfg(test)]
mod tests;
