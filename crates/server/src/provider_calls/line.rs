//! The line to one provider, for one client.

use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use client::ClientId;
use desk::command::CallbackCommand;
use desk::{Answered, Clock};
use payment_callback::api::{ApiFault, ApiRequest, ApiResponse, ProviderApi, Sending};
use payment_callback::{Delivery, DeliveryFingerprint, Notice};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument;

use super::circuit::Circuit;
use super::exchange::{HttpClient, Unanswered};
use crate::app::AppState;
use crate::endpoints::Endpoint;
use crate::routes::callbacks::take;
use crate::telemetry::traces;

/// What stands for the id of a request in commands that follow from a provider's answer.
pub const REQUEST_ID: &str = "poller";

/// A provider that can be asked.
#[expect(missing_debug_implementations, reason = "the application's state has nothing to show")]
pub struct Line {
    endpoint: Endpoint,
    client_id: ClientId,
    http: HttpClient,
    state: AppState,
    at_once_max: usize,
    /// One for each request that may be under way at once, whatever it is about.
    places: Arc<Semaphore>,
    circuit: Mutex<Circuit>,
}

/// The right to ask on a line, one request after the other. Dropped, it is somebody else's.
#[derive(Debug)]
pub struct Place(
    #[expect(dead_code, reason = "it is held, and given back by being dropped")] OwnedSemaphorePermit,
);

/// Nothing was learnt from a provider.
#[derive(Debug, Error)]
pub enum Fault {
    /// It did not answer.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// It answered nothing that we can use.
    #[error(transparent)]
    Api(#[from] ApiFault),
}

impl Fault {
    /// The word for it in what is counted.
    fn word(&self) -> &'static str {
        match self {
            Self::Unanswered(Unanswered::TimedOut) => "timed_out",
            Self::Unanswered(Unanswered::Cut(_) | Unanswered::Unsendable(_)) => "unreachable",
            Self::Unanswered(Unanswered::TooLarge) => "unreadable",
            Self::Api(ApiFault::Refused { .. }) => "refused",
            Self::Api(ApiFault::Unauthorised { .. }) => "unauthorised",
            Self::Api(ApiFault::Unavailable { .. }) => "unavailable",
            Self::Api(ApiFault::Unverified(_)) => "unverified",
            Self::Api(ApiFault::Unreadable(_)) => "unreadable",
        }
    }

    /// Whether it says that the next request fails as well, whatever it is about.
    fn is_of_the_line(&self) -> bool {
        match self {
            Self::Unanswered(_) => true,
            Self::Api(fault) => match fault {
                ApiFault::Unauthorised { .. } | ApiFault::Unavailable { .. } | ApiFault::Unverified(_) => {
                    true
                }
                ApiFault::Refused { .. } | ApiFault::Unreadable(_) => false,
            },
        }
    }
}

impl Line {
    /// The line of an endpoint.
    ///
    /// # Panics
    ///
    /// If the endpoint's configuration does not say how its provider is asked.
    pub fn new(
        endpoint: Endpoint,
        client_id: ClientId,
        http: HttpClient,
        state: AppState,
        at_once_max: usize,
    ) -> Self {
        assert!(endpoint.provider.api().is_some(), "a line leads to somebody who can be asked");
        let places = Arc::new(Semaphore::new(at_once_max));
        Self { endpoint, client_id, http, state, at_once_max, places, circuit: Mutex::default() }
    }

    /// The endpoint that it belongs to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The client that it belongs to.
    pub fn client_id(&self) -> ClientId {
        self.client_id
    }

    /// What can be asked.
    pub fn api(&self) -> &dyn ProviderApi {
        self.endpoint.provider.api().expect("a line was made for a provider that can be asked")
    }

    /// The places for turns that may begin now: those that are free, as many as the circuit allows; none while it is open.
    /// Waits for the first one, which is no longer than whoever has it asks.
    ///
    /// A turn is taken when there is a place for it and not before: it is over at a time, and whoever waited for a place
    /// with a turn in hand might ask when it is somebody else's.
    pub async fn places(&self) -> Vec<Place> {
        if self.allowance() == 0 {
            return Vec::new();
        }
        let first = self.places.clone().acquire_owned().await.expect("nobody closes it");
        let others = iter::from_fn(|| self.places.clone().try_acquire_owned().ok());
        // The circuit may have opened meanwhile.
        iter::once(first).chain(others).map(Place).take(self.allowance()).collect()
    }

