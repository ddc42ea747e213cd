//! What every request passes on its way in and out, unknown routes included: its id, its line in the log, limits of size
//! and time, and the last word on what a problem looks like.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use gateway::allowance::Allowance;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use idempotency::prefer;
use tracing::Instrument;

use crate::access_log::{Facts, Line, Phase};
use crate::app::AppState;
use crate::body::receive;
use crate::problem::{self, Problem, Slug};
use crate::request_id::{self, RequestId};
use crate::routes::callbacks::take::ProvidersWords;
use crate::submission::REPLAYED;
use crate::telemetry::traces;

/// The longest path and query, in bytes.
const URI_BYTES_MAX: usize = 8 * 1024;

/// The largest headers, in bytes of names and values. Below what the HTTP parser takes, so that the answer is a problem.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Serves a request, and sees to it that there is one line in the log and one shape of problem, whatever happens.
pub async fn pass(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let request_id = RequestId::of(request.headers());
    let facts = Facts::new(request_id.clone());
    request.extensions_mut().insert(Arc::clone(&facts));
    let is_business = request.uri().path().starts_with("/v1/");

    let operation = state.operations.of(request.method(), request.extensions());
    let span = traces::of_request(&operation.name(), request.headers(), &request_id);
    if let Some(trace_id) = traces::trace_id(&span) {
        facts.note_trace(trace_id);
    }
    let serving = async {
        let line = Line::begin(Arc::clone(&facts), operation.name());
        let response = match misaddressed(&request).or_else(|| oversize(&request)) {
            Some(problem) => {
                receive::discard(request.into_body()).await;
                problem.into_response()
            }
            None => {
                // Who asks to wait for the first one's answer is given that time besides.
                let time_max = state.settings.request_timeout + wait_of(request.headers());
                bounded(time_max, next.run(request), &facts).await
            }
        };
        let told = Told::of(&response);
        let status = response.status().as_u16();
        let duration = line.write(status, told.outcome);
        operation.answered(&state.metrics, status, told.slug, duration);
        traces::answered(&span, status, told.outcome);
        let mut response = finished(response, &request_id, is_business);
        if let Some(headers) = facts.allowance().and_then(Allowance::headers) {
            response.headers_mut().extend(headers);
        }
        response
    };
    request_id::while_serving(request_id.clone(), serving.instrument(span.clone())).await
}

/// HTTP/1.1 wants one `Host` that is a host, and 400 where it is not so (RFC 9112, 3.2): a proxy in front could have sent the
/// request elsewhere than it was meant for, and would not have noticed.
fn misaddressed(request: &Request) -> Option<Problem> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let detail = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() == Version::HTTP_11 => "the request has no Host, which HTTP/1.1 wants",
        (Some(_), Some(_)) => "the request has more than one Host",
        (Some(host), None) if !is_host(host) => "the Host is not a host with or without a port",
        (_, _) => return None,
    };
    Some(Problem::new(Slug::MalformedRequest, detail))
}

/// `HOST` or `HOST:PORT`. It is empty where the target has none.
fn is_host(host: &HeaderValue) -> bool {
    let is_authority = |host: &str| !host.contains('@') && host.parse::<Authority>().is_ok();
    host.is_empty() || host.to_str().is_ok_and(is_authority)
}

fn oversize(request: &Request) -> Option<Problem> {
    let uri = request.uri().path_and_query().map_or(0, |uri| uri.as_str().len());
    if uri > URI_BYTES_MAX {
        let detail = format!("the path and query have {uri} bytes; {URI_BYTES_MAX} are allowed");
        return Some(Problem::new(Slug::UriTooLong, detail));
    }
    let headers: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers > HEADER_BYTES_MAX {
        let detail = format!("the headers have {headers} bytes; {HEADER_BYTES_MAX} are allowed");
        return Some(Problem::new(Slug::HeadersTooLarge, detail));
    }
    None
}

/// Serves within the time, and turns a panic into an answer.
async fn bounded(time_max: Duration, serving: impl Future<Output = Response>, facts: &Facts) -> Response {
    let serving = AssertUnwindSafe(serving).catch_unwind();
    match tokio::time::timeout(time_max, serving).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            tracing::error!(panic = panic_text(panic.as_ref()), "a handler panicked");
            Problem::internal().into_response()
        }
        Err(_) => out_of_time(facts.phase()).into_response(),
    }
}

