//! Whether an API key is good for what is asked.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use client::Scope;
use client::store::KeyHolder;
use futures::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{Api, Guarded, Refusal, refuse};
use crate::credentials::NoCredentials;

/// Lets a request on whose key is good for one scope. It stands behind
/// [`AuthenticateLayer`](super::authenticate::AuthenticateLayer): a request of nobody's comes no further.
#[derive(Clone)]
pub struct RequireScopeLayer<A> {
    scope: Scope,
    api: A,
}

impl<A> RequireScopeLayer<A> {
    /// A layer that wants this scope.
    pub fn new(scope: Scope, api: A) -> Self {
        Self { scope, api }
    }
}

impl<A> fmt::Debug for RequireScopeLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireScopeLayer").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<S, A: Clone> Layer<S> for RequireScopeLayer<A> {
    type Service = RequireScope<S, A>;

    fn layer(&self, inner: S) -> Self::Service {
        RequireScope { inner, scope: self.scope, api: self.api.clone() }
    }
}

/// The service of [`RequireScopeLayer`].
#[derive(Clone)]
pub struct RequireScope<S, A> {
    inner: S,
    scope: Scope,
    api: A,
}

impl<S, A> fmt::Debug for RequireScope<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireScope").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<S, A, B> Service<Request<B>> for RequireScope<S, A>
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
        match request.extensions().get::<Arc<KeyHolder>>() {
            Some(client) if client.scopes.allow(self.scope) => Either::Left(self.inner.call(request)),
            Some(_) => refuse(&self.api, Refusal::OutOfScope(self.scope), request),
            None => refuse(&self.api, Refusal::NoCredentials(NoCredentials::Missing), request),
        }
    }
}
