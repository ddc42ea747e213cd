//! `GET /v1/accounts`

use account::AccountId;
use account::store::accounts;
use axum::extract::{Request, State};
use axum::response::Response;
use uuid::Uuid;

use super::AccountBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::{Nothing, position_of};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// List the accounts
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/accounts", tag = "accounts",
    responses((status = 200, description = "A page of accounts.", body = ListBody<AccountBody>,
        example = json!({ "data": [AccountBody::example()], "next_cursor": null })))
)]
pub async fn list_accounts(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, mut query } = Reading::read(request).await?;
    let page = Page::read(List { name: "accounts", scope: client_id.0 }, &mut query);
    query.finish()?;
    let before = page.before.map(|position| AccountId(Uuid::from_u128(position)));
    let pool = state.database.pool();
    let accounts = look_up(pool, || accounts::list(pool, client_id, before, page.fetch())).await?;
    Ok(ok(&page.body::<_, AccountBody>(accounts, |account| position_of(account.id.0))))
}
