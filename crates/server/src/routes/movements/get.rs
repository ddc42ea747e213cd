//! `GET /v1/movements/{id}`

use account::MovementId;
use account::store::movements;
use axum::extract::{Request, State};
use axum::response::Response;

use super::MovementBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at a movement
///
/// It reads as the answer that made it.
#[utoipa::path(
    get, path = "/v1/movements/{id}", tag = "movements",
    responses((status = 200, description = "The movement.", body = MovementBody))
)]
pub async fn get_movement(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<MovementId> { client_id, path: id, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let movement = look_up(pool, || movements::find(pool, client_id, id)).await?.ok_or_else(not_found)?;
    Ok(ok(&MovementBody::from(&movement)))
}
