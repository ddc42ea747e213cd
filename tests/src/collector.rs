//! A collector of traces, which keeps the spans that it is sent over OTLP; and what else is asked at its address, it refuses,
//! keeping the `traceparent`.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A span as it was sent, its ids as hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What sent it: `service.name`.
    pub service: String,
    /// Its trace.
    pub trace_id: String,
    /// Its own id.
    pub id: String,
    /// The span that it is a part of; empty for the first of its trace.
    pub parent: String,
    /// As OpenTelemetry numbers it: 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: i32,
    /// Its attributes, in the order they were sent.
    pub attributes: Vec<(String, String)>,
    /// Whether it is marked as a failure.
    pub failed: bool,
}

impl Told {
    fn of(service: &str, span: &Span) -> Self {
        let attributes = span.attributes.iter().map(|attribute| {
            let value = attribute.value.as_ref().and_then(|value| value.value.as_ref());
            (attribute.key.clone(), value.map(text).unwrap_or_default())
        });
        Self {
            name: span.name.clone(),
            service: service.to_owned(),
            trace_id: hexadecimal(&span.trace_id),
            id: hexadecimal(&span.span_id),
            parent: hexadecimal(&span.parent_span_id),
            kind: span.kind,
            attributes: attributes.collect(),
            failed: span.status.as_ref().is_some_and(|status| status.code == 2),
        }
    }

    /// The value of an attribute; empty, if it has none.
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    /// The `traceparent` that names it.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace_id, self.id)
    }
}

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Told>,
    asked_by: Vec<String>,
}

/// The collector. It stops when it is dropped.
#[derive(Debug)]
pub struct Collector {
    /// Where it is.
    pub url: String,
    kept: Arc<Mutex<Kept>>,
    serving: JoinHandle<()>,
}

impl Collector {
    /// A collector that has nothing yet.
    pub async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let kept = Arc::<Mutex<Kept>>::default();
        let router = Router::new().route("/v1/traces", post(take)).fallback(refuse).with_state(kept.clone());
        let serving = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, kept, serving })
    }

    /// The spans that it has been sent.
    pub fn spans(&self) -> Vec<Told> {
        locked(&self.kept).spans.clone()
    }

    /// The `traceparent`s of what else it was asked.
    pub fn asked_by(&self) -> Vec<String> {
        locked(&self.kept).asked_by.clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(State(kept): State<Arc<Mutex<Kept>>>, body: Bytes) -> StatusCode {
    let Ok(sent) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    let mut kept = locked(&kept);
    for of_service in &sent.resource_spans {
        let attributes = of_service.resource.iter().flat_map(|resource| &resource.attributes);
        let name = attributes
            .filter(|attribute| attribute.key == "service.name")
            .find_map(|attribute| attribute.value.as_ref().and_then(|value| value.value.as_ref()).map(text));
        let name = name.unwrap_or_default();
        let spans = of_service.scope_spans.iter().flat_map(|scope| &scope.spans);
        kept.spans.extend(spans.map(|span| Told::of(&name, span)));
    }
    StatusCode::OK
}

async fn refuse(State(kept): State<Arc<Mutex<Kept>>>, headers: HeaderMap) -> StatusCode {
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    locked(&kept).asked_by.extend(traceparent.map(str::to_owned));
    StatusCode::NOT_FOUND
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    // A panic leaves lists that are as good as they were.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(value: &Value) -> String {
    match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("writing to a string does not fail");
        digits
    })
}
