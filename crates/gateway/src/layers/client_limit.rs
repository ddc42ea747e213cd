//! How often a client may ask.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use client::store::KeyHolder;
use futures::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{Api, Guarded, Refusal, refuse};
use crate::credentials::NoCredentials;
use crate::rate_limit::RateLimit;

/// Counts a request against its client's limits, of which one may be of the route that this layer is of. It stands behind
/// [`AuthenticateLayer`](super::authenticate::AuthenticateLayer): a request of nobody's comes no further.
#[derive(Clone)]
pub struct ClientLimitLayer<A> {
    limit: Arc<RateLimit>,
    route: Arc<str>,
    api: A,
}

impl<A> ClientLimitLayer<A> {
    /// A layer of a route, such as `POST /v1/orders`. All layers of a limit count together.
    pub fn new(limit: Arc<RateLimit>, route: Arc<str>, api: A) -> Self {
        Self { limit, route, api }
    }
}

impl<A> fmt::Debug for ClientLimitLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLimitLayer").field("route", &self.route).finish_non_exhaustive()
    }
}

impl<S, A: Clone> Layer<S> for ClientLimitLayer<A> {
    type Service = ClientLimit<S, A>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { limit, route, api } = self.clone();
        ClientLimit { inner, limit, route, api }
    }
}

/// The service of [`ClientLimitLayer`].
#[derive(Clone)]
pub struct ClientLimit<S, A> {
    inner: S,
    limit: Arc<RateLimit>,
    route: Arc<str>,
    api: A,
}

impl<S, A> fmt::Debug for ClientLimit<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLimit").field("route", &self.route).finish_non_exhaustive()
    }
}

impl<S, A, B> Service<Request<B>> for ClientLimit<S, A>
where
    S: Service<Request<B>, Response = A::Response>,
    S::Error: 'static,
    A: Api<B>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Guarded<S::Future, S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(client) = request.extensions().get::<Arc<KeyHolder>>() else {
            return refuse(&self.api, Refusal::NoCredentials(NoCredentials::Missing), request);
        };
        match self.limit.take(client.client_id, &self.route) {
            Ok(allowance) => {
                self.api.note_allowance(allowance, &request);
                Either::Left(self.inner.call(request))
            }
            Err(exceeded) => refuse(&self.api, Refusal::TooOften(exceeded), request),
        }
    }
}
