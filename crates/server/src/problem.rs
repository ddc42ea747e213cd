//! Problem documents (RFC 9457): the one shape of everything that the server answers instead of what was asked for.
//!
//! - [`slug`]: the kinds of problem;
//! - [`catalogue`]: what each kind means, in the words of the API;
//! - [`refusal`]: which problem a business refusal is.

pub mod catalogue;
pub mod refusal;
pub mod slug;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

pub use catalogue::Entry;
pub use slug::Slug;

use crate::body::Fault;

/// The media type of a problem document.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// Something that a client is told instead of what it asked for.
///
/// As a response it has no body yet: [`Problem::document`] names the request, which only the edge knows, so the edge
/// writes it ([`crate::edge`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// What kind of problem.
    pub slug: Slug,
    /// What is wrong this time, for a person to read.
    pub detail: String,
    /// The members that the slug's page names, in order.
    pub members: Vec<(&'static str, Value)>,
    /// The faults of a request that does not fit the schema: the member `errors`.
    pub errors: Vec<Fault>,
    /// Headers that the answer needs besides its media type, such as `Retry-After`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// How long a client should let pass before it asks again, in seconds.
const RETRY_AFTER_S: u64 = 1;

impl Problem {
    /// A problem of that kind. Where it passes by itself, the answer has a `Retry-After`.
    pub fn new(slug: Slug, detail: impl Into<String>) -> Self {
        let (detail, members, errors, headers) = (detail.into(), Vec::new(), Vec::new(), Vec::new());
        let problem = Self { slug, detail, members, errors, headers };
        if slug.entry().retry_after {
            problem.header(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S))
        } else {
            problem
        }
    }

    /// A request that does not fit the schema, with every fault that was found.
    pub fn validation_failed(faults: Vec<Fault>) -> Self {
        let detail = match faults.as_slice() {
            [fault] if fault.pointer.is_empty() => fault.detail.clone(),
            [fault] => format!("{}: {}", fault.pointer, fault.detail),
            faults => format!("the request has {} faults, see errors", faults.len()),
        };
        Self { errors: faults, ..Self::new(Slug::ValidationFailed, detail) }
    }

    /// A mistake of the server's own. Whoever answers it has logged what is wrong.
    pub fn internal() -> Self {
        Self::new(Slug::Internal, "the server made a mistake, which is logged under the id of this request")
    }

    /// With one more member.
    #[must_use]
    pub fn member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// With this header, which replaces one of the same name.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value));
        self
    }

    /// The document, whose `instance` is the id of the request. The same for the same arguments, byte for byte.
    pub fn document(&self, request_id: &str) -> Bytes {
        let document = Document { problem: self, request_id };
        Bytes::from(serde_json::to_vec(&document).expect("text and JSON values always serialise"))
    }

    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.slug.entry().status()
    }
}

/// The members in the order in which a person reads them.
struct Document<'a> {
    problem: &'a Problem,
    request_id: &'a str,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.problem.slug.entry();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.problem.slug.path())?;
        map.serialize_entry("title", entry.title)?;
        map.serialize_entry("status", &entry.status)?;
        map.serialize_entry("detail", &self.problem.detail)?;
        map.serialize_entry("instance", self.request_id)?;
        map.serialize_entry("retryable", &entry.retryable)?;
        for (name, value) in &self.problem.members {
            map.serialize_entry(name, value)?;
        }
        if !self.problem.errors.is_empty() {
            map.serialize_entry("errors", &self.problem.errors)?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.headers_mut().extend(self.headers.iter().cloned());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_names_the_page_the_request_and_what_the_page_promises() {
        let problem = Problem::new(Slug::InsufficientFunds, "too little")
            .member("available", "0.00")
            .member("required", "12.30");
        assert_eq!(
            problem.document("r-1"),
            r#"{"type":"/problems/insufficient-funds","title":"Insufficient funds","status":402,"detail":"too little","instance":"r-1","retryable":false,"available":"0.00","required":"12.30"}"#
        );
    }

    #[test]
    fn what_passes_by_itself_says_when_to_ask_again() {
        for entry in catalogue::ENTRIES {
            let response = Problem::new(entry.slug, "").into_response();
            assert_eq!(
                response.headers().contains_key(header::RETRY_AFTER),
                entry.retry_after,
                "{}",
                entry.slug
            );
            assert_eq!(response.status().as_u16(), entry.status);
        }
    }

    #[test]
    fn a_single_fault_is_told_in_the_detail_too() {
        let problem = Problem::validation_failed(vec![Fault::new("/amount", "is missing")]);
        assert_eq!(problem.detail, "/amount: is missing");
        let document = problem.document("r-1");
        assert!(document.ends_with(br#""errors":[{"pointer":"/amount","detail":"is missing"}]}"#));
    }
}
