//! `GET /v1/orders/{id}/refunds`

use axum::extract::{Request, State};
use axum::response::Response;
use order::store::refunds;
use order::{OrderId, RefundId};
use uuid::Uuid;

use super::{RefundBody, with_asked};
use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{not_found, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};
use crate::routes::orders::find;

/// List an order's refunds
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/orders/{id}/refunds", tag = "orders",
    responses((status = 200, description = "A page of refunds.", body = ListBody<RefundBody>,
        example = json!({ "data": [RefundBody::example()], "next_cursor": null })))
)]
pub async fn list_refunds(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<OrderId> { client_id, path: id, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "refunds", scope: id.0 }, &mut query);
    query.finish()?;
    find(&state, client_id, id).await?.ok_or_else(not_found)?;
    let before = page.before.map(|position| RefundId(Uuid::from_u128(position)));
    let pool = state.database.pool();
    let refunds = look_up(pool, || async {
        with_asked(pool, client_id, refunds::list(pool, client_id, id, before, page.fetch()).await?).await
    });
    Ok(ok(&page.body::<_, RefundBody>(refunds.await?, |(refund, _)| position_of(refund.id.0))))
}
