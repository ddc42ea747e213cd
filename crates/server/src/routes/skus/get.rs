//! `GET /v1/skus/{sku}`

use axum::extract::{Request, State};
use axum::response::Response;
use http::header;
use inventory::SkuCode;

use super::{SkuBody, etag};
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// Look at a sku
#[utoipa::path(
    get, path = "/v1/skus/{sku}", tag = "inventory",
    responses((status = 200, description = "The sku as it is now.", body = SkuBody,
        headers(("ETag" = String, description = "Its version, for `If-Match`."))))
)]
pub async fn get_sku(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<SkuCode> { client_id, path: code, .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let sku = look_up(pool, || inventory::store::find(pool, client_id, &code)).await?;
    let sku = sku.ok_or_else(not_found)?;
    let mut response = ok(&SkuBody::from(&sku));
    response.headers_mut().insert(header::ETAG, etag(sku.version));
    Ok(response)
}
