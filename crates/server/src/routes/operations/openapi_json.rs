//! `GET /openapi.json`

use std::sync::LazyLock;

use axum::response::Response;

use super::text;
use crate::{openapi, render};

static DOCUMENT: LazyLock<String> = LazyLock::new(openapi::json);

/// Read this document
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations", security(()),
    responses((status = 200, description = "The API in OpenAPI 3.1.", body = Object, content_type = "application/json"))
)]
pub async fn openapi_json() -> Response {
    text(render::JSON, DOCUMENT.as_str())
}
