//! Who asks, whether it may, and how often: the gateway's layers in front of each route, and what they refuse in the words
//! of the API.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use client::ApiKeyHash;
use client::store::{KeyHolder, find_key_holder};
use gateway::allowance::{Allowance, Exceeded};
use gateway::api_keys::network_of;
use gateway::forwarded::TrustedProxies;
use gateway::layers::address_limit::AddressLimitLayer;
use gateway::layers::authenticate::AuthenticateLayer;
use gateway::layers::client_limit::ClientLimitLayer;
use gateway::layers::require_scope::RequireScopeLayer;
use gateway::layers::{Api, Refusal};
use http::{Extensions, HeaderValue, header};
use tower::ServiceBuilder;

use crate::access_log::Facts;
use crate::app::AppState;
use crate::body::receive;
use crate::look_up::look_up;
use crate::problem::{Problem, Slug};
use crate::routes::Access;

/// A route behind the layers that its access asks for. What they refuse, in order: `unauthorized` (`rate-limited` for an
/// address that has shown too many wrong keys; `unavailable` where the key cannot be looked up), `rate-limited`,
/// `insufficient-scope`.
pub fn guarded(
    state: &AppState,
    route: &str,
    access: Access,
    handler: MethodRouter<AppState>,
) -> MethodRouter<AppState> {
    let proxies = Arc::new(state.settings.trusted_proxies.clone());
    let api = Words { route: route.into(), proxies };
    match access {
        Access::Scope(scope) => {
            let keys = state.clone();
            let look_up_key = move |hash| key_holder(keys.clone(), hash);
            let limit = Arc::clone(&state.rate_limit);
            handler.route_layer(
                ServiceBuilder::new()
                    .layer(AuthenticateLayer::new(Arc::clone(&state.keys), look_up_key, api.clone()))
                    .layer(ClientLimitLayer::new(limit, Arc::clone(&api.route), api.clone()))
                    .layer(RequireScopeLayer::new(scope, api)),
            )
        }
        Access::Signed => handler.route_layer(AddressLimitLayer::new(state.callback_limit.clone(), api)),
        Access::Open => handler,
    }
}

/// Whose a key is, if it is good here.
async fn key_holder(state: AppState, hash: ApiKeyHash) -> Result<Option<KeyHolder>, Problem> {
    let pool = state.database.pool();
    let found = look_up(pool, || find_key_holder(pool, hash)).await?;
    Ok(found.filter(|holder| !holder.demo || state.settings.demo_key_allowed))
}

/// Who asks, as the layers have found out.
///
/// # Errors
///
/// `internal`, for a route that stands behind no layer that asks.
pub fn client_of(extensions: &Extensions) -> Result<Arc<KeyHolder>, Problem> {
    extensions.get().cloned().ok_or_else(|| {
        tracing::error!("a handler asks who the client is, and its route wants no key");
        Problem::internal()
    })
}

/// The API of one route.
#[derive(Clone)]
struct Words {
    route: Arc<str>,
    proxies: Arc<TrustedProxies>,
}

impl Api<Body> for Words {
    type Response = Response;
    type Failure = Problem;

    fn refuse(
        &self,
        refusal: Refusal<Problem>,
        request: Request,
    ) -> impl Future<Output = Response> + Send + 'static + use<> {
        let problem = self.problem(refusal);
        async {
            receive::discard(request.into_body()).await;
            problem.into_response()
        }
    }

    fn source(&self, request: &Request) -> Option<IpAddr> {
        let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<SocketAddr>>()?;
        Some(network_of(self.proxies.source(peer.ip(), request.headers())))
    }

    fn note_client(&self, client: &Arc<KeyHolder>, request: &Request) {
        Facts::of(request.extensions()).note_client(Arc::clone(client));
    }

    fn note_allowance(&self, allowance: Allowance, request: &Request) {
        Facts::of(request.extensions()).note_allowance(allowance);
    }
}

