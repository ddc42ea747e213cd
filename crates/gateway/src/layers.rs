//! The layers, as [tower](https://docs.rs/tower) knows them: each a [`Layer`](tower_layer::Layer) that makes a
//! [`Service`](tower_service::Service) of another one, to be stacked by `ServiceBuilder` or left out. In the order in which
//! they are stacked:
//!
//! - [`authenticate`]: whose API key a request shows;
//! - [`client_limit`]: how often that client may ask;
//! - [`require_scope`]: whether the key is good for what is asked;
//! - [`address_limit`]: how often an address may ask, for routes that want no key;
//! - [`repeat_filter`]: what is answered before the desk is asked. It stands around the desk, not around HTTP.
//!
//! A layer decides, and the [`Api`] that it stands in front of puts its refusals into words: the layers fit any, and know
//! no problem document. What they learn of a request travels with it, in its extensions: the `Arc<KeyHolder>` who asks.
//!
//! Nothing is boxed for a request that passes at once, as nearly all do. A request that has to wait (for the look-up of its
//! key, once a second; for Redis) or is refused costs an allocation.

pub mod address_limit;
pub mod authenticate;
pub mod client_limit;
pub mod repeat_filter;
pub mod require_scope;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use client::Scope;
use client::store::KeyHolder;
use futures::future::Either;
use http::Request;

use crate::allowance::{Allowance, Exceeded};
use crate::credentials::NoCredentials;

/// What the layers stand in front of: it words their refusals, and is told what they have learnt.
///
/// Requests have bodies of the type `B`, which the layers pass on unread. A refusal is given the request, so that an API
/// that wants to can read a body to its end before it answers.
pub trait Api<B>: Clone + Send + Sync + 'static {
    /// What it answers with.
    type Response: Send + 'static;

    /// Why a key could not be looked up.
    type Failure: Clone + Send + Sync + 'static;

    /// Answers a request that comes no further.
    fn refuse(
        &self,
        refusal: Refusal<Self::Failure>,
        request: Request<B>,
    ) -> impl Future<Output = Self::Response> + Send + 'static + use<Self, B>;

    /// The address that a request comes from, as far as it is known.
    fn source(&self, request: &Request<B>) -> Option<IpAddr>;

    /// It is known who asks.
    fn note_client(&self, _client: &Arc<KeyHolder>, _request: &Request<B>) {}

    /// The request was counted, and this is left.
    fn note_allowance(&self, _allowance: Allowance, _request: &Request<B>) {}
}

/// Why a request comes no further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal<E> {
    /// It shows no API key.
    NoCredentials(NoCredentials),
    /// Its key is nobody's, or not any longer.
    WrongKey,
    /// Its address has shown too many wrong keys.
    TooManyWrongKeys(Box<Exceeded>),
    /// Nobody can say now whose key it is.
    KeyNotKnown(E),
    /// Its client, or its address, asks too often.
    TooOften(Box<Exceeded>),
    /// Its key is not good for what is asked.
    OutOfScope(Scope),
}

/// What a layer answers with: either of what is behind it, or a refusal, which may take its time.
pub type Guarded<F, R, E> = Either<F, Pin<Box<dyn Future<Output = Result<R, E>> + Send>>>;

