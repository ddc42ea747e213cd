//! What is shown, as the API would answer it.

use ::account::store::accounts;
use ::account::store::journal::{self, StatementLine, StatementRange};
use ::client::ClientId;
use ::order::OrderId;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use history::store as histories;
use payment_callback::store::deliveries;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{AccountArguments, CallbackArguments};
use crate::routes::accounts::entries::EntryBody;
use crate::routes::accounts::{AccountBody, time};
use crate::routes::orders::history::StepBody;
use crate::routes::orders::{OrderBody, with_payments};
use crate::routes::payments::get::find_payment;

/// Rows that are read at a time.
const ROWS_READ: i64 = 500;

/// `{"order", "history"}`: an order and all its steps.
pub async fn order(pool: &PgPool, client: ClientId, id: OrderId) -> sqlx::Result<Option<Value>> {
    let Some(order) = ::order::store::find(pool, client, id).await? else { return Ok(None) };
    let mut history: Vec<StepBody> = Vec::new();
    let mut after = None;
    loop {
        let steps = histories::steps(pool, &order, after, ROWS_READ).await?;
        let Some(last) = steps.last() else { break };
        after = Some(last.place);
        history.extend(steps.into_iter().map(StepBody::from));
    }
    let order = with_payments(pool, vec![order]).await?.pop().map(OrderBody::from);
    Ok(Some(json!({ "order": value(&order), "history": value(&history) })))
}

/// `{"account", "entries", "earlier_rows_left_out"}`: an account and its statement, oldest row first.
pub async fn account(
    pool: &PgPool,
    client: ClientId,
    arguments: &AccountArguments,
) -> sqlx::Result<Option<Value>> {
    let Some(account) = accounts::find(pool, client, arguments.id).await? else { return Ok(None) };
    let range = StatementRange { from: arguments.from, to: arguments.to, ..StatementRange::default() };
    let mut range = journal::narrowed(pool, &account, range).await?;
    let limit = i64::from(arguments.limit);
    let mut rows: Vec<StatementLine> = Vec::new();
    loop {
        let left = limit + 1 - i64::try_from(rows.len()).unwrap_or(limit);
        let read = journal::statement(pool, client, account.id, range, left.min(ROWS_READ)).await?;
        let Some(last) = read.last() else { break };
        range.before = Some(last.account_version);
        rows.extend(read);
        if i64::try_from(rows.len()).is_ok_and(|rows| rows > limit) {
            break;
        }
    }
    let is_cut = i64::try_from(rows.len()).is_ok_and(|rows| rows > limit);
    rows.truncate(arguments.limit as usize);
    let entries: Vec<EntryBody> = rows.into_iter().rev().map(EntryBody::from).collect();
    Ok(Some(json!({
        "account": value(&AccountBody::from(account)),
        "entries": value(&entries),
        "earlier_rows_left_out": is_cut,
    })))
}

/// `{"payment"}`: a payment with all that was told of it.
pub async fn payment(pool: &PgPool, client: ClientId, payment_no: &str) -> sqlx::Result<Option<Value>> {
    let found = find_payment(pool, client, payment_no).await?;
    Ok(found.map(|payment| json!({ "payment": value(&payment) })))
}

/// `{"callback"}`: a delivery as it was recorded, with its body in base64 as long as it is kept.
pub async fn callback(
    pool: &PgPool,
    client: ClientId,
    asked: &CallbackArguments,
) -> sqlx::Result<Option<Value>> {
    let found = deliveries::find(pool, client, &asked.endpoint, &asked.event_id).await?;
    Ok(found.map(|found| {
        let body = found.body.map(|(bytes, delete_at)| {
            json!({
                "bytes": bytes.len(),
                "body_base64": STANDARD.encode(&bytes),
                "body_text": String::from_utf8(bytes).ok(),
                "delete_at": time(delete_at),
            })
        });
        json!({ "callback": {
            "id": found.delivery_id.to_string(),
            "endpoint": found.line.endpoint,
            "event_id": found.line.delivery_key,
            "provider": found.provider,
            "event_type": found.line.event_type,
            "decision": found.line.decision,
            "verdict": found.line.effect,
            "payment_no": found.payment_no,
            "provider_payment_id": found.provider_payment_id,
            "received_at": time(found.line.received_at),
            "body": body,
        } })
    }))
}

fn value(body: &impl Serialize) -> Value {
    serde_json::to_value(body).expect("the API's bodies are JSON")
}