    /// How many requests may be made now.
    fn allowance(&self) -> usize {
        self.circuit().allowance(self.now(), self.at_once_max)
    }

    /// How long the provider may take to answer a request.
    pub fn timeout(&self) -> Duration {
        self.http.timeout()
    }

    /// Asks, and reads the answer, which is given with its bytes. `what` is counted.
    ///
    /// # Errors
    ///
    /// A [`Fault`], which is logged and counted.
    pub async fn ask<T>(
        &self,
        _place: &Place,
        what: &'static str,
        make: impl FnOnce(&dyn ProviderApi, Sending<'_>) -> ApiRequest,
        read: impl FnOnce(&dyn ProviderApi, &ApiResponse<'_>, DateTime<Utc>) -> Result<T, ApiFault>,
    ) -> Result<(T, Bytes), Fault> {
        let nonce = self.nonce();
        let request = make(self.api(), self.sending(&nonce));
        let provider = self.endpoint.provider.kind();
        let span = traces::of_provider_request(provider.word(), what);
        let told = match self.http.send(&request).instrument(span.clone()).await {
            Ok(received) => {
                let headers: Vec<(&str, &[u8])> =
                    received.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
                let content = Delivery { headers: &headers, body: &received.body };
                let read = read(self.api(), &ApiResponse { status: received.status, content }, self.now());
                read.map(|said| (said, received.body)).map_err(Fault::Api)
            }
            Err(unanswered) => Err(Fault::Unanswered(unanswered)),
        };
        let fault = told.as_ref().err();
        traces::asked(&span, fault.map(Fault::word));
        self.note(what, fault);
        told
    }

    /// Letters and digits for one request.
    pub fn nonce(&self) -> String {
        format!("{:032x}", rand::random::<u128>())
    }

    /// What is new in a request that is sent now.
    pub fn sending<'n>(&self, nonce: &'n str) -> Sending<'n> {
        Sending { at: self.now(), nonce }
    }

    fn note(&self, what: &'static str, fault: Option<&Fault>) {
        let Endpoint { name, provider, .. } = &self.endpoint;
        self.state.metrics.provider_request(provider.kind(), what, fault.map_or("answered", Fault::word));
        match fault {
            Some(fault) if fault.is_of_the_line() => {
                tracing::debug!(endpoint = name, what, %fault, "a provider was asked, and nothing was learnt");
                if let Some(open_for) = self.circuit().failed(self.now()) {
                    let seconds = open_for.num_seconds();
                    tracing::warn!(endpoint = name, %fault, "the provider is left alone for {seconds} s");
                }
            }
            Some(fault) => {
                tracing::warn!(endpoint = name, what, %fault, "a provider was asked, and nothing was learnt");
                self.answered();
            }
            None => self.answered(),
        }
    }

    fn answered(&self) {
        if self.circuit().succeeded() {
            tracing::info!(endpoint = self.endpoint.name, "the provider answers again");
        }
    }

    /// Brings what a provider has said to the door, as if it had called, and waits for the commit. `false`: it could not
    /// be dealt with now.
    pub async fn take_in(&self, notice: Notice, body: Bytes) -> bool {
        let callback = CallbackCommand {
            endpoint: self.endpoint.name.clone(),
            provider: self.endpoint.provider.kind(),
            fingerprint: DeliveryFingerprint::of(&notice),
            notice,
            body: body.to_vec(),
            body_kept: self.endpoint.body_kept,
        };
        let request = take::request_of(self.client_id, callback, REQUEST_ID.to_owned());
        let reply = traces::submit(&self.state.desk, request, Some(take::WAIT)).await;
        matches!(reply.answered, Answered::Ran(_) | Answered::Replayed(_))
    }

    /// The application that it is a part of.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    fn now(&self) -> DateTime<Utc> {
        let clock: &Arc<dyn Clock> = &self.state.clock;
        clock.now()
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        // A panic while it is held leaves a count that is as good as it was.
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
