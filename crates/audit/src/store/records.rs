//! Reading the idempotency records.

use serde::Deserialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{Answer, Record, Row};

use super::text::Text;

pub(super) const RECORDS: &str = "
    SELECT client_id, key, operation, status, resource, response_status, response_location, response_body, completed_at
    FROM idempotency_records";

pub(super) fn record(row: &PgRow) -> sqlx::Result<Row<'_>> {
    let record = record_from(row)?;
    let body: &[u8] = row.try_get("response_body")?;
    let answer = if record.status == "failed" { answer_of_refusal(body) } else { answer(body) };
    Ok(Row::Record(Record { answer, ..record }))
}

/// The body of an answer, of whatever operation. What is called otherwise there, or is no text, is passed over.
#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow)]
    id: Option<Text<'b>>,
    #[serde(borrow)]
    account_id: Option<Text<'b>>,
    #[serde(borrow)]
    from_account_id: Option<Text<'b>>,
    #[serde(borrow)]
    to_account_id: Option<Text<'b>>,
    #[serde(borrow)]
    order_id: Option<Text<'b>>,
    #[serde(borrow)]
    amount: Option<Text<'b>>,
    #[serde(borrow)]
    currency: Option<Text<'b>>,
    #[serde(borrow)]
    captured_amount: Option<Text<'b>>,
    #[serde(borrow)]
    refunded_amount: Option<Text<'b>>,
    #[serde(borrow)]
    client_order_no: Option<Text<'b>>,
    #[serde(borrow)]
    reference: Option<Text<'b>>,
    #[serde(borrow)]
    status: Option<Text<'b>>,
    version: Option<i64>,
    #[serde(borrow)]
    payment: Option<Payment<'b>>,
    #[serde(borrow)]
    effect: Option<Text<'b>>,
}

#[derive(Deserialize)]
struct Payment<'b> {
    #[serde(borrow)]
    method: Option<Text<'b>>,
}

/// A problem document.
#[derive(Deserialize)]
struct Problem {
    status: i64,
}

fn answer(body: &[u8]) -> Option<Answer<'_>> {
    let body: Body<'_> = serde_json::from_slice(body).ok()?;
    let id = |text: &Option<Text<'_>>| text.as_ref().and_then(Text::uuid);
    let figure = |text: &Option<Text<'_>>| text.as_ref().map(Text::figure);
    Some(Answer {
        id: id(&body.id),
        account_id: id(&body.account_id),
        from_account_id: id(&body.from_account_id),
        to_account_id: id(&body.to_account_id),
        order_id: id(&body.order_id),
        amount: figure(&body.amount),
        currency: body.currency.as_ref().map(Text::code),
        captured: figure(&body.captured_amount),
        refunded: figure(&body.refunded_amount),
        name: body.client_order_no.or(body.reference).map(|text| text.0),
        state: body.status.map(|text| text.0),
        version: body.version,
        method: body.payment.and_then(|payment| payment.method).map(|text| text.0),
        effect: body.effect.map(|text| text.0),
        problem_status: None,
    })
}

fn answer_of_refusal(body: &[u8]) -> Option<Answer<'_>> {
    let problem: Problem = serde_json::from_slice(body).ok()?;
    Some(Answer { problem_status: Some(problem.status), ..Answer::default() })
}

fn record_from(row: &PgRow) -> sqlx::Result<Record<'_>> {
    Ok(Record {
        client_id: row.try_get("client_id")?,
        key: row.try_get("key")?,
        operation: row.try_get("operation")?,
        status: row.try_get("status")?,
        resource: row.try_get("resource")?,
        response_status: row.try_get("response_status")?,
        response_location: row.try_get("response_location")?,
        completed_at: row.try_get("completed_at")?,
        answer: None,
    })
}

/// Completed records whose effect is looked up rather than reconciled. Those before `$1` may be there or not, so they
/// cannot be counted against their effects; there are few of them unless no server has run for long. A closing leaves
/// no row of its own. A path that names nothing known is told of by the check that sees every record.
pub(super) const RECORDS_WITHOUT_EFFECT: &str = "
    SELECT r.client_id, r.key, r.operation, r.status, r.resource, r.response_status, r.response_location,
           r.completed_at
    FROM (
        SELECT client_id, key, operation, status, resource, response_status, response_location, completed_at,
               split_part(resource, '/', 3) AS collection,
               CASE WHEN resource ~ '^/v1/[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                    THEN right(resource, 36)::uuid
               END AS resource_id
        FROM idempotency_records
        WHERE status = 'completed'
          AND (completed_at <= $1 OR operation = 'POST /v1/accounts/{id}/close')
        OFFSET 0
    ) r
    WHERE r.collection IN ('accounts', 'movements', 'orders', 'holds', 'refunds')
      AND NOT EXISTS (
          SELECT 1
          FROM accounts
          WHERE r.collection = 'accounts'
            AND client_id = r.client_id
            AND account_id = r.resource_id
            AND (status = 'closed' OR r.operation <> 'POST /v1/accounts/{id}/close')
          UNION ALL
          SELECT 1 FROM movements
          WHERE r.collection = 'movements' AND client_id = r.client_id AND movement_id = r.resource_id
          UNION ALL
          SELECT 1 FROM orders
          WHERE r.collection = 'orders' AND client_id = r.client_id AND order_id = r.resource_id
          UNION ALL
          SELECT 1 FROM holds
          WHERE r.collection = 'holds' AND client_id = r.client_id AND hold_id = r.resource_id
          UNION ALL
          SELECT 1 FROM refunds
          WHERE r.collection = 'refunds' AND client_id = r.client_id AND refund_id = r.resource_id
      )";

pub(super) fn record_without_effect(row: &PgRow) -> sqlx::Result<Row<'_>> {
    record_from(row).map(Row::RecordWithoutEffect)
}
