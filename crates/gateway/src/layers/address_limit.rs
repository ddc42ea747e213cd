//! How often an address may ask.

use std::fmt;
use std::net::IpAddr;
use std::task::{Context, Poll};

use futures::future::Either;
use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use super::{Api, Guarded, Refusal, refuse};
use crate::allowance::Exceeded;
use crate::buckets::Buckets;

/// Counts a request against the limit of its address, for a route where nobody shows a key.
#[derive(Clone)]
pub struct AddressLimitLayer<A> {
    buckets: Option<Buckets<IpAddr>>,
    api: A,
}

impl<A> AddressLimitLayer<A> {
    /// A layer that takes from these buckets; without any, it limits nothing.
    pub fn new(buckets: Option<Buckets<IpAddr>>, api: A) -> Self {
        Self { buckets, api }
    }
}

impl<A> fmt::Debug for AddressLimitLayer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressLimitLayer").finish_non_exhaustive()
    }
}

impl<S, A: Clone> Layer<S> for AddressLimitLayer<A> {
    type Service = AddressLimit<S, A>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { buckets, api } = self.clone();
        AddressLimit { inner, buckets, api }
    }
}

/// The service of [`AddressLimitLayer`].
#[derive(Clone)]
pub struct AddressLimit<S, A> {
    inner: S,
    buckets: Option<Buckets<IpAddr>>,
    api: A,
}

impl<S, A> fmt::Debug for AddressLimit<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressLimit").finish_non_exhaustive()
    }
}

impl<S, A, B> Service<Request<B>> for AddressLimit<S, A>
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
        let counted = self.buckets.as_ref().zip(self.api.source(&request));
        match counted.map(|(buckets, source)| buckets.take(source)) {
            None | Some(Ok(_)) => Either::Left(self.inner.call(request)),
            Some(Err(share)) => {
                refuse(&self.api, Refusal::TooOften(Box::new(Exceeded::alone(share))), request)
            }
        }
    }
}
