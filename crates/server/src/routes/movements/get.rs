//! `GET /v1/movements/{id}`

use account::MovementId;
use axum::extract::{Request, State};
use axum::response::Response;

use super::MovementBody;
use crate::app::AppState;
use crate::path::not_found;
use crate::problem::Problem;
use crate::problem::read_failure::read_failed;
use crate::reading::{Reading, ok};

/// Look at a movement
///
/// It reads as the answer that made it.
#[utoipa::path(
    get, path = "/v1/movements/{id}", tag = "movements",
    responses((status = 200, description = "The movement.", body = MovementBody))
)]
pub async fn get_movement(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<MovementId> { client_id, path: id, .. } = Reading::read(&state, request).await?;
    let movement = account::store::movements::find(state.database.pool(), client_id, id).await;
    let movement = movement.map_err(|error| read_failed(&error))?.ok_or_else(not_found)?;
    Ok(ok(&MovementBody::from(&movement)))
}
