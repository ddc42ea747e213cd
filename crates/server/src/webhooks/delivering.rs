//! Whose turn it is, and what follows from each attempt.
//!
//! An endpoint that is slow or away costs the others little: few of its deliveries are under way at once, those endpoints come
//! first that have waited longest for a turn, and after some failures in a row one is left alone for a while, with all that is due
//! to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use desk::Clock;
use futures::future::join_all;
use notifications::store::deliveries::{Failure, Turn, Wanted};
use notifications::store::{deliveries, endpoints as stored_endpoints};
use notifications::{Endpoint, EndpointId};
use sqlx::PgPool;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::WebhookSettings;
use super::sending::{Attempt, Sender};
use crate::provider_calls::circuit::Circuit;
use crate::telemetry::traces;

/// Deliveries of one endpoint under way at once, in each server.
const OF_ENDPOINT_MAX: usize = 8;

/// Endpoints that are delivered to at once, in each server.
const ENDPOINTS_AT_ONCE_MAX: usize = 16;

/// More endpoints than these are not looked at.
const ENDPOINTS_MAX: i64 = 10_000;

/// For how long the list of endpoints is believed.
const ENDPOINTS_KNOWN_FOR: std::time::Duration = std::time::Duration::from_secs(1);

/// How much longer than an attempt may take its turn lasts: until whoever has taken it counts as dead.
const TURN_LASTS: TimeDelta = TimeDelta::seconds(30);

/// Delivers. Cheap to clone.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "the clock has nothing to show")]
pub struct Delivering(Arc<Parts>);

struct Parts {
    pool: PgPool,
    clock: Arc<dyn Clock>,
    settings: WebhookSettings,
    sender: Sender,
    places: Arc<Semaphore>,
    lines: Mutex<HashMap<EndpointId, Line>>,
    /// Something has ended, so that there may be a place, or more that is due.
    ended: Notify,
}

/// What is known of an endpoint.
#[derive(Clone, Copy, Default)]
struct Line {
    is_busy: bool,
    circuit: Circuit,
    /// When it had its last turn.
    turn_at: Option<Instant>,
}

impl Delivering {
    /// Prepares to deliver what is in this database.
    pub fn new(pool: PgPool, clock: Arc<dyn Clock>, settings: WebhookSettings) -> Self {
        Self(Arc::new(Parts {
            pool,
            clock,
            sender: Sender::new(settings.timeout, settings.reach),
            settings,
            places: Arc::new(Semaphore::new(ENDPOINTS_AT_ONCE_MAX)),
            lines: Mutex::default(),
            ended: Notify::new(),
        }))
    }

