//! `GET /metrics`

use axum::extract::State;
use axum::response::Response;

use super::text;
use crate::app::AppState;
use crate::metrics::CONTENT_TYPE;

/// Read what was counted
///
/// In the text format of OpenMetrics 1.0, which Prometheus reads.
#[utoipa::path(
    get, path = "/metrics", tag = "operations", security(()),
    responses((status = 200, description = "The counters, gauges and histograms.", body = String,
        content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8"))
)]
pub async fn metrics(State(state): State<AppState>) -> Response {
    let pool = state.database.pool();
    state.metrics.note_pool(pool.size(), pool.num_idle());
    text(CONTENT_TYPE, state.metrics.text())
}
