//! `GET /v1/accounts/{id}/holds`

use account::store::{accounts, holds};
use account::{AccountId, HoldId};
use axum::extract::{Request, State};
use axum::response::Response;
use uuid::Uuid;

use super::HoldBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{not_found, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// List an account's holds
///
/// Newest first, those of orders and those that have ended among them.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/holds", tag = "holds",
    responses((status = 200, description = "A page of holds.", body = ListBody<HoldBody>,
        example = json!({ "data": [HoldBody::example()], "next_cursor": null })))
)]
pub async fn list_holds(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<AccountId> { client_id, path: id, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "holds", scope: id.0 }, &mut query);
    query.finish()?;
    let pool = state.database.pool();
    look_up(pool, || accounts::find(pool, client_id, id)).await?.ok_or_else(not_found)?;
    let before = page.before.map(|position| HoldId(Uuid::from_u128(position)));
    let holds = look_up(pool, || holds::list(pool, client_id, id, before, page.fetch())).await?;
    Ok(ok(&page.body::<_, HoldBody>(holds, |hold| position_of(hold.id.0))))
}
