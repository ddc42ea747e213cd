//! Who asks: the API key of a request, and the client it belongs to.

use std::sync::Arc;
use std::time::Duration;

use client::store::{KeyHolder, find_key_holder};
use client::{ApiKey, ApiKeyHash};
use desk::schema::Database;
use http::{HeaderMap, HeaderValue, header};
use moka::future::Cache;

use crate::look_up::look_up;
use crate::problem::{Problem, Slug};

/// How many keys are remembered, good and bad ones together: whoever guesses keys cannot fill the memory.
const REMEMBERED_MAX: u64 = 10_000;

/// How long a key is remembered, and so how long a revoked key may still pass.
const REMEMBERED_FOR: Duration = Duration::from_secs(1);

/// Looks up API keys. Cheap to clone.
///
/// A look-up is remembered for a second, whatever it found; those that come meanwhile for the same key share one. The key
/// itself is never kept: look-ups go by its SHA-256, and two of those are compared in constant time.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    database: Database,
    demo_key_allowed: bool,
    holders: Cache<ApiKeyHash, Option<Arc<KeyHolder>>>,
}

impl ApiKeys {
    /// Looks keys up in that database. Demo keys are good only where the listener is a loopback one.
    pub fn new(database: Database, demo_key_allowed: bool) -> Self {
        let holders = Cache::builder().max_capacity(REMEMBERED_MAX).time_to_live(REMEMBERED_FOR).build();
        Self { database, demo_key_allowed, holders }
    }

    /// The client whose key the request shows.
    ///
    /// # Errors
    ///
    /// `unauthorized`; `unavailable` when the key cannot be looked up.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<KeyHolder>, Problem> {
        let key = bearer(headers)?;
        let hash = key.hash();
        let pool = self.database.pool();
        let found = async { Ok(look_up(pool, || find_key_holder(pool, hash)).await?.map(Arc::new)) };
        let holder = self.holders.try_get_with(hash, found).await;
        let holder = holder.map_err(|problem: Arc<Problem>| Problem::clone(&problem))?;
        match holder {
            Some(holder) if !holder.demo || self.demo_key_allowed => Ok(holder),
            Some(_) => Err(wrong("the demo key is good on a loopback listener only")),
            None => Err(wrong("the API key is unknown or revoked")),
        }
    }
}

/// The credentials of RFC 6750, 2.1.
fn bearer(headers: &HeaderMap) -> Result<ApiKey, Problem> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let field = match (fields.next(), fields.next()) {
        (Some(field), None) => field.to_str().ok(),
        (None, _) => return Err(missing("the request has no Authorization header")),
        (Some(_), Some(_)) => return Err(missing("the request has more than one Authorization header")),
    };
    let key = field
        .and_then(|field| field.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim_matches(' '))
        .filter(|key| !key.is_empty());
    key.map(ApiKey::presented)
        .ok_or_else(|| missing("the Authorization header is not Bearer with an API key"))
}

fn missing(detail: &str) -> Problem {
    unauthorized(detail, HeaderValue::from_static("Bearer realm=\"onefold\""))
}

fn wrong(detail: &str) -> Problem {
    unauthorized(detail, HeaderValue::from_static("Bearer realm=\"onefold\", error=\"invalid_token\""))
}

fn unauthorized(detail: &str, challenge: HeaderValue) -> Problem {
    Problem::new(Slug::Unauthorized, detail).header(header::WWW_AUTHENTICATE, challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(fields: &[&str]) -> Result<String, Slug> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(field).unwrap());
        }
        bearer(&headers).map(|key| key.reveal().to_owned()).map_err(|problem| problem.slug)
    }

    #[test]
    fn a_bearer_key_is_found_whatever_the_case_of_the_scheme() {
        for field in ["Bearer demo-key", "bearer demo-key", "BEARER  demo-key"] {
            assert_eq!(shown(&[field]).as_deref(), Ok("demo-key"));
        }
    }

    #[test]
    fn anything_else_is_unauthorized_and_says_which_scheme_is_wanted() {
        let cases: [&[&str]; 6] =
            [&[], &["demo-key"], &["Basic ZGVtbw=="], &["Bearer"], &["Bearer  "], &["Bearer a", "Bearer b"]];
        for fields in cases {
            assert_eq!(shown(fields), Err(Slug::Unauthorized), "{fields:?}");
        }
        let problem = bearer(&HeaderMap::new()).unwrap_err();
        assert_eq!(problem.headers[0].0, header::WWW_AUTHENTICATE);
    }
}
