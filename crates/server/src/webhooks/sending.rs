//! One attempt over HTTP.
//!
//! No redirect is followed, for it could lead anywhere; no proxy is asked for from the environment; certificates are
//! verified against the roots that browsers trust. Of the answer the status counts, and `Retry-After`.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use notifications::signature::sign;
use notifications::{Endpoint, EndpointUrl, Reach, WebhookDelivery};
use tokio::time::timeout;

use super::resolving::Resolver;
use crate::telemetry::traces;

/// So much of an answer's body is read, to use the connection again; of a longer one the connection is closed.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// How long that may take.
const DRAIN_WITHIN: Duration = Duration::from_secs(1);

/// Who calls.
const CALLED_BY: &str = concat!("onefold/", env!("CARGO_PKG_VERSION"));

/// How long a connection that nobody uses is kept.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// Sends deliveries. Cheap to clone; all clones share their connections.
#[derive(Clone, Debug)]
pub struct Sender {
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
    reach: Reach,
    timeout: Duration,
}

/// What an attempt came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The endpoint has taken it, with this status of 200 to 299.
    Taken(u16),
    /// The endpoint is gone for good, it says (410).
    Gone,
    /// It has not taken it.
    Failed {
        /// What it answered, if it did.
        status: Option<u16>,
        /// For how long it wants to be left alone.
        retry_after: Option<TimeDelta>,
        /// What happened, for a person.
        fault: String,
    },
}

impl Attempt {
    fn failed(fault: String) -> Self {
        Self::Failed { status: None, retry_after: None, fault }
    }

    /// What the endpoint answered, if it did.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Taken(status) => Some(*status),
            Self::Gone => Some(StatusCode::GONE.as_u16()),
            Self::Failed { status, .. } => *status,
        }
    }
}

impl Sender {
    /// A sender that waits so long for each answer, and calls no further than `reach`.
    pub fn new(timeout: Duration, reach: Reach) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver(reach));
        http.enforce_http(false);
        http.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE_FOR).pool_timer(TokioTimer::new());
        Self { client: builder.build(connector), reach, timeout }
    }

    /// Tries a delivery once.
    pub async fn send(&self, endpoint: &Endpoint, delivery: &WebhookDelivery, now: DateTime<Utc>) -> Attempt {
        // An address in the URL itself is looked up by nobody, so it is judged here, each time.
        let request = match EndpointUrl::parse(&endpoint.url, self.reach) {
            Ok(url) => request(&url, endpoint, delivery, now),
            Err(fault) => return Attempt::failed(format!("the URL is not called: {fault}")),
        };
        let request = match request {
            Ok(request) => request,
            Err(error) => return Attempt::failed(format!("the request cannot be sent: {error}")),
        };
        let response = match timeout(self.timeout, self.client.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Attempt::failed(chain(&error)),
            Err(_) => return Attempt::failed(format!("no answer within {} ms", self.timeout.as_millis())),
        };
        let (head, body) = response.into_parts();
        let _ = timeout(DRAIN_WITHIN, Limited::new(body, ANSWER_BYTES_MAX).collect()).await;
        match head.status {
            status if status.is_success() => Attempt::Taken(status.as_u16()),
            StatusCode::GONE => Attempt::Gone,
            status => Attempt::Failed {
                status: Some(status.as_u16()),
                retry_after: retry_after(&head.headers, now),
                fault: match status.is_redirection() {
                    true => format!("answered {status}, and no redirect is followed"),
                    false => format!("answered {status}"),
                },
            },
        }
    }
}

fn request(
    url: &EndpointUrl,
    endpoint: &Endpoint,
    delivery: &WebhookDelivery,
    now: DateTime<Utc>,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let id = delivery.event_id.to_string();
    let uri: Uri = url.as_str().parse()?;
    let mut request = Request::post(uri)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, CALLED_BY)
        .header("webhook-signature", sign(&endpoint.secrets, &id, now, &delivery.body))
        .header("webhook-timestamp", now.timestamp().to_string())
        .header("webhook-id", id);
    // The span of this attempt; where nothing listens to that, what the event was caused in.
    if let Some(traceparent) = traces::traceparent().or_else(|| delivery.traceparent.clone()) {
        request = request.header("traceparent", traceparent);
    }
    request.body(Full::new(Bytes::from(delivery.body.clone())))
}

/// For how long `Retry-After` wants the endpoint to be left alone (RFC 9110, 10.2.3): seconds, or a date.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<TimeDelta> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse::<u32>() {
        Ok(seconds) => TimeDelta::seconds(seconds.into()),
        Err(_) => DateTime::parse_from_rfc2822(text).ok()?.to_utc() - now,
    };
    (pause > TimeDelta::zero()).then_some(pause)
}

/// An error with what caused it: the client's own says no more than that it failed.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_that_is_to_come() {
        let now = DateTime::from_timestamp(1_445_412_420, 0).unwrap();
        for (text, seconds) in [
            ("120", Some(120)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(60)),
            ("Wed, 21 Oct 2015 07:26:00 GMT", None),
            ("0", None),
            ("-1", None),
            ("soon", None),
            ("99999999999", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            assert_eq!(retry_after(&headers, now).map(|pause| pause.num_seconds()), seconds, "{text}");
        }
    }
}
