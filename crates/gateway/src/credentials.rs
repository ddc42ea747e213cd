//! The API key that a request shows (RFC 6750, 2.1).

use client::ApiKey;
use http::{HeaderMap, header};

/// Why a request shows no key. It tells nothing of any key that there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoCredentials {
    /// Nothing was shown.
    #[error("the request has no Authorization header")]
    Missing,
    /// It is not clear which of them is meant.
    #[error("the request has more than one Authorization header")]
    Repeated,
    /// Something else was shown.
    #[error("the Authorization header is not Bearer with an API key")]
    NotBearer,
}

/// The key in the one `Authorization` header. Whether it is anybody's is not known yet.
///
/// # Errors
///
/// If there is none, or several, or it is of another scheme than `Bearer`, whose case does not matter.
pub fn bearer(headers: &HeaderMap) -> Result<ApiKey, NoCredentials> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let field = match (fields.next(), fields.next()) {
        (Some(field), None) => field.to_str().ok(),
        (None, _) => return Err(NoCredentials::Missing),
        (Some(_), Some(_)) => return Err(NoCredentials::Repeated),
    };
    let key = field
        .and_then(|field| field.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim_matches(' '))
        .filter(|key| !key.is_empty());
    key.map(ApiKey::presented).ok_or(NoCredentials::NotBearer)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn shown(fields: &[&str]) -> Result<String, NoCredentials> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(field).unwrap());
        }
        bearer(&headers).map(|key| key.reveal().to_owned())
    }

    #[test]
    fn a_bearer_key_is_found_whatever_the_case_of_the_scheme() {
        for field in ["Bearer demo-key", "bearer demo-key", "BEARER  demo-key"] {
            assert_eq!(shown(&[field]).as_deref(), Ok("demo-key"));
        }
    }

    #[test]
    fn anything_else_is_none_and_it_is_said_why() {
        for (fields, why) in [
            (&[][..], NoCredentials::Missing),
            (&["demo-key"], NoCredentials::NotBearer),
            (&["Basic ZGVtbw=="], NoCredentials::NotBearer),
            (&["Bearer"], NoCredentials::NotBearer),
            (&["Bearer  "], NoCredentials::NotBearer),
            (&["Bearer a", "Bearer b"], NoCredentials::Repeated),
        ] {
            assert_eq!(shown(fields), Err(why), "{fields:?}");
        }
    }
}
