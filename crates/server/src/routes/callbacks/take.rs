//! `POST /v1/callbacks/{endpoint}`

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use client::ClientId;
use desk::command::{CallbackCommand, PaymentCommand};
use desk::{Answered, Command};
use http::{HeaderValue, StatusCode, header};
use idempotency::Name;
use idempotency::fingerprint::Meaning;
use payment_callback::{Delivery, DeliveryFingerprint, Verdict};
use tokio::time::timeout;

use crate::access_log::Facts;
use crate::app::AppState;
use crate::body::receive;
use crate::endpoints::Endpoint;
use crate::path::{self, Named, not_found};
use crate::problem::{Problem, Slug};
use crate::telemetry::traces;

/// What the effect is recorded as.
pub const OPERATION: &str = "POST /v1/callbacks/{endpoint}";

/// The largest body that a provider may send.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// How long a repetition waits for the first one's end.
pub const WAIT: Duration = Duration::from_secs(4);

/// Within what a verified callback is answered: WeChat Pay gives up after 5 s. What is running then goes on, and the
/// provider's next delivery learns what became of it.
const ANSWER_WITHIN: Duration = Duration::from_millis(4_500);

/// When to come again, for a provider that heeds it.
const RETRY_AFTER_S: u64 = 5;

/// The name of an endpoint in a path.
#[derive(Debug)]
pub struct EndpointName(String);

impl Named for EndpointName {
    fn from_parameter(parameter: &str) -> Option<Self> {
        Some(Self(parameter.to_owned()))
    }
}

/// Take a provider's callback
///
/// For payment providers: the signature is verified over exactly the bytes that came, and the answer is what the provider
/// takes for an acknowledgement or a refusal. It comes after everything that follows is committed. No API key and no
/// idempotency key: the provider's own name for the delivery, and the money's identity there, see to it that each
/// effect happens once.
#[utoipa::path(
    post, path = "/v1/callbacks/{endpoint}", tag = "payments",
    request_body(content = Vec<u8>, content_type = "*/*", description = "The provider's own bytes, 256 KiB at most."),
    responses(
        (status = 200, description = "Acknowledged: it was dealt with, now or before, or repeating it cannot help. The body is the provider's word for that.", body = String, content_type = "*/*"),
        (status = 204, description = "Acknowledged, for a provider that wants no body."),
        (status = 400, description = "Not believed: the signature is missing, malformed or wrong, or the delivery is stale or cannot be read.", body = String, content_type = "*/*"),
        (status = 401, description = "Not believed, for a provider that is told so by this status.", body = String, content_type = "*/*"),
        (status = 503, description = "It cannot be dealt with now; the provider shall come again.", body = String, content_type = "*/*"),
    ),
    security(())
)]
pub async fn take_callback(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let facts = Facts::of(&parts.extensions);
    let found = match path::named(&mut parts).await {
        Ok(EndpointName(name)) => state.endpoints.find(&name).ok_or_else(not_found),
        Err(problem) => Err(problem),
    };
    let (endpoint, client_id) = match found {
        Ok(found) => found,
        Err(problem) => {
            receive::discard(body).await;
            return Err(problem);
        }
    };
    facts.note_endpoint(endpoint.name.clone());
    let received = timeout(BODY_WITHIN, facts.reading_body(receive::receive(body, BODY_BYTES_MAX))).await;
    let Ok(bytes) = received else {
        return Err(Problem::new(Slug::RequestTimeout, "the body did not arrive in time"));
    };
    let bytes = bytes?;

    // Before anything else: what is forged costs the database nothing.
    let headers: Vec<(&str, &[u8])> =
        parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let delivery = Delivery { headers: &headers, body: &bytes };
    let notice = match endpoint.provider.verify(&delivery, state.clock.now()) {
        Ok(notice) => notice,
        Err(rejection) => {
            tracing::debug!(
                endpoint = endpoint.name,
                reason = rejection.reason.word(),
                detail = rejection.detail,
                "a callback was refused"
            );
            let verdict = Verdict::Rejected(rejection.reason);
            state.metrics.callback(endpoint, verdict);
            return Ok(answer(endpoint, verdict));
        }
    };
    tracing::debug!(
        endpoint = endpoint.name,
        delivery = notice.delivery_key,
        event_type = notice.event_type,
        verified_by = notice.key_id,
        "a callback was verified"
    );
    let callback = CallbackCommand {
        endpoint: endpoint.name.clone(),
        provider: endpoint.provider.kind(),
        fingerprint: DeliveryFingerprint::of(&notice),
        notice,
        body: bytes.to_vec(),
        body_kept: endpoint.body_kept,
    };
    let request = request_of(client_id, callback, facts.request_id().to_owned());
    facts.note_submitted();
    let submitted = timeout(ANSWER_WITHIN, traces::submit(&state.desk, request, Some(WAIT))).await;
    let verdict = match submitted.map(|reply| reply.answered) {
        Ok(Answered::Ran(_) | Answered::Replayed(_)) => Verdict::Acknowledged,
        // The name follows from the content, so it cannot be another content's; should it be, the provider comes again.
        Ok(
            Answered::Reused
            | Answered::InProgress
            | Answered::Undecided
            | Answered::Contended
            | Answered::Overloaded
            | Answered::Unavailable
            | Answered::OutcomeUnknown
            | Answered::Failed,
        )
        | Err(_) => Verdict::Unavailable,
    };
    state.metrics.callback(endpoint, verdict);
    let mut response = answer(endpoint, verdict);
    if verdict == Verdict::Unavailable {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    Ok(response)
}

/// What the door is asked for when a provider has told of something, whether it called or was asked.
pub fn request_of(client_id: ClientId, callback: CallbackCommand, request_id: String) -> desk::Request {
    desk::Request {
        name: Name { client_id, key: callback.door_key() },
        fingerprint: Meaning::of(OPERATION).field("content", &callback.fingerprint.to_hex()).fingerprint(),
        operation: OPERATION,
        command: Command::Payment(PaymentCommand::TakeCallback(Box::new(callback))),
        request_id,
    }
}

/// Marks a response that is in the words that a provider expects, a refusal included, and is to leave as it is.
#[derive(Clone, Copy, Debug)]
pub struct ProvidersWords {
    /// What was made of the callback, for the log: a provider may be told of a refusal by a status that is none.
    pub outcome: &'static str,
}

fn answer(endpoint: &Endpoint, verdict: Verdict) -> Response {
    let answer = endpoint.provider.answer(verdict);
    let outcome = match verdict {
        Verdict::Acknowledged => "ok",
        Verdict::Rejected(reason) => reason.word(),
        Verdict::Unavailable => Slug::Unavailable.as_str(),
    };
    let body = answer.body.map_or_else(Bytes::new, |body| Bytes::from_static(body.as_bytes()));
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Body::from(body)).into_response();
    response.extensions_mut().insert(ProvidersWords { outcome });
    // An answer without a body that is documented to have one is a text of no length, and not an unknown kind of thing.
    if status != StatusCode::NO_CONTENT {
        let media_type = answer.content_type.unwrap_or("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    response
}
