//! What the server counts. Labels have few values: route templates, statuses, slugs; never ids or clients.
//!
//! - this file: requests, callbacks, and what is looked up at intervals;
//! - `books`: what audits of the books have found;
//! - `events`: what waits on the way from the outbox to whoever is told.

mod books;
mod events;

use std::sync::Arc;

use ::events::relay::Lag;
use desk::metrics::KeyOutcome;
use payment_callback::{AlertKind, ProviderKind, Reason, Verdict};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use self::books::Books;
pub use self::events::{Consumers, NotArrived};
use self::events::{Outbox, ToSeeTo};
use crate::endpoints::Endpoint;
use crate::problem::Slug;

/// The media type of the text that [`Metrics::text`] gives.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// From a hit in memory (0.5 ms) to a duplicate that waits as long as it may (30 s).
const DURATION_BUCKETS_S: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabels {
    operation: String,
    status: u16,
    slug: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct CallbackLabels {
    endpoint: String,
    provider: &'static str,
    verdict: &'static str,
    reason: &'static str,
}

impl CallbackLabels {
    fn of(endpoint: &Endpoint, verdict: Verdict) -> Self {
        let (verdict, reason) = match verdict {
            Verdict::Acknowledged => ("acknowledged", ""),
            Verdict::Unavailable => ("unavailable", ""),
            Verdict::Rejected(reason) => ("rejected", reason.word()),
        };
        Self { endpoint: endpoint.name.clone(), provider: endpoint.provider.kind().word(), verdict, reason }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ProviderRequestLabels {
    provider: &'static str,
    request: &'static str,
    outcome: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct IssuedKeyLabels {
    event: &'static str,
}

/// What happens to keys that the server makes, or should have made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IssuedKey {
    /// One was made.
    Issued,
    /// A request ran under one.
    Used,
    /// One came too late for its first use.
    Expired,
    /// Another key came where only issued ones are taken.
    NotIssued,
}

impl IssuedKey {
    const ALL: [Self; 4] = [Self::Issued, Self::Used, Self::Expired, Self::NotIssued];

    fn label(self) -> IssuedKeyLabels {
        IssuedKeyLabels { event: self.word() }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::NotIssued => "not_issued",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OperationLabel {
    operation: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct PoolLabel {
    state: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct AlertLabel {
    kind: &'static str,
}

/// The registry of one server, and what its HTTP side counts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    desk: desk::Metrics,
    requests: Family<RequestLabels, Counter>,
    durations: Family<OperationLabel, Histogram, fn() -> Histogram>,
    callbacks: Family<CallbackLabels, Counter>,
    provider_requests: Family<ProviderRequestLabels, Counter>,
    issued_keys: Family<IssuedKeyLabels, Counter>,
    repeats: gateway::repeats::counted::Counted,
    pool: Family<PoolLabel, Gauge>,
    alerts_open: Family<AlertLabel, Gauge>,
    books: Arc<Books>,
    to_see_to: ToSeeTo,
    lag: Arc<Lag>,
    consumers: Consumers,
}

impl Metrics {
    /// Counts for this server, beside what its desk counts; what each request does, only if the desk does so too.
    pub fn new(desk: &desk::Metrics, lag: Arc<Lag>, consumers: Consumers) -> Self {
        let new_histogram: fn() -> Histogram = || Histogram::new(DURATION_BUCKETS_S);
        let metrics = Self {
            registry: Registry::default(),
            desk: desk.clone(),
            requests: Family::default(),
            durations: Family::new_with_constructor(new_histogram),
            callbacks: Family::default(),
            provider_requests: Family::default(),
            issued_keys: Family::default(),
            repeats: gateway::repeats::counted::Counted::default().recorded(desk.is_recorded()),
            pool: Family::default(),
            alerts_open: Family::default(),
            books: Arc::default(),
            to_see_to: ToSeeTo::default(),
            lag: lag.clone(),
            consumers: consumers.clone(),
        };
        metrics.note_alerts(&[]);
        metrics.registered(desk, lag, consumers)
    }

    fn registered(mut self, desk: &desk::Metrics, lag: Arc<Lag>, consumers: Consumers) -> Self {
        let registry = self.registry.sub_registry_with_prefix("onefold");
        desk.register(registry);
        registry.register_collector(Box::new(Outbox(lag)));
        registry.register_collector(Box::new(consumers));
        self.to_see_to.register(registry);
        self.repeats.register(registry);
        registry.register("http_requests", "Requests that were answered", self.requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from a request's headers to its answer",
            self.durations.clone(),
        );
        registry.register(
            "callbacks",
            "Callbacks of payment providers: acknowledged, unavailable, or rejected and why",
            self.callbacks.clone(),
        );
        registry.register(
            "provider_requests",
            "Requests to payment providers by what was asked: answered, or why nothing was learnt",
            self.provider_requests.clone(),
        );
        registry.register(
            "issued_keys",
            "Keys that the server makes: issued, used, and refused because they were expired or not issued",
            self.issued_keys.clone(),
        );
        // From zero on, so that a rate is known from the first one on.
        IssuedKey::ALL.into_iter().for_each(|event| drop(self.issued_keys.get_or_create(&event.label())));
        for provider in ProviderKind::all() {
            let labels =
                ProviderRequestLabels { provider: provider.word(), request: "query", outcome: "answered" };
            drop(self.provider_requests.get_or_create(&labels));
        }
        registry.register(
            "database_pool_connections",
            "Connections for reads, idle and in use",
            self.pool.clone(),
        );
        registry.register(
            "payment_alerts_open",
            "Payment alerts that wait for a decision",
            self.alerts_open.clone(),
        );
        registry.register_collector(Box::new(Arc::clone(&self.books)));
        registry.register("build", "What is running", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        self
    }

    /// Whether anything is counted, so that there is something to read.
    pub fn is_recorded(&self) -> bool {
        self.desk.is_recorded()
    }

    /// What the filter for repeats counts.
    pub fn repeats(&self) -> &gateway::repeats::counted::Counted {
        &self.repeats
    }

    /// How long the requests of an operation took.
    pub fn durations(&self, operation: &str) -> Histogram {
        self.durations.get_or_create_owned(&OperationLabel { operation: operation.to_owned() })
    }

    /// The requests of an operation that were answered so.
    pub fn requests(&self, operation: &str, status: u16, slug: &'static str) -> Counter {
        self.requests.get_or_create_owned(&RequestLabels { operation: operation.to_owned(), status, slug })
    }

    /// Begins to count the callbacks of an endpoint, from zero on. There are as many endpoints as are configured.
    pub fn expect_callbacks(&self, endpoint: &Endpoint) {
        for verdict in [Verdict::Acknowledged, Verdict::Unavailable, Verdict::Rejected(Reason::BadSignature)]
        {
            drop(self.callbacks.get_or_create(&CallbackLabels::of(endpoint, verdict)));
        }
    }

    /// Counts a callback.
    pub fn callback(&self, endpoint: &Endpoint, verdict: Verdict) {
        self.callbacks.get_or_create(&CallbackLabels::of(endpoint, verdict)).inc();
    }

    /// Counts a request to a provider.
    pub fn provider_request(&self, provider: ProviderKind, request: &'static str, outcome: &'static str) {
        let labels = ProviderRequestLabels { provider: provider.word(), request, outcome };
        self.provider_requests.get_or_create(&labels).inc();
    }

    /// Counts a request whose key was none.
    pub fn key_refused(&self, slug: Slug) {
        self.desk.key(match slug {
            Slug::IdempotencyKeyMissing => KeyOutcome::Missing,
            _ => KeyOutcome::Malformed,
        });
    }

    /// Notes how many connections for reads there are, and how many of them are idle.
    pub fn note_pool(&self, connections: u32, idle: usize) {
        let idle = i64::try_from(idle).unwrap_or(i64::MAX);
        self.pool.get_or_create(&PoolLabel { state: "idle" }).set(idle);
        self.pool.get_or_create(&PoolLabel { state: "in_use" }).set((i64::from(connections) - idle).max(0));
    }

    /// Notes how many alerts are open: of each kind that is not named, none.
    pub fn note_alerts(&self, open: &[(AlertKind, i64)]) {
        for kind in AlertKind::ALL {
            let count = open.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| *count);
            self.alerts_open.get_or_create(&AlertLabel { kind: kind.as_str() }).set(count);
        }
    }

    /// Notes what of events has not arrived, and may need somebody.
    pub fn note_not_arrived(&self, not_arrived: &NotArrived) {
        self.to_see_to.note(not_arrived);
    }

    /// What is known of the books.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// Whether the broker is away for what this server does with it: publish, take events, or both.
    pub fn broker_is_away(&self) -> bool {
        self.lag.broker_is_away() || self.consumers.broker_is_away()
    }

    /// Counts what happened to an issued key.
    pub fn issued_key(&self, event: IssuedKey) {
        self.issued_keys.get_or_create(&event.label()).inc();
    }

    /// Everything that was counted, in the text format of OpenMetrics 1.0.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}
