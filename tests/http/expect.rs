//! What a problem must look like, whichever it is.

use onefold_tests::http::Exchange;
use serde_json::Value;

/// The slugs under which the same request may succeed later.
const RETRYABLE: [&str; 8] = [
    "idempotency-in-progress",
    "rate-limited",
    "balance-contended",
    "overloaded",
    "unavailable",
    "outcome-unknown",
    "request-timeout",
    "internal",
];

/// Checks that an answer is this problem with every member that a problem has, and answers its document.
///
/// # Panics
///
/// If it is not.
#[track_caller]
pub fn problem(exchange: &Exchange, status: u16, slug: &str) -> Value {
    let shown = String::from_utf8_lossy(&exchange.bytes);
    assert_eq!(exchange.status, status, "{slug} was expected, and not {shown}");
    assert_eq!(exchange.header("content-type"), Some("application/problem+json"), "{shown}");
    let document = exchange.json();
    assert_eq!(document["type"], format!("/problems/{slug}"), "{shown}");
    assert_eq!(document["status"], status, "{shown}");
    for member in ["title", "detail", "instance"] {
        assert!(document[member].as_str().is_some_and(|text| !text.is_empty()), "no {member} in {shown}");
    }
    assert_eq!(document["retryable"], RETRYABLE.contains(&slug), "{shown}");
    if !exchange.replayed() {
        assert_eq!(document["instance"].as_str(), exchange.header("x-request-id"), "{shown}");
    }
    document
}

/// The pointers of a `validation-failed`, in alphabetical order, after the checks of [`problem`].
///
/// # Panics
///
/// If it is another answer.
#[track_caller]
pub fn faults(exchange: &Exchange) -> Vec<String> {
    let document = problem(exchange, 422, "validation-failed");
    let errors = document["errors"].as_array().expect("a list of errors");
    assert!(errors.iter().all(|error| error["detail"].as_str().is_some_and(|detail| !detail.is_empty())));
    let mut pointers: Vec<String> =
        errors.iter().map(|error| error["pointer"].as_str().expect("a pointer").to_owned()).collect();
    pointers.sort();
    pointers
}

/// Checks that an answer is a 201 of JSON at a place of its own, and answers its body.
///
/// # Panics
///
/// If it is not.
#[track_caller]
pub fn created(exchange: &Exchange) -> Value {
    let shown = String::from_utf8_lossy(&exchange.bytes);
    assert_eq!(exchange.status, 201, "{shown}");
    assert_eq!(exchange.header("content-type"), Some("application/json"), "{shown}");
    let body = exchange.json();
    let id = body["id"].as_str().expect("an id");
    assert!(
        exchange.header("location").is_some_and(|location| location.ends_with(id)),
        "no Location of {id}"
    );
    body
}

/// Checks that an answer is a 200 of JSON, and answers its body.
///
/// # Panics
///
/// If it is not.
#[track_caller]
pub fn ok(exchange: &Exchange) -> Value {
    let shown = String::from_utf8_lossy(&exchange.bytes);
    assert_eq!(exchange.status, 200, "{shown}");
    assert_eq!(exchange.header("content-type"), Some("application/json"), "{shown}");
    exchange.json()
}

/// Checks that two answers are one, byte for byte, in all that an idempotency record keeps.
///
/// # Panics
///
/// If they differ.
#[track_caller]
pub fn same(first: &Exchange, again: &Exchange) {
    let kept = |exchange: &Exchange| {
        let header = |name| exchange.header(name).map(str::to_owned);
        let body = String::from_utf8_lossy(&exchange.bytes).into_owned();
        (exchange.status, header("content-type"), header("location"), body)
    };
    assert_eq!(kept(first), kept(again));
}
