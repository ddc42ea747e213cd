//! `GET /v1/refunds/{id}`

use axum::extract::{Request, State};
use axum::response::Response;
use order::RefundId;
use order::store::refunds;

use super::{RefundBody, with_asked};
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at a refund
#[utoipa::path(
    get, path = "/v1/refunds/{id}", tag = "orders",
    responses((status = 200, description = "The refund as it is now.", body = RefundBody))
)]
pub async fn get_refund(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<RefundId> { client_id, path: id, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let found = look_up(pool, || async {
        let found = refunds::find(pool, client_id, id).await?.into_iter().collect();
        Ok(with_asked(pool, client_id, found).await?.pop())
    });
    Ok(ok(&RefundBody::from(found.await?.ok_or_else(not_found)?)))
}