fn wait_of(headers: &HeaderMap) -> Duration {
    prefer::wait(headers.get_all("prefer").iter().map(HeaderValue::as_bytes)).unwrap_or_default()
}

/// What is true of a request that is given up. What the desk has, it goes on with, and a retry learns what came of it.
fn out_of_time(phase: Phase) -> Problem {
    match phase {
        Phase::Asking => Problem::new(Slug::Unavailable, "there was no answer in time; nothing was done"),
        Phase::ReadingBody => {
            Problem::new(Slug::RequestTimeout, "the body did not arrive in time; nothing was done")
        }
        Phase::Submitted => Problem::new(
            Slug::OutcomeUnknown,
            "there was no answer in time, and the effect may still happen; retry with the same key only, which tells",
        ),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}

/// What a response says, in words for the log and the metrics.
struct Told {
    /// The slug of a problem, whether it is a fresh one or comes from the desk; else empty.
    slug: &'static str,
    /// The slug, or why a provider's callback is not believed, or how the request went well.
    outcome: &'static str,
}

impl Told {
    fn of(response: &Response) -> Self {
        let fresh = response.extensions().get::<Problem>().map(|problem| problem.slug);
        let slug = fresh.or_else(|| response.extensions().get::<Slug>().copied()).map_or("", Slug::as_str);
        let outcome = match slug {
            _ if response.headers().contains_key(REPLAYED) => "replayed",
            "" => response.extensions().get::<ProvidersWords>().map_or("ok", |words| words.outcome),
            slug => slug,
        };
        Self { slug, outcome }
    }
}

/// The response as it leaves: with the request's id, and with a body if it is a problem.
fn finished(mut response: Response, request_id: &RequestId, is_business: bool) -> Response {
    let error = response.status().is_client_error() || response.status().is_server_error();
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        *response.body_mut() = Body::from(problem.document(request_id.as_str()));
    } else if error
        && !is_problem(response.headers())
        && response.extensions().get::<ProvidersWords>().is_none()
    {
        response = foreign(response.status(), request_id);
    }
    let headers = response.headers_mut();
    headers.insert(request_id::HEADER, request_id.header());
    if is_business {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// What the framework would have said in words of its own.
fn foreign(status: StatusCode, request_id: &RequestId) -> Response {
    let known = problem::catalogue::ENTRIES.iter().find(|entry| entry.status == status.as_u16());
    let slug = match status {
        // Many kinds have this status, each of which says more than is known here.
        StatusCode::BAD_REQUEST => Slug::MalformedRequest,
        _ => known.map_or(Slug::Internal, |entry| entry.slug),
    };
    let problem = Problem::new(slug, slug.entry().when);
    let document = problem.document(request_id.as_str());
    let mut response = problem.into_response();
    response.extensions_mut().remove::<Problem>();
    *response.body_mut() = Body::from(document);
    response
}

fn is_problem(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes() == problem::CONTENT_TYPE.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_runs_out_of_time_is_told_what_may_have_happened() {
        assert_eq!(out_of_time(Phase::Asking).slug, Slug::Unavailable);
        assert_eq!(out_of_time(Phase::ReadingBody).slug, Slug::RequestTimeout);
        assert_eq!(out_of_time(Phase::Submitted).slug, Slug::OutcomeUnknown);
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_like_any_other() {
        let facts = Facts::new(RequestId::of(&HeaderMap::new()));
        let response = bounded(Duration::from_secs(9), async { panic!("a mistake") }, &facts).await;
        assert_eq!(response.extensions().get::<Problem>().unwrap().slug, Slug::Internal);
    }

    #[tokio::test]
    async fn a_handler_that_never_answers_is_given_up() {
        let facts = Facts::new(RequestId::of(&HeaderMap::new()));
        facts.note_submitted();
        let response = bounded(Duration::from_millis(1), std::future::pending(), &facts).await;
        assert_eq!(response.extensions().get::<Problem>().unwrap().slug, Slug::OutcomeUnknown);
    }

    #[test]
    fn what_the_framework_says_by_itself_is_put_into_our_words() {
        let response = Response::builder().status(415).body(Body::from("Expected …")).unwrap();
        let request_id = RequestId::of(&HeaderMap::new());
        let response = finished(response, &request_id, true);
        assert_eq!(response.status(), 415);
        assert!(is_problem(response.headers()));
        assert_eq!(response.headers()[request_id::HEADER], request_id.as_str());
    }
}
