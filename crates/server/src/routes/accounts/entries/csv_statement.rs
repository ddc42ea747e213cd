//! A statement as CSV: sent while it is read, so that its length takes no memory.

use account::store::journal::{self, StatementLine, StatementRange};
use account::{Account, AccountId};
use axum::body::{Body, Bytes};
use axum::response::Response;
use client::ClientId;
use futures::stream::{self, StreamExt};
use http::{HeaderValue, header};
use sqlx::PgPool;

use super::EntryBody;
use crate::csv::{self, push_record};
use crate::look_up::look_up;
use crate::problem::Problem;

/// Rows that are read at a time. Between two reads no connection is held: a client may take its time.
const ROWS_READ: i64 = 500;

/// The columns, named as the members of the JSON body.
const COLUMNS: [&str; 14] = [
    "created_at",
    "account_version",
    "kind",
    "direction",
    "amount",
    "currency",
    "counter_account",
    "available_after",
    "held_after",
    "reference",
    "order_id",
    "hold_id",
    "idempotency_key",
    "id",
];

/// The rows of the range, newest first. Rows that are added meanwhile are newer, and not among them.
///
/// The first rows are read before the answer begins, so that a database that is away is a problem like any other. If it
/// goes away later, the connection is cut: a file that ends in the middle must not look like a whole one.
///
/// # Errors
///
/// `unavailable`, `internal`.
pub async fn csv_of(pool: PgPool, account: &Account, range: StatementRange) -> Result<Response, Problem> {
    let name = (account.client_id, account.id);
    let mut head = String::new();
    push_record(&mut head, COLUMNS);
    let first = read(&pool, name, range).await?;
    let rest = stream::try_unfold(Some(first), move |lines| {
        let pool = pool.clone();
        async move {
            let Some(lines) = lines else { return Ok::<_, CutOff>(None) };
            let is_last = i64::try_from(lines.len()).is_ok_and(|rows| rows < ROWS_READ);
            let next = match lines.last() {
                Some(last) if !is_last => {
                    let before = Some(last.account_version);
                    Some(read(&pool, name, StatementRange { before, ..range }).await.map_err(|_| CutOff)?)
                }
                _ => None,
            };
            Ok(Some((text_of(lines), next)))
        }
    });
    let body = stream::once(async { Ok(Bytes::from(head)) }).chain(rest);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(csv::CONTENT_TYPE));
    let file = format!("attachment; filename=\"account-{}.csv\"", account.id);
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_str(&file).expect("an id is ASCII"));
    Ok(response)
}

async fn read(
    pool: &PgPool,
    (client, account): (ClientId, AccountId),
    range: StatementRange,
) -> Result<Vec<StatementLine>, Problem> {
    look_up(pool, || journal::statement(pool, client, account, range, ROWS_READ)).await
}

/// The answer cannot be brought to its end. Why has been logged.
#[derive(Debug, thiserror::Error)]
#[error("the statement is cut off, because its next rows cannot be read")]
struct CutOff;

fn text_of(lines: Vec<StatementLine>) -> Bytes {
    let mut text = String::new();
    for line in lines {
        let EntryBody {
            id,
            kind,
            direction,
            amount,
            currency,
            counter_account,
            available_after,
            held_after,
            account_version,
            reference,
            order_id,
            hold_id,
            idempotency_key,
            created_at,
        } = EntryBody::from(line);
        push_record(
            &mut text,
            [
                created_at.as_str(),
                &account_version.to_string(),
                &kind,
                direction,
                &amount,
                currency,
                &counter_account,
                &available_after,
                &held_after,
                reference.as_deref().unwrap_or_default(),
                order_id.as_deref().unwrap_or_default(),
                hold_id.as_deref().unwrap_or_default(),
                idempotency_key.as_deref().unwrap_or_default(),
                &id,
            ],
        );
    }
    Bytes::from(text)
}
