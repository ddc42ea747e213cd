//! `GET /v1/accounts/{id}/entries`: as JSON, page by page, or as one file of CSV.

mod csv_statement;

use account::AccountId;
use account::store::journal::{Direction, StatementLine, StatementRange};
use account::store::{accounts, journal};
use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use self::csv_statement::csv_of;
use super::time;
use crate::accept;
use crate::app::AppState;
use crate::body::words;
use crate::look_up::look_up;
use crate::page::{List, ListBody, Page};
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// A row of an account's statement. Rows are never changed.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!(EntryBody::example()))]
pub struct EntryBody {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// What moved the money.
    kind: String,
    /// `debit` when money left the account, `credit` when it came in.
    direction: &'static str,
    /// How much moved.
    amount: String,
    /// The account's currency (ISO 4217).
    currency: &'static str,
    /// The other account: the id of a customer's, the name of a collecting one, such as `outside` or `revenue`, or
    /// `held`: then money was frozen or given back, and the balance is what it was.
    counter_account: String,
    /// What was available afterwards.
    available_after: String,
    /// What was frozen afterwards.
    held_after: String,
    /// The account's version that the row made. It orders the statement.
    account_version: i64,
    /// The client's own name for the movement.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// The order that it was for.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    /// The hold that it was for, if that belongs to no order.
    #[schema(format = "uuid")]
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_id: Option<String>,
    /// The idempotency key of the request that it was made for, which outlives the key's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    /// When it was decided.
    #[schema(format = "date-time")]
    created_at: String,
}

impl From<StatementLine> for EntryBody {
    fn from(line: StatementLine) -> Self {
        Self {
            id: line.entry_id.to_string(),
            kind: line.kind,
            direction: match line.direction {
                Direction::Debit => "debit",
                Direction::Credit => "credit",
            },
            amount: line.amount.to_string(),
            currency: line.amount.currency().code(),
            counter_account: line.counter_account,
            available_after: line.available_after.to_string(),
            held_after: line.held_after.to_string(),
            account_version: line.account_version,
            reference: line.reference,
            order_id: line.order_id.map(|id| id.to_string()),
            hold_id: line.hold_id.map(|id| id.to_string()),
            idempotency_key: line.idempotency_key,
            created_at: time(line.created_at),
        }
    }
}

impl EntryBody {
    fn example() -> Self {
        Self {
            id: "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e62".to_owned(),
            kind: "deposit".to_owned(),
            direction: "credit",
            amount: "100.00".to_owned(),
            currency: "CNY",
            counter_account: "outside".to_owned(),
            available_after: "10100.00".to_owned(),
            held_after: "0.00".to_owned(),
            account_version: 2,
            reference: Some("D-1001".to_owned()),
            order_id: None,
            hold_id: None,
            idempotency_key: Some("8e03978e-40d5-43dd-bc93-6894a57f9324".to_owned()),
            created_at: "2026-01-31T09:30:00.123456Z".to_owned(),
        }
    }
}

/// Read an account's statement
///
/// Newest first, by the account's version, which every row raises by one; all of it, or what was decided between two times.
/// Whoever names `text/csv` in `Accept`, and nothing that is as welcome, gets all rows of the range as one CSV file (RFC 4180)
/// with the same members as columns. A text that a spreadsheet could run as a formula has a `'` in front there, and so has
/// one that begins with `'`.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/entries", tag = "accounts",
    params(
        ("from" = Option<String>, Query, description = "Only rows from this time on (RFC 3339).",
            format = DateTime, example = "2026-01-01T00:00:00Z"),
        ("to" = Option<String>, Query, description = "Only rows before this time (RFC 3339).",
            format = DateTime, example = "2026-02-01T00:00:00Z")),
    responses((status = 200, description = "A page of the statement, or all of it as CSV.", content(
        (ListBody<EntryBody> = "application/json",
            example = json!({ "data": [EntryBody::example()], "next_cursor": null })),
        (String = "text/csv", example = "created_at,account_version,kind,…"))))
)]
pub async fn list_entries(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let is_csv = accept::prefers_csv(request.headers());
    let Reading::<AccountId> { client_id, path: id, mut query } = Reading::read(request).await?;
    if is_csv {
        for name in ["limit", "cursor"] {
            query.take(name, |_| Err::<(), _>("has no meaning for CSV, which has all rows".to_owned()));
        }
    }
    let page = Page::read(List { name: "entries", scope: id.0 }, &mut query);
    let (from, to) = (query.take("from", words::time), query.take("to", words::time));
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        query.fault("to", "must be later than from");
    }
    query.finish()?;

    let pool = state.database.pool();
    // A statement without rows and an account that is not there are different answers.
    let account = look_up(pool, || accounts::find(pool, client_id, id)).await?.ok_or_else(not_found)?;
    let before = page.before.map(|position| i64::try_from(position).unwrap_or(i64::MAX));
    let range = StatementRange { before, from, to, ..StatementRange::default() };
    let range = look_up(pool, || journal::narrowed(pool, &account, range)).await?;
    if is_csv {
        return csv_of(pool.clone(), &account, range).await;
    }
    let lines = look_up(pool, || journal::statement(pool, client_id, id, range, page.fetch())).await?;
    Ok(ok(&page.body::<_, EntryBody>(lines, |line| u128::from(line.account_version.unsigned_abs()))))
}
