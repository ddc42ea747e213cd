//! `GET /v1/payment-alerts/{id}`

use axum::extract::{Request, State};
use axum::response::Response;
use payment_callback::AlertId;
use payment_callback::store::alerts;

use super::AlertBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at a payment alert
#[utoipa::path(
    get, path = "/v1/payment-alerts/{id}", tag = "payments",
    responses((status = 200, description = "The alert as it is now.", body = AlertBody))
)]
pub async fn get_payment_alert(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<AlertId> { client_id, path: id, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let found = look_up(pool, || alerts::find(pool, client_id, id)).await?;
    Ok(ok(&AlertBody::from(found.ok_or_else(not_found)?)))
}