    /// Delivers until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::new();
        let mut known_until = Instant::now();
        while !stop.is_cancelled() {
            if Instant::now() >= known_until {
                match stored_endpoints::active(&self.0.pool, ENDPOINTS_MAX).await {
                    Ok(active) => endpoints = active.into_iter().map(Arc::new).collect(),
                    Err(error) => tracing::debug!(%error, "cannot look for webhook endpoints now"),
                }
                self.0.forget_all_but(&endpoints);
                known_until = Instant::now() + ENDPOINTS_KNOWN_FOR;
            }
            let begun = match self.begin(&endpoints).await {
                Ok(begun) => begun,
                Err(error) => {
                    tracing::debug!(%error, "cannot deliver webhooks now");
                    0
                }
            };
            if begun == 0 {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = self.0.ended.notified() => {}
                    () = sleep(self.0.settings.pause) => {}
                }
            }
        }
    }

    /// Begins what is due at endpoints of which nothing is under way; answers how many deliveries that are.
    async fn begin(&self, endpoints: &[Arc<Endpoint>]) -> sqlx::Result<usize> {
        let parts = &self.0;
        let now = parts.clock.now();
        let mut begun = 0;
        // Of an endpoint that has failed lately one is tried, and of the others some.
        for of_each_max in [OF_ENDPOINT_MAX, 1] {
            let places = parts.places.available_permits();
            let mut free: Vec<&Arc<Endpoint>> = endpoints
                .iter()
                .filter(|endpoint| parts.allowance(endpoint.id, now) == of_each_max)
                .collect();
            if places == 0 || free.is_empty() {
                continue;
            }
            free.sort_by_cached_key(|endpoint| parts.with_line(endpoint.id, |line| line.turn_at));
            let keys: Vec<(ClientId, EndpointId)> =
                free.iter().map(|endpoint| (endpoint.client_id, endpoint.id)).collect();
            let attempt = TimeDelta::from_std(parts.settings.timeout).unwrap_or(TURN_LASTS);
            let wanted = Wanted {
                endpoints: &keys,
                endpoints_max: i64::try_from(places).expect("a small number"),
                now,
                of_each_max: i64::try_from(of_each_max).expect("a small number"),
                again_at: now + attempt + TURN_LASTS,
            };
            let mut turns: HashMap<EndpointId, Vec<Turn>> = HashMap::new();
            for turn in deliveries::claim(&parts.pool, wanted).await? {
                turns.entry(turn.delivery.endpoint_id).or_default().push(turn);
            }
            for endpoint in free {
                let Some(turns) = turns.remove(&endpoint.id) else { continue };
                begun += turns.len();
                parts.set_busy(endpoint.id, true);
                let place = parts.places.clone().acquire_owned().await.expect("nobody closes it");
                tokio::spawn(self.clone().deliver(endpoint.clone(), turns, place));
            }
        }
        Ok(begun)
    }

    async fn deliver(self, endpoint: Arc<Endpoint>, turns: Vec<Turn>, place: OwnedSemaphorePermit) {
        join_all(turns.iter().map(|turn| self.attempt(&endpoint, turn))).await;
        self.0.set_busy(endpoint.id, false);
        drop(place);
        self.0.ended.notify_one();
    }

    async fn attempt(&self, endpoint: &Endpoint, turn: &Turn) {
        let parts = &self.0;
        let span = traces::of_webhook(&turn.delivery);
        let sending = parts.sender.send(endpoint, &turn.delivery, parts.clock.now());
        let attempt = sending.instrument(span.clone()).await;
        traces::told(&span, attempt.status(), matches!(attempt, Attempt::Taken(_)));
        drop(span);
        let now = parts.clock.now();
        parts.note(endpoint, &attempt, now);
        let noted = match attempt {
            Attempt::Taken(status) => deliveries::delivered(&parts.pool, &turn.delivery, status, now).await,
            Attempt::Gone => self.give_up(endpoint, turn, now).await,
            Attempt::Failed { status, retry_after, fault } => {
                let jitter = rand::random_range(0..=1_000);
                let pause = parts.settings.schedule.pause_after(turn.attempt, retry_after, jitter);
                if pause.is_none() {
                    tracing::warn!(
                        endpoint_id = %endpoint.id,
                        event_id = %turn.delivery.event_id,
                        attempts = turn.attempt,
                        fault,
                        "a webhook is given up: `onefold webhook replay` delivers it once more"
                    );
                }
                let again_at = pause.map(|pause| now + pause);
                deliveries::failed(&parts.pool, turn, Failure { again_at, status, fault: &fault, now }).await
            }
        };
        if let Err(error) = noted {
            // It is due again when its turn is over; the receiver knows the event's id.
            tracing::debug!(%error, "what came of a webhook cannot be noted now");
        }
    }

    /// The endpoint says that it is gone: it is called no more, and what is due to it waits for `onefold webhook enable`.
    async fn give_up(&self, endpoint: &Endpoint, turn: &Turn, now: DateTime<Utc>) -> sqlx::Result<()> {
        let fault = "answered 410: the endpoint is gone";
        let failure = Failure { again_at: None, status: Some(410), fault, now };
        deliveries::failed(&self.0.pool, turn, failure).await?;
        if stored_endpoints::disable(&self.0.pool, endpoint.client_id, endpoint.id, fault).await? {
            tracing::warn!(
                endpoint_id = %endpoint.id,
                "a webhook endpoint says that it is gone and is called no more, until `onefold webhook enable`"
            );
        }
        Ok(())
    }
}

impl Parts {
    /// How many deliveries of an endpoint may begin now: none while some are under way.
    fn allowance(&self, endpoint: EndpointId, now: DateTime<Utc>) -> usize {
        let line = self.with_line(endpoint, |line| *line);
        if line.is_busy { 0 } else { line.circuit.allowance(now, OF_ENDPOINT_MAX) }
    }

    fn set_busy(&self, endpoint: EndpointId, is_busy: bool) {
        self.with_line(endpoint, |line| {
            line.is_busy = is_busy;
            line.turn_at = Some(Instant::now());
        });
    }

    /// What the endpoint answers about one event says nothing of the next; that it does not answer does.
    fn note(&self, endpoint: &Endpoint, attempt: &Attempt, now: DateTime<Utc>) {
        let is_silent = match attempt {
            Attempt::Taken(_) | Attempt::Gone => false,
            Attempt::Failed { status, .. } => status.is_none_or(|status| status >= 500 || status == 429),
        };
        if !is_silent {
            self.with_line(endpoint.id, |line| line.circuit.succeeded());
        } else if let Some(open_for) = self.with_line(endpoint.id, |line| line.circuit.failed(now)) {
            let seconds = open_for.num_seconds();
            tracing::warn!(endpoint_id = %endpoint.id, "a webhook endpoint is left alone for {seconds} s");
        }
    }

    fn with_line<T>(&self, endpoint: EndpointId, act: impl FnOnce(&mut Line) -> T) -> T {
        // A panic while it is held leaves a count that is as good as it was.
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        act(lines.entry(endpoint).or_default())
    }

    /// Keeps what is known of as many endpoints as there are.
    fn forget_all_but(&self, endpoints: &[Arc<Endpoint>]) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let known: HashSet<EndpointId> = endpoints.iter().map(|endpoint| endpoint.id).collect();
        lines.retain(|id, line| line.is_busy || known.contains(id));
    }
}
