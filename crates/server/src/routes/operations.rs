//! For whoever runs the service, and whoever reads about it. None of these asks for an API key.

pub mod docs;
pub mod healthz;
pub mod metrics;
pub mod openapi_json;
pub mod problems;
pub mod readyz;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};

/// 200 with a text of that media type.
fn text(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// 200 with a page that may load just what the policy says.
fn page(policy: &'static str, html: String) -> Response {
    let mut response = text("text/html; charset=utf-8", html);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}
