//! Spans: where the time of a request goes, and what came of what.
//!
//! A request is a span, a child of its caller's where it has a `traceparent` ([Trace Context](https://www.w3.org/TR/trace-context/)).
//! Below it are the desk's work and what providers are asked, which get a `traceparent` too; and the events that follow
//! carry it on, to where they are published, to their consumers, and to the endpoints of clients that are told. Where no collector is configured nothing listens to these spans: to make one is then a look at one flag.
//!
//! Attributes are named as [OpenTelemetry's conventions](https://opentelemetry.io/docs/specs/semconv/http/http-spans/)
//! name them, and those of the service begin with `onefold`. No body, no key, no amount and no path with an id is one.

use std::collections::HashMap;
use std::time::Duration;

use desk::{Answered, Desk, Reply};
use events::Message;
use http::{HeaderMap, HeaderName};
use idempotency::{Fingerprint, Name};
use notifications::WebhookDelivery;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::request_id::RequestId;

/// The target of these spans: by it they are told from what others call a span.
pub const TARGET: &str = "onefold::trace";

/// Names the span that a request comes from.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The span of a request, as a child of what its `traceparent` names. One that is malformed, or comes twice, is none.
pub fn of_request(operation: &str, headers: &HeaderMap, request_id: &RequestId) -> Span {
    let (method, route) = operation.split_once(' ').unwrap_or(("_OTHER", operation));
    let span = info_span!(
        target: TARGET,
        "request",
        otel.name = operation,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        onefold.outcome = Empty,
        onefold.request_id = request_id.as_str(),
    );
    if !span.is_disabled() && headers.get_all(TRACEPARENT).iter().count() == 1 {
        // It fails where nothing listens to the span, and then there is nothing to be a child.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&HeaderExtractor(headers)));
    }
    span
}

/// Notes how a request was answered.
pub fn answered(span: &Span, status: u16, outcome: &str) {
    span.record("http.response.status_code", status);
    span.record("onefold.outcome", outcome);
    if status >= 500 {
        failed(span);
    }
}

/// The span of a request to a payment provider.
pub fn of_provider_request(provider: &'static str, what: &'static str) -> Span {
    info_span!(
        target: TARGET,
        "provider request",
        otel.name = format_args!("{provider} {what}"),
        otel.kind = "client",
        otel.status_code = Empty,
        onefold.provider = provider,
        onefold.outcome = Empty,
    )
}

/// Notes what came of a request to a provider.
pub fn asked(span: &Span, fault: Option<&'static str>) {
    span.record("onefold.outcome", fault.unwrap_or("answered"));
    if fault.is_some() {
        failed(span);
    }
}

/// The span of an event's publishing. Like those of the other steps on its way it is a part of the trace that the event belongs
/// to; an event that belongs to none has no spans.
pub fn of_publishing(message: &Message) -> Span {
    of_event("publish", "producer", &message.event_type, message.traceparent.as_deref())
}

/// The span of an event at a consumer.
pub fn of_consuming(consumer: &str, message: &Message) -> Span {
    of_event(consumer, "consumer", &message.event_type, message.traceparent.as_deref())
}

/// The span of a webhook's attempt.
pub fn of_webhook(delivery: &WebhookDelivery) -> Span {
    of_event("webhook", "client", &delivery.event_type, delivery.traceparent.as_deref())
}

fn of_event(step: &str, kind: &str, event_type: &str, traceparent: Option<&str>) -> Span {
    let Some(traceparent) = traceparent else { return Span::none() };
    let span = info_span!(
        target: TARGET,
        "event",
        otel.name = format_args!("{step} {event_type}"),
        otel.kind = kind,
        otel.status_code = Empty,
        http.response.status_code = Empty,
        onefold.event_type = event_type,
        onefold.outcome = Empty,
    );
    if !span.is_disabled() {
        let carried = HashMap::from([(TRACEPARENT.as_str().to_owned(), traceparent.to_owned())]);
        // It fails where nothing listens to the span, and then there is nothing to be a part of.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&carried));
    }
    span
}

/// Notes what a consumer said of an event.
pub fn consumed(span: &Span, outcome: &'static str) {
    span.record("onefold.outcome", outcome);
}

/// Notes what an attempt at a webhook came to.
pub fn told(span: &Span, status: Option<u16>, is_taken: bool) {
    if let Some(status) = status {
        span.record("http.response.status_code", status);
    }
    if !is_taken {
        failed(span);
    }
}

/// Notes that what a span is of has failed.
pub fn failed(span: &Span) {
    span.record("otel.status_code", "error");
}

/// What the desk remembers that a repeat was answered, with a span as if it had been asked.
pub fn replay(
    desk: &Desk,
    operation: &'static str,
    name: &Name,
    fingerprint: Fingerprint,
) -> Option<Answered> {
    let answered = desk.replay(name, fingerprint)?;
    of_desk(operation).record("onefold.answered", word_of(&answered));
    Some(answered)
}

/// Asks the desk for an effect, in a span of its own, which the events that follow carry on.
pub async fn submit(desk: &Desk, request: desk::Request, wait: Option<Duration>) -> Reply {
    let span = of_desk(request.operation);
    let traceparent = span.in_scope(traceparent);
    let reply = desk.submit_in(traceparent.as_deref(), request, wait).instrument(span.clone()).await;
    span.record("onefold.answered", word_of(&reply.answered));
    reply
}

fn of_desk(operation: &'static str) -> Span {
    info_span!(
        target: TARGET,
        "desk",
        otel.kind = "internal",
        onefold.operation = operation,
        onefold.answered = Empty,
    )
}

fn word_of(answered: &Answered) -> &'static str {
    match answered {
        Answered::Ran(_) => "ran",
        Answered::Replayed(_) => "replayed",
        Answered::InProgress => "in_progress",
        Answered::Reused => "reused",
        Answered::Undecided => "undecided",
        Answered::Contended => "contended",
        Answered::Overloaded => "overloaded",
        Answered::Unavailable => "unavailable",
        Answered::OutcomeUnknown => "outcome_unknown",
        Answered::Failed => "failed",
    }
}

/// The id of the trace that a span belongs to, as hexadecimal digits; none where nothing listens to it.
pub fn trace_id(span: &Span) -> Option<String> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_valid().then(|| context.trace_id().to_string())
}

/// Tells whoever is asked next which span asks: that of the caller of this function.
pub fn tell(headers: &mut HeaderMap) {
    let span = Span::current();
    if !span.is_disabled() {
        TraceContextPropagator::new().inject_context(&span.context(), &mut HeaderInjector(headers));
    }
}

/// The `traceparent` of the caller's span, to be kept with what is told later; none where nothing listens to it.
pub fn traceparent() -> Option<String> {
    let mut headers = HeaderMap::new();
    tell(&mut headers);
    Some(headers.get(TRACEPARENT)?.to_str().ok()?.to_owned())
}
