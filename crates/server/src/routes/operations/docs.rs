//! `GET /docs`: Swagger UI, out of the binary and without the network.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderValue, header};
use utoipa_swagger_ui::Config;

use super::page;
use crate::path::{Named, named, not_found};
use crate::problem::Problem;

/// Everything comes from this server. Swagger UI sets styles in its elements and draws icons from data URIs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// With absolute paths, so that the page works at `/docs` and at `/docs/`.
const PAGE: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Onefold API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/index.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/swagger-ui-standalone-preset.js"></script>
<script src="/docs/swagger-initializer.js"></script>
</body>
</html>
"#;

const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    Arc::new(
        Config::new(["/openapi.json"])
            .try_it_out_enabled(true)
            .persist_authorization(false)
            .validator_url("none"),
    )
});

/// A file of Swagger UI, by its name.
struct FileName(String);

impl Named for FileName {
    fn from_parameter(parameter: &str) -> Option<Self> {
        Some(Self(parameter.to_owned()))
    }
}

/// Read and try the API
#[utoipa::path(
    get, path = "/docs", tag = "operations", security(()),
    responses((status = 200, description = "Swagger UI, served offline.", body = String, content_type = "text/html"))
)]
pub async fn docs() -> Response {
    page(POLICY, PAGE.to_owned())
}

/// What the page of [`docs`] loads.
pub async fn file(request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let FileName(name) = named(&mut parts).await?;
    let file = utoipa_swagger_ui::serve(&name, Arc::clone(&CONFIG)).map_err(|error| {
        tracing::error!(error = %error, "a file of Swagger UI cannot be made");
        Problem::internal()
    })?;
    let file = file.ok_or_else(not_found)?;
    let mut response = Response::new(Body::from(file.bytes.into_owned()));
    let headers = response.headers_mut();
    let content_type = HeaderValue::try_from(file.content_type);
    headers.insert(header::CONTENT_TYPE, content_type.unwrap_or(OCTETS));
    if file.gzpipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
