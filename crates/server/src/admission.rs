//! Who asks, whether it may, and how often: the gateway's answers in the words of the API.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use client::store::{KeyHolder, find_key_holder};
use gateway::allowance::Exceeded;
use gateway::api_keys::{Refused, network_of};
use gateway::credentials::bearer;
use http::request::Parts;
use http::{HeaderValue, header};

use crate::access_log::Facts;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::problem::{Problem, Slug};
use crate::routes::Access;

/// Who asks, unless it asks too often, or for something that its key is not good for.
///
/// # Errors
///
/// In order: `unauthorized` (`rate-limited` for an address that has shown too many wrong keys; `unavailable` where the key
/// cannot be looked up), `rate-limited`, `insufficient-scope`.
pub async fn admit(state: &AppState, parts: &Parts, facts: &Facts) -> Result<Arc<KeyHolder>, Problem> {
    let client = authenticate(state, parts).await?;
    facts.note_client(Arc::clone(&client));
    let operation = state.operations.of(&parts.method, &parts.extensions);
    match state.rate_limit.take(client.client_id, operation.route()) {
        Ok(allowance) => facts.note_allowance(allowance),
        Err(exceeded) => {
            let Exceeded { share, .. } = *exceeded;
            let of_what = if share.policy == "route" { operation.route() } else { "altogether" };
            let detail = format!("the client may send {} requests a second ({of_what})", share.quota);
            return Err(rate_limited(&exceeded, detail));
        }
    }
    match operation.access() {
        Access::Scope(scope) if client.scopes.allow(scope) => Ok(client),
        Access::Scope(scope) => {
            let challenge =
                format!("Bearer realm=\"onefold\", error=\"insufficient_scope\", scope=\"{scope}\"");
            let challenge = HeaderValue::from_str(&challenge).expect("scopes are words of ASCII");
            Err(Problem::new(Slug::InsufficientScope, format!("the API key is not good for {scope}"))
                .member("scope", scope.as_str())
                .header(header::WWW_AUTHENTICATE, challenge))
        }
        Access::Open => {
            tracing::error!(route = operation.route(), "a route asks for a key and names no scope");
            Err(Problem::internal())
        }
    }
}

async fn authenticate(state: &AppState, parts: &Parts) -> Result<Arc<KeyHolder>, Problem> {
    let key = bearer(&parts.headers).map_err(|none| unauthorized(&none.to_string(), ""))?;
    let pool = state.database.pool();
    let find = |hash| look_up(pool, move || find_key_holder(pool, hash));
    let demo_key_allowed = state.settings.demo_key_allowed;
    let good = |holder: &KeyHolder| !holder.demo || demo_key_allowed;
    state.keys.holder(&key, source_of(parts), find, good).await.map_err(|refused| match refused {
        Refused::Wrong => unauthorized(
            "the API key is unknown, revoked, or the demo's, which is good on a loopback listener only",
            ", error=\"invalid_token\"",
        ),
        Refused::TooManyWrong(exceeded) => {
            let detail =
                format!("the address may show {} wrong API keys a minute, and has", exceeded.share.quota);
            rate_limited(&exceeded, detail)
        }
        Refused::NotKnown(problem) => problem,
    })
}

fn unauthorized(detail: &str, error: &str) -> Problem {
    let challenge = HeaderValue::from_str(&format!("Bearer realm=\"onefold\"{error}"));
    Problem::new(Slug::Unauthorized, detail)
        .header(header::WWW_AUTHENTICATE, challenge.expect("words of ASCII"))
}

/// The problem of a limit that has nothing left.
pub fn rate_limited(exceeded: &Exceeded, detail: String) -> Problem {
    let problem = Problem::new(Slug::RateLimited, detail)
        .header(header::RETRY_AFTER, HeaderValue::from(exceeded.retry_after_s()));
    let headers = exceeded.allowance.headers().into_iter().flatten();
    headers.fold(problem, |problem, (name, value)| problem.header(name, value))
}

/// The address that a request comes from, as far as it is counted.
pub fn source_of(parts: &Parts) -> Option<IpAddr> {
    let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(network_of(peer.ip()))
}

#[cfg(test)]
mod tests {
    use gateway::allowance::{Allowance, Share};

    use super::*;

    #[test]
    fn whoever_is_limited_is_told_by_which_limit_and_when_to_come_back() {
        let share = Share { policy: "client", quota: 2, window_s: 1, left: 0, reset_s: 1 };
        let mut allowance = Allowance::default();
        allowance.add(share);
        let problem = rate_limited(&Exceeded { share, allowance }, "too often".to_owned());
        assert_eq!(problem.slug, Slug::RateLimited);
        let names: Vec<_> = problem.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["retry-after", "ratelimit-policy", "ratelimit"]);
    }

    #[test]
    fn whoever_is_unknown_is_told_which_scheme_is_wanted() {
        let problem = unauthorized("who?", "");
        assert_eq!(
            problem.headers[0],
            (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"onefold\""))
        );
    }
}
