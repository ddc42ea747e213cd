//! The id of a request: it stands in the answer's header, in its problem document and on every log line.

use std::fmt;
use std::future::Future;

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// The header, both ways.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const LENGTH_MAX: usize = 128;

/// The id of a request, as a value that a header can carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The id that the client gave, if it is one: 1–128 printable ASCII characters, given once. Else a new UUID.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all(&HEADER).iter();
        match (given.next(), given.next()) {
            (Some(id), None) if is_id(id.as_bytes()) => Self(id.clone()),
            _ => Self::generate(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the edge at which a request gets its id")]
    fn generate() -> Self {
        let id = Uuid::now_v7().to_string();
        Self(HeaderValue::from_str(&id).expect("a UUID is printable ASCII"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().expect("an id is printable ASCII")
    }

    /// The id as a header's value.
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

tokio::task_local! {
    static CURRENT: RequestId;
}

/// Serves a request. Whatever is logged meanwhile, by whomever, has its id.
pub fn while_serving<F: Future>(id: RequestId, serving: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(id, serving)
}

/// The same for work that does not wait.
pub fn while_serving_at_once<T>(id: RequestId, serving: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(id, serving)
}

/// The id of the request that this task serves, if it serves one.
pub fn current() -> Option<RequestId> {
    CURRENT.try_with(RequestId::clone).ok()
}

fn is_id(bytes: &[u8]) -> bool {
    (1..=LENGTH_MAX).contains(&bytes.len()) && bytes.iter().all(|byte| matches!(byte, 0x20..=0x7E))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(values: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        RequestId::of(&headers).to_string()
    }

    #[test]
    fn a_printable_id_is_kept() {
        assert_eq!(id_for(&[b"r-1 ~"]), "r-1 ~");
        assert_eq!(id_for(&[&[b'x'; 128]]), "x".repeat(128));
    }

    #[test]
    fn anything_else_gets_a_new_id() {
        let too_long = [b'x'; 129];
        let cases: [&[&[u8]]; 5] = [&[], &[b""], &[&too_long], &[b"caf\xc3\xa9"], &[b"a", b"b"]];
        for values in cases {
            assert!(Uuid::try_parse(&id_for(values)).is_ok(), "{values:?} was kept");
        }
    }
}
