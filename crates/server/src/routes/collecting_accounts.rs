//! `GET /v1/collecting-accounts`

use account::store::collecting::{self, CollectingBalance};
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::Nothing;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// What a collecting account has collected. Nothing is decided on it, so it has no balance of its own to contend for.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({ "name": "revenue", "currency": "CNY", "debits": "0.00", "credits": "128.00" }))]
pub struct CollectingAccountBody {
    /// What it collects: `outside` is where deposits come from and withdrawals go to, `revenue` what orders earned.
    name: String,
    /// Its currency (ISO 4217).
    currency: &'static str,
    /// The sum of what went out of it.
    debits: String,
    /// The sum of what came into it.
    credits: String,
}

/// The client's collecting accounts, all of them: there are a few for each currency.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({ "data": [
    { "name": "outside", "currency": "CNY", "debits": "10000.00", "credits": "0.00" },
    { "name": "revenue", "currency": "CNY", "debits": "0.00", "credits": "128.00" }
] }))]
pub struct CollectingAccountsBody {
    /// By name, then currency.
    data: Vec<CollectingAccountBody>,
}

impl From<CollectingBalance> for CollectingAccountBody {
    fn from(balance: CollectingBalance) -> Self {
        Self {
            name: balance.name,
            currency: balance.currency.code(),
            debits: balance.debits,
            credits: balance.credits,
        }
    }
}

/// List the collecting accounts
///
/// Over all accounts of a currency, customers' balances and collecting accounts add up to nothing.
#[utoipa::path(
    get, path = "/v1/collecting-accounts", tag = "accounts",
    responses((status = 200, description = "What was collected.", body = CollectingAccountsBody))
)]
pub async fn list_collecting_accounts(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let Reading { client_id, path: Nothing, query } = Reading::read(request).await?;
    query.finish()?;
    let pool = state.database.pool();
    let balances = look_up(pool, || collecting::balances(pool, client_id)).await?;
    Ok(ok(&CollectingAccountsBody { data: balances.into_iter().map(CollectingAccountBody::from).collect() }))
}
