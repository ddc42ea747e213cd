//! `GET /v1/accounts`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use uuid::Uuid;

use super::AccountBody;
use crate::app::AppState;
use crate::page::{List, ListBody, Page};
use crate::path::{Nothing, position_of};
use crate::problem::Problem;
use crate::problem::read_failure::read_failed;
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
    let Reading { client_id, path: Nothing, mut query } = Reading::read(&state, request).await?;
    let page = Page::read(List { name: "accounts", scope: client_id.0 }, &mut query);
    query.finish()?;
    let before = page.before.map(|position| AccountId(Uuid::from_u128(position)));
    let accounts = account::store::accounts::list(state.database.pool(), client_id, before, page.fetch());
    let accounts = accounts.await.map_err(|error| read_failed(&error))?;
    Ok(ok(&page.body::<_, AccountBody>(accounts, |account| position_of(account.id.0))))
}