impl Words {
    fn problem(&self, refusal: Refusal<Problem>) -> Problem {
        match refusal {
            Refusal::NoCredentials(none) => unauthorized(&none.to_string(), ""),
            Refusal::WrongKey => unauthorized(
                "the API key is unknown, revoked, or the demo's, which is good on a loopback listener only",
                ", error=\"invalid_token\"",
            ),
            Refusal::TooManyWrongKeys(exceeded) => {
                let quota = exceeded.share.quota;
                rate_limited(
                    &exceeded,
                    format!("the address may show {quota} wrong API keys a minute, and has"),
                )
            }
            Refusal::KeyNotKnown(problem) => problem,
            Refusal::TooOften(exceeded) => {
                let quota = exceeded.share.quota;
                let detail = match exceeded.share.policy {
                    "address" => format!("the address may send {quota} requests a second"),
                    "route" => format!("the client may send {quota} requests a second ({})", self.route),
                    _ => format!("the client may send {quota} requests a second (altogether)"),
                };
                rate_limited(&exceeded, detail)
            }
            Refusal::OutOfScope(scope) => {
                let challenge =
                    format!("Bearer realm=\"onefold\", error=\"insufficient_scope\", scope=\"{scope}\"");
                let challenge = HeaderValue::from_str(&challenge).expect("scopes are words of ASCII");
                Problem::new(Slug::InsufficientScope, format!("the API key is not good for {scope}"))
                    .member("scope", scope.as_str())
                    .header(header::WWW_AUTHENTICATE, challenge)
            }
        }
    }
}

fn unauthorized(detail: &str, error: &str) -> Problem {
    let challenge = HeaderValue::from_str(&format!("Bearer realm=\"onefold\"{error}"));
    Problem::new(Slug::Unauthorized, detail)
        .header(header::WWW_AUTHENTICATE, challenge.expect("words of ASCII"))
}

/// The problem of a limit that has nothing left.
fn rate_limited(exceeded: &Exceeded, detail: String) -> Problem {
    let problem = Problem::new(Slug::RateLimited, detail)
        .header(header::RETRY_AFTER, HeaderValue::from(exceeded.retry_after_s()));
    let headers = exceeded.allowance.headers().into_iter().flatten();
    headers.fold(problem, |problem, (name, value)| problem.header(name, value))
}

#[cfg(test)]
mod tests {
    use client::Scope;
    use gateway::allowance::Share;

    use super::*;

    fn told(refusal: Refusal<Problem>) -> Problem {
        Words { route: "POST /v1/orders".into(), proxies: Arc::default() }.problem(refusal)
    }

    fn exceeded(policy: &'static str) -> Box<Exceeded> {
        let share = Share { policy, quota: 2, window_s: 1, left: 0, reset_s: 1 };
        let mut allowance = Allowance::default();
        allowance.add(share);
        Box::new(Exceeded { share, allowance })
    }

    #[test]
    fn whoever_is_limited_is_told_by_which_limit_and_when_to_come_back() {
        for (policy, detail) in [
            ("client", "the client may send 2 requests a second (altogether)"),
            ("route", "the client may send 2 requests a second (POST /v1/orders)"),
            ("address", "the address may send 2 requests a second"),
        ] {
            let problem = told(Refusal::TooOften(exceeded(policy)));
            assert_eq!((problem.slug, problem.detail.as_str()), (Slug::RateLimited, detail));
            let names: Vec<_> = problem.headers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["retry-after", "ratelimit-policy", "ratelimit"]);
        }
    }

    #[test]
    fn whoever_is_unknown_is_told_which_scheme_is_wanted() {
        let problem = told(Refusal::NoCredentials(gateway::credentials::NoCredentials::Missing));
        assert_eq!(
            problem.headers[0],
            (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"onefold\""))
        );
    }

    #[test]
    fn whose_key_is_not_good_for_it_is_told_what_it_would_have_to_be_good_for() {
        let problem = told(Refusal::OutOfScope(Scope::OrdersWrite));
        assert_eq!(problem.slug, Slug::InsufficientScope);
        let challenge = problem.headers[0].1.to_str().unwrap();
        assert!(challenge.ends_with("error=\"insufficient_scope\", scope=\"orders:write\""), "{challenge}");
    }
}
