//! `GET /v1/skus`

use axum::extract::{Request, State};
use axum::response::Response;
use inventory::SkuId;
use uuid::Uuid;

use super::SkuBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{Nothing, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// List the skus
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/skus", tag = "inventory",
    responses((status = 200, description = "A page of skus.", body = ListBody<SkuBody>,
        example = json!({ "data": [SkuBody::example()], "next_cursor": null })))
)]
pub async fn list_skus(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "skus", scope: client_id.0 }, &mut query);
    query.finish()?;
    let before = page.before.map(|position| SkuId(Uuid::from_u128(position)));
    let pool = state.database.pool();
    let skus = look_up(pool, || inventory::store::list(pool, client_id, before, page.fetch())).await?;
    Ok(ok(&page.body::<_, SkuBody>(skus, |sku| position_of(sku.id.0))))
}
