//! `GET /v1/accounts/{id}`

use account::AccountId;
use account::store::accounts;
use axum::extract::{Request, State};
use axum::response::Response;

use super::AccountBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at an account
#[utoipa::path(
    get, path = "/v1/accounts/{id}", tag = "accounts",
    responses((status = 200, description = "The account as it is now.", body = AccountBody))
)]
pub async fn get_account(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<AccountId> { client_id, path: id, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let account = look_up(pool, || accounts::find(pool, client_id, id)).await?.ok_or_else(not_found)?;
    Ok(ok(&AccountBody::from(account)))
}
