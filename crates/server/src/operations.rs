//! The operations of the API as the log and the metrics know them: method and route template, such as `POST /v1/orders`.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::MatchedPath;
use http::{Extensions, Method};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::metrics::Metrics;
use crate::routes;

/// The operation of a request that no route serves. Its path is the client's, and must not become a label.
const UNMATCHED: &str = "unmatched";

/// Every operation, made once: a request finds its own by its route, and makes no text for it.
#[derive(Debug)]
pub struct Operations {
    by_path: HashMap<&'static str, Vec<(Method, Operation)>>,
    unmatched: Operation,
}

impl Default for Operations {
    fn default() -> Self {
        let mut by_path: HashMap<_, Vec<_>> = HashMap::new();
        for (method, path) in routes::methods_and_paths() {
            let operation = Operation::new(&format!("{method} {path}"));
            by_path.entry(path).or_default().push((method, operation));
        }
        Self { by_path, unmatched: Operation::new(UNMATCHED) }
    }
}

impl Operations {
    /// The operation of a request. A method that no route has is the client's own word, as an unknown path is: it must not
    /// become a label before the router has refused it.
    pub fn of(&self, method: &Method, extensions: &Extensions) -> &Operation {
        let matched = extensions.get::<MatchedPath>().and_then(|path| self.by_path.get(path.as_str()));
        let known = matched.and_then(|known| known.iter().find(|(known, _)| known == method));
        known.map_or(&self.unmatched, |(_, operation)| operation)
    }
}

/// One operation: its name, and its places in the metrics, each looked up when it is first needed and then kept.
#[derive(Debug)]
pub struct Operation {
    name: Arc<str>,
    durations: OnceLock<Histogram>,
    /// By status and slug, of which an operation has few.
    answers: RwLock<Vec<(u16, &'static str, Counter)>>,
}

impl Operation {
    fn new(name: &str) -> Self {
        Self { name: name.into(), durations: OnceLock::new(), answers: RwLock::default() }
    }

    /// Its name.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Counts an answered request.
    pub fn answered(&self, metrics: &Metrics, status: u16, slug: &'static str, duration: Duration) {
        if !metrics.is_recorded() {
            return;
        }
        let durations = self.durations.get_or_init(|| metrics.durations(&self.name));
        durations.observe(duration.as_secs_f64());
        let is_it =
            |&(known_status, known_slug, _): &(u16, &str, _)| (known_status, known_slug) == (status, slug);
        // A panic leaves the list as good as it was: it grows by single calls.
        let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        match answers.iter().find(|answers| is_it(answers)) {
            Some((_, _, counter)) => {
                counter.inc();
            }
            None => {
                drop(answers);
                let counter = metrics.requests(&self.name, status, slug);
                counter.inc();
                self.answers.write().unwrap_or_else(PoisonError::into_inner).push((status, slug, counter));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::middleware::{Next, from_fn};
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;
    use crate::metrics::Consumers;

    #[tokio::test]
    async fn a_method_of_the_clients_own_is_no_operation() {
        let told = |request: Request, _: Next| async move {
            Operations::default().of(request.method(), request.extensions()).name().to_string()
        };
        let router = Router::new().route("/v1/orders", get(|| async {})).layer(from_fn(told));
        for (method, operation) in
            [("GET", "GET /v1/orders"), ("HEAD", "HEAD /v1/orders"), ("ZAP", UNMATCHED)]
        {
            let request =
                http::Request::builder().method(method).uri("/v1/orders").body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let length = response.headers()[http::header::CONTENT_LENGTH].to_str().unwrap();
            assert_eq!(length, operation.len().to_string(), "{method}");
        }
    }

    #[test]
    fn answers_of_one_kind_are_counted_together() {
        let consumers = Consumers { lags: Vec::new(), clock: Arc::new(desk::SystemClock) };
        let metrics = Metrics::new(&desk::Metrics::default(), Arc::default(), consumers);
        let operation = Operation::new("GET /v1/orders");
        for (status, slug) in [(200, ""), (404, "not-found"), (200, "")] {
            operation.answered(&metrics, status, slug, Duration::from_millis(1));
        }
        let text = metrics.text();
        for line in [
            r#"onefold_http_requests_total{operation="GET /v1/orders",status="200",slug=""} 2"#,
            r#"onefold_http_requests_total{operation="GET /v1/orders",status="404",slug="not-found"} 1"#,
            r#"onefold_http_request_duration_seconds_count{operation="GET /v1/orders"} 3"#,
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing in\n{text}");
        }
    }
}
