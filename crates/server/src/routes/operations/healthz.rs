//! `GET /healthz`

use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::reading::ok;

/// The process is up.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({ "status": "ok" }))]
pub struct HealthBody {
    /// Always `ok`.
    status: &'static str,
}

/// Ask whether the process is up
///
/// It says nothing of the database; see `/readyz`.
#[utoipa::path(
    get, path = "/healthz", tag = "operations", security(()),
    responses((status = 200, description = "It is.", body = HealthBody))
)]
pub async fn healthz() -> Response {
    ok(&HealthBody { status: "ok" })
}
