//! `GET /v1/holds/{id}`

use account::HoldId;
use axum::extract::{Request, State};
use axum::response::Response;

use super::{HoldBody, find};
use crate::app::AppState;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at a hold
#[utoipa::path(
    get, path = "/v1/holds/{id}", tag = "holds",
    responses((status = 200, description = "The hold as it is now.", body = HoldBody))
)]
pub async fn get_hold(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<HoldId> { client_id, path: id, .. } = Reading::read(request).await?;
    let hold = find(&state, client_id, id).await?.ok_or_else(not_found)?;
    Ok(ok(&HoldBody::from(hold)))
}
