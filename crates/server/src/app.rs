//! The application: what it is made of, and the router that serves it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::middleware::from_fn_with_state;
use desk::schema::Database;
use desk::{Clock, Desk};
use gateway::api_keys::ApiKeys;
use gateway::buckets::Buckets;
use gateway::forwarded::TrustedProxies;
use gateway::rate_limit::RateLimit;
use gateway::repeats::{self, Repeats};
use tokio_util::sync::CancellationToken;

use crate::edge;
use crate::endpoints::Endpoints;
use crate::issued_keys::Issuer;
use crate::metrics::Metrics;
use crate::operations::Operations;
use crate::routes::{self, Surface};

/// What can be set about the HTTP side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    /// The largest body, in bytes.
    pub body_bytes_max: usize,
    /// How long a request may take, besides the time that `Prefer: wait` gives it.
    pub request_timeout: Duration,
    /// Whether the demo key is good: on a loopback listener only.
    pub demo_key_allowed: bool,
    /// How many requests a client may send in a second; no limit unless set.
    pub requests_per_second: Option<NonZeroU32>,
    /// How many requests of a route a client may send in a second, by method and path template.
    pub requests_per_second_by_route: BTreeMap<String, NonZeroU32>,
    /// How long an API key that was good stands while the database says nothing.
    pub api_key_grace: Duration,
    /// How many wrong API keys an address may show in a minute; no limit unless set.
    pub wrong_keys_per_minute: Option<NonZeroU32>,
    /// How many callbacks may come from an address in a second; no limit unless set.
    pub callbacks_per_second: Option<NonZeroU32>,
    /// Whose word counts for which address that is.
    pub trusted_proxies: TrustedProxies,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 * 1024,
            request_timeout: Duration::from_secs(30),
            demo_key_allowed: false,
            requests_per_second: None,
            requests_per_second_by_route: BTreeMap::new(),
            api_key_grace: Duration::ZERO,
            wrong_keys_per_minute: NonZeroU32::new(300),
            callbacks_per_second: NonZeroU32::new(500),
            trusted_proxies: TrustedProxies::default(),
        }
    }
}

/// What every handler may use. Each layer that a request passes has a clone of it, so it is one pointer.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the desk and the clock have nothing to show")]
pub struct AppState(Arc<Parts>);

/// The parts of the [`AppState`].
#[expect(missing_debug_implementations, reason = "the desk and the clock have nothing to show")]
pub struct Parts {
    /// The one door for effects.
    pub desk: Desk,
    /// For look-ups, which change nothing.
    pub database: Database,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who may ask.
    pub keys: Arc<ApiKeys>,
    /// How often a client may ask.
    pub rate_limit: Arc<RateLimit>,
    /// The operations, as they are logged and counted.
    pub operations: Operations,
    /// Where payment providers call.
    pub endpoints: Endpoints,
    /// Makes keys, and judges them.
    pub issuer: Issuer,
    /// Stops repeats that other servers have answered, once it is [opened](AppState::open_repeats).
    pub repeats: OnceLock<Arc<Repeats>>,
    /// How often callbacks may come from an address.
    pub callback_limit: Option<Buckets<IpAddr>>,
    /// What is counted.
    pub metrics: Metrics,
    /// What was set.
    pub settings: HttpSettings,
}

impl AppState {
    /// Puts the parts together. `metrics` has what the desk counts: the same that it was opened with.
    pub fn new(
        desk: Desk,
        database: Database,
        clock: Arc<dyn Clock>,
        metrics: Metrics,
        endpoints: Endpoints,
        issuer: Issuer,
        settings: HttpSettings,
    ) -> Self {
        endpoints.all().for_each(|endpoint| metrics.expect_callbacks(endpoint));
        Self(Arc::new(Parts {
            keys: Arc::new(ApiKeys::new(settings.wrong_keys_per_minute, settings.api_key_grace)),
            operations: Operations::default(),
            metrics,
            rate_limit: Arc::new(RateLimit::new(
                settings.requests_per_second,
                settings.requests_per_second_by_route.clone(),
            )),
            endpoints,
            issuer,
            repeats: OnceLock::new(),
            callback_limit: settings.callbacks_per_second.map(|quota| Buckets::per_second("address", quota)),
            desk,
            database,
            clock,
            settings,
        }))
    }
}

impl AppState {
    /// Opens the filter for repeats, which works until it is told to stop.
    ///
    /// # Errors
    ///
    /// If a URL is none of a Redis; whether one is there does not matter.
    pub fn open_repeats(&self, settings: repeats::Settings, stop: &CancellationToken) -> anyhow::Result<()> {
        let opened = Repeats::open(settings, self.metrics.repeats().clone(), stop);
        // The error does not repeat the URL, which may hold a password.
        let opened =
            opened.context(
            "repeats.redis_urls: one is not the URL of a Redis, redis://HOST:PORT or rediss://HOST:PORT, or repeats.redis_ca_files holds something that is no certificate",
        )?;
        let _ = self.repeats.set(Arc::new(opened));
        Ok(())
    }
}

impl Deref for AppState {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// The API of a surface, behind the edge that every request passes.
pub fn router(state: AppState, surface: Surface) -> Router {
    routes::router(&state, surface).layer(from_fn_with_state(state.clone(), edge::pass)).with_state(state)
}
