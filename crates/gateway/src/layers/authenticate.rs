//! Whose API key a request shows.

use std::fmt;
use std::future::Future;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use client::store::KeyHolder;
use client::{ApiKey, ApiKeyHash};
use futures::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{Api, Guarded, Refusal, refuse};
use crate::api_keys::{ApiKeys, Refused};
use crate::credentials::bearer;

/// Lets a request on that shows a good key, with the `Arc<KeyHolder>` among its extensions.
///
/// `look_up` asks the database whose a key is, and answers `None` for one that is not good here.
#[derive(Clone)]
pub struct AuthenticateLayer<A, L> {
    keys: Arc<ApiKeys>,
    look_up: L,
    api: A,
}

impl<A, L> AuthenticateLayer<A, L> {
    /// A layer that remembers keys in `keys`.
    pub fn new(keys: Arc<ApiKeys>, look_up: L, api: A) -> Self {
        Self { keys, look_up, api }
    }
}

impl<A, L> fmt::Debug for AuthenticateLayer<A, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticateLayer").finish_non_exhaustive()
    }
}

impl<S, A: Clone, L: Clone> Layer<S> for AuthenticateLayer<A, L> {
    type Service = Authenticate<S, A, L>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { keys, look_up, api } = self.clone();
        Authenticate { inner, keys, look_up, api }
    }
}

/// The service of [`AuthenticateLayer`].
#[derive(Clone)]
pub struct Authenticate<S, A, L> {
    inner: S,
    keys: Arc<ApiKeys>,
    look_up: L,
    api: A,
}

impl<S, A, L> fmt::Debug for Authenticate<S, A, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticate").finish_non_exhaustive()
    }
}

impl<S, A, L, B, F> Service<Request<B>> for Authenticate<S, A, L>
where
    S: Service<Request<B>, Response = A::Response> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: 'static,
    A: Api<B>,
    L: Fn(ApiKeyHash) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Option<KeyHolder>, A::Failure>> + Send + 'static,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Guarded<S::Future, S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let key = match bearer(request.headers()) {
            Ok(key) => key,
            Err(none) => return refuse(&self.api, Refusal::NoCredentials(none), request),
        };
        if let Some(client) = self.keys.remembered(&key) {
            return Either::Left(self.inner.call(told_of(&self.api, client, request)));
        }
        // The one that was asked whether it is ready is the one to call.
        let next = self.inner.clone();
        let inner = mem::replace(&mut self.inner, next);
        let asking = Self {
            inner,
            keys: Arc::clone(&self.keys),
            look_up: self.look_up.clone(),
            api: self.api.clone(),
        };
        Either::Right(Box::pin(asking.ask(key, request)))
    }
}

impl<S, A, L> Authenticate<S, A, L> {
    async fn ask<B, F>(mut self, key: ApiKey, request: Request<B>) -> Result<S::Response, S::Error>
    where
        S: Service<Request<B>, Response = A::Response>,
        A: Api<B>,
        L: Fn(ApiKeyHash) -> F,
        F: Future<Output = Result<Option<KeyHolder>, A::Failure>> + Send,
    {
        let source = self.api.source(&request);
        let refusal = match self.keys.holder(&key, source, &self.look_up).await {
            Ok(client) => return self.inner.call(told_of(&self.api, client, request)).await,
            Err(Refused::Wrong) => Refusal::WrongKey,
            Err(Refused::TooManyWrong(exceeded)) => Refusal::TooManyWrongKeys(exceeded),
            Err(Refused::NotKnown(failure)) => Refusal::KeyNotKnown(failure),
        };
        Ok(self.api.refuse(refusal, request).await)
    }
}

fn told_of<A: Api<B>, B>(api: &A, client: Arc<KeyHolder>, mut request: Request<B>) -> Request<B> {
    api.note_client(&client, &request);
    request.extensions_mut().insert(client);
    request
}
