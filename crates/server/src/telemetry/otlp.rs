//! Sending spans to a collector: OTLP over HTTP, as protobuf, in batches, by a thread of its own.
//!
//! What waits is bounded (2048 spans unless `OTEL_BSP_MAX_QUEUE_SIZE` says otherwise); a collector that is slow or away
//! costs spans, and never a request. Which traces are kept follows the caller's word, and else `OTEL_TRACES_SAMPLER`
//! with `OTEL_TRACES_SAMPLER_ARG`; `OTEL_EXPORTER_OTLP_HEADERS` is sent with each batch.

use std::env;
use std::time::Duration;

use anyhow::{Context, bail};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::traces::TARGET;
use crate::provider_calls::exchange::{self, Connections};

/// Variables of OpenTelemetry that name a collector, the first that is set and not empty: the URL that takes spans, and the
/// one that all signals' URLs begin with.
pub const ENDPOINT_VARIABLES: [&str; 2] =
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Where a collector takes spans, below the URL of its signals.
const PATH: &str = "/v1/traces";

/// How long a batch may take, repetitions included.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// How long the last spans may take to leave when the program ends.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);

/// The largest answer of a collector that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Where spans are to be sent, if anywhere: as the variables say, else as the configuration does.
///
/// # Errors
///
/// If what is said is not a URL with `http` or `https`. The value is not repeated, for it may hold a secret.
pub fn endpoint(configured: &str, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Uri>> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let [of_spans, of_signals] = ENDPOINT_VARIABLES;
    let (said_by, url) = match (set(of_spans), set(of_signals)) {
        (Some(url), _) => (of_spans, url),
        (None, Some(base)) => (of_signals, below(&base)),
        (None, None) if configured.is_empty() => return Ok(None),
        (None, None) => ("telemetry.otlp_endpoint", below(configured)),
    };
    match url.parse::<Uri>() {
        Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() => {
            Ok(Some(uri))
        }
        _ => bail!("{said_by} is not the URL of a collector, such as http://127.0.0.1:4318"),
    }
}

fn below(base: &str) -> String {
    format!("{}{PATH}", base.trim_end_matches('/'))
}

/// Sends spans until it is ended.
#[derive(Debug)]
pub struct Otlp(SdkTracerProvider);

impl Otlp {
    /// Begins to send to a collector, over connections of this runtime.
    ///
    /// # Errors
    ///
    /// If a variable of OpenTelemetry has a value that cannot be used.
    pub fn begin(endpoint: &Uri, runtime: Handle) -> anyhow::Result<Self> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector { connections: exchange::connections(), runtime })
            .with_endpoint(endpoint.to_string())
            .with_timeout(SENT_WITHIN)
            .build()
            .context("traces cannot be sent")?;
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(this_service());
        Ok(Self(provider.build()))
    }

    /// Gives the spans of [`traces`](super::traces) to the sender, and nothing else.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("onefold"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(filter_fn(|metadata| metadata.is_span() && metadata.target() == TARGET))
    }

    /// Sends what is not sent yet, and ends. The runtime must still be there.
    pub fn end(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(LEAVE_WITHIN) {
            tracing::debug!(%error, "the last spans were not sent");
        }
    }
}

/// What the spans are of. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say it otherwise, or more.
fn this_service() -> Resource {
    let name = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let of_service = Resource::builder_empty()
        .with_service_name("onefold")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_detector(Box::new(EnvResourceDetector::new()));
    match name {
        Some(name) => of_service.with_service_name(name).build(),
        None => of_service.build(),
    }
}

/// Asks a collector. Batches are sent by a thread that is none of the runtime's, so the exchange is handed to that.
#[derive(Clone, Debug)]
struct Collector {
    connections: Connections,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let connections = self.connections.clone();
        let exchange = async move {
            let (head, body) = connections.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        self.runtime.spawn(async { timeout(SENT_WITHIN, exchange).await? }).await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint_of(configured: &str, variables: [&str; 2]) -> Option<String> {
        let found = endpoint(configured, |name| {
            let at = ENDPOINT_VARIABLES.iter().position(|known| *known == name)?;
            Some(variables[at].to_owned())
        });
        found.unwrap().map(|uri| uri.to_string())
    }

    #[test]
    fn variables_say_where_spans_go_and_else_the_configuration_does() {
        assert_eq!(endpoint_of("", ["", ""]), None);
        let configured = "http://c:4318/";
        assert_eq!(endpoint_of(configured, ["", ""]).as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(endpoint_of(configured, ["", "https://d"]).as_deref(), Some("https://d/v1/traces"));
        assert_eq!(endpoint_of(configured, ["http://e/x", "https://d"]).as_deref(), Some("http://e/x"));
    }

    #[test]
    fn what_is_no_url_is_refused_without_being_repeated() {
        for url in ["collector:4318", "grpc://secret", "http://?secret", "not a url"] {
            let error = endpoint(url, |_| None).unwrap_err().to_string();
            assert!(error.contains("telemetry.otlp_endpoint") && !error.contains(url), "{error}");
        }
    }
}