/// A refusal, as the answer of a layer.
fn refuse<F, B, A, E>(
    api: &A,
    refusal: Refusal<A::Failure>,
    request: Request<B>,
) -> Guarded<F, A::Response, E>
where
    A: Api<B>,
    E: 'static,
{
    let refusing = api.refuse(refusal, request);
    Either::Right(Box::pin(async { Ok(refusing.await) }))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::num::NonZeroU32;
    use std::sync::Mutex;
    use std::time::Duration;

    use client::{ApiKey, ApiKeyHash, ClientId, Scopes};
    use http::header;
    use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
    use uuid::Uuid;

    use super::address_limit::AddressLimitLayer;
    use super::authenticate::AuthenticateLayer;
    use super::client_limit::ClientLimitLayer;
    use super::require_scope::RequireScopeLayer;
    use super::*;
    use crate::api_keys::ApiKeys;
    use crate::buckets::Buckets;
    use crate::rate_limit::RateLimit;

    /// An API that answers with what it is told.
    #[derive(Clone, Default)]
    struct Told {
        allowances: Arc<Mutex<Vec<Allowance>>>,
    }

    impl Api<&'static str> for Told {
        type Response = String;
        type Failure = ();

        fn refuse(
            &self,
            refusal: Refusal<()>,
            request: Request<&'static str>,
        ) -> impl Future<Output = String> + Send + 'static + use<> {
            let word = match refusal {
                Refusal::NoCredentials(none) => none.to_string(),
                Refusal::WrongKey => "wrong key".to_owned(),
                Refusal::TooManyWrongKeys(_) => "too many wrong keys".to_owned(),
                Refusal::KeyNotKnown(()) => "nobody knows".to_owned(),
                Refusal::TooOften(exceeded) => format!("too often: {}", exceeded.share.policy),
                Refusal::OutOfScope(scope) => format!("not {scope}"),
            };
            async move { format!("{word}, with {}", request.body()) }
        }

        fn source(&self, _: &Request<&'static str>) -> Option<IpAddr> {
            Some(IpAddr::from([192, 0, 2, 1]))
        }

        fn note_allowance(&self, allowance: Allowance, _: &Request<&'static str>) {
            self.allowances.lock().unwrap().push(allowance);
        }
    }

    /// Two keys are known: `reader` may read orders, `lost` cannot be looked up.
    async fn look_up(hash: ApiKeyHash) -> Result<Option<KeyHolder>, ()> {
        let is = |key| hash == ApiKey::presented(key).hash();
        if is("lost") {
            return Err(());
        }
        Ok(is("reader").then(|| KeyHolder {
            client_id: ClientId(Uuid::nil()),
            name: "shop".to_owned(),
            demo: false,
            scopes: Scopes::Only([Scope::OrdersRead].into()),
            key_id: "ba7816bf8f01".to_owned(),
        }))
    }

    fn one() -> Option<NonZeroU32> {
        NonZeroU32::new(1)
    }

    /// What is behind all layers: it answers who asks.
    async fn handler(request: Request<&'static str>) -> Result<String, Infallible> {
        let client = request.extensions().get::<Arc<KeyHolder>>().map(|client| client.name.clone());
        Ok(format!("{} for {}", request.body(), client.as_deref().unwrap_or("anybody")))
    }

    async fn answer<S>(service: &S, key: Option<&str>) -> String
    where
        S: Service<Request<&'static str>, Response = String> + Clone,
        S::Error: Into<BoxError>,
    {
        let mut request = Request::builder();
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let answered = service.clone().oneshot(request.body("orders").unwrap()).await;
        answered.map_err(Into::into).unwrap()
    }

    #[tokio::test]
    async fn a_request_passes_all_layers_or_is_refused_by_the_first_that_has_a_reason() {
        let (api, keys) = (Told::default(), Arc::new(ApiKeys::new(one(), Duration::ZERO)));
        let guarded = |scope, limit| {
            ServiceBuilder::new()
                .layer(AuthenticateLayer::new(Arc::clone(&keys), look_up, api.clone()))
                .layer(ClientLimitLayer::new(Arc::new(limit), "GET /v1/orders".into(), api.clone()))
                .layer(RequireScopeLayer::new(scope, api.clone()))
                .service(service_fn(handler))
        };
        let open = guarded(Scope::OrdersRead, RateLimit::default());
        assert_eq!(answer(&open, Some("reader")).await, "orders for shop");
        assert_eq!(answer(&open, Some("reader")).await, "orders for shop", "from memory");
        assert_eq!(answer(&open, None).await, "the request has no Authorization header, with orders");
        assert_eq!(answer(&open, Some("lost")).await, "nobody knows, with orders");
        assert_eq!(answer(&open, Some("guess")).await, "wrong key, with orders");
        assert_eq!(answer(&open, Some("guess again")).await, "too many wrong keys, with orders");
        let closed = guarded(Scope::OrdersWrite, RateLimit::default());
        assert_eq!(answer(&closed, Some("reader")).await, "not orders:write, with orders");
        // How often comes before what for.
        let slow = guarded(Scope::OrdersWrite, RateLimit::new(one(), []));
        assert_eq!(answer(&slow, Some("reader")).await, "not orders:write, with orders");
        assert_eq!(answer(&slow, Some("reader")).await, "too often: client, with orders");
        let told = api.allowances.lock().unwrap();
        assert!(told.last().is_some_and(|allowance| allowance.headers().is_some()));
    }

    #[tokio::test]
    async fn nobody_passes_where_nobody_has_asked_for_a_key() {
        let api = Told::default();
        let nobody = "the request has no Authorization header, with orders";
        let scope = ServiceBuilder::new()
            .layer(RequireScopeLayer::new(Scope::OrdersRead, api.clone()))
            .service(service_fn(handler));
        assert_eq!(answer(&scope, Some("reader")).await, nobody);
        let limit = ServiceBuilder::new()
            .layer(ClientLimitLayer::new(Arc::default(), "GET /v1/orders".into(), api))
            .service(service_fn(handler));
        assert_eq!(answer(&limit, Some("reader")).await, nobody);
    }

    #[tokio::test]
    async fn an_address_is_limited_where_nobody_shows_a_key() {
        let limited = |buckets| {
            ServiceBuilder::new()
                .layer(AddressLimitLayer::new(buckets, Told::default()))
                .service(service_fn(handler))
        };
        let once = limited(Some(Buckets::per_minute("address", NonZeroU32::MIN)));
        assert_eq!(answer(&once, None).await, "orders for anybody");
        assert_eq!(answer(&once, None).await, "too often: address, with orders");
        let unlimited = limited(None);
        for _ in 0..3 {
            assert_eq!(answer(&unlimited, None).await, "orders for anybody");
        }
    }
}
