//! `GET /readyz`

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::problem::{Problem, Slug};
use crate::reading::ok;

/// The service can do its work.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({ "status": "ready" }))]
pub struct ReadyBody {
    /// Always `ready`.
    status: &'static str,
}

/// Ask whether the service can do its work
///
/// That is: the database can be reached, and every migration is applied.
#[utoipa::path(
    get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, description = "It can.", body = ReadyBody))
)]
pub async fn readyz(State(state): State<AppState>) -> Result<Response, Problem> {
    match state.database.migrations_applied().await {
        Ok(true) => Ok(ok(&ReadyBody { status: "ready" })),
        Ok(false) => Err(missing("migrations", "not every migration is applied; run onefold migrate")),
        Err(error) => {
            tracing::warn!(error = %error, "not ready: the database cannot be reached");
            Err(missing("database", "the database cannot be reached"))
        }
    }
}

fn missing(what: &str, detail: &str) -> Problem {
    Problem::new(Slug::Unavailable, detail).member("missing", what)
}
