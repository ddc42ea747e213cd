//! `GET /v1/orders/{id}`

use axum::extract::{Request, State};
use axum::response::Response;
use order::OrderId;

use super::{OrderBody, with_payments};
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at an order
#[utoipa::path(
    get, path = "/v1/orders/{id}", tag = "orders",
    responses((status = 200, description = "The order as it is now.", body = OrderBody))
)]
pub async fn get_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<OrderId> { client_id, path: id, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let found = look_up(pool, || async {
        let order = order::store::find(pool, client_id, id).await?;
        with_payments(pool, Vec::from_iter(order)).await
    });
    let order = found.await?.pop().ok_or_else(not_found)?;
    Ok(ok(&OrderBody::from(order)))
}
