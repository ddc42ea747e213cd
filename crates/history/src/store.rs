//! The SQL that reads a history. Its tables are written by others.

use std::collections::HashMap;

use account::EntryId;
use account::store::{amount_from, currency_from, unreadable};
use chrono::{DateTime, Utc};
use client::ClientId;
use money::{Amount, Currency};
use order::{Change, Order, OrderStatus, PaymentMethod, RefundId};
use rust_decimal::Decimal;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use crate::step::{Callback, Line, Mark, Place, RefundLine, Step, VersionLine};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] =
    &[("STEPS", STEPS), ("VERSIONS", VERSIONS), ("JOURNAL", JOURNAL), ("DELIVERIES", DELIVERIES)];

/// What has happened to an order, oldest first, from the step behind `after` (or the first), `limit` at most.
///
/// Memory is bounded by the page. The database reads each row of the order once a page.
///
/// # Errors
///
/// Those of the database.
pub async fn steps(
    pool: &PgPool,
    order: &Order,
    after: Option<Place>,
    limit: i64,
) -> sqlx::Result<Vec<Step>> {
    let found = page(pool, order, after, limit).await?;
    let (Some((first, _)), Some((last, _))) = (found.first(), found.last()) else { return Ok(Vec::new()) };
    let (from, to) = (first.at, last.at);
    let mut versions = versions(pool, order, from, to).await?;
    let mut journal = journal(pool, order, from, to).await?;
    let told: Vec<Uuid> = found.iter().filter_map(|(_, mark)| mark.delivery_id).collect();
    let mut callbacks = deliveries(pool, order.client_id, &told).await?;
    let steps = found.into_iter().map(|(place, mark)| {
        let journal = journal.remove(&mark).unwrap_or_default();
        let mut versions = versions.remove(&mark).unwrap_or_default();
        if versions.is_empty() && mark.at == order.created_at {
            versions.extend(placing_told_by(&journal, order));
        }
        let callback = mark.delivery_id.and_then(|delivery| callbacks.remove(&delivery));
        Step { place, by: mark.by(callback, !versions.is_empty()), versions, journal }
    });
    Ok(steps.collect())
}

/// The placing of an order that moved its money at once, which is told by its journal row alone.
fn placing_told_by(journal: &[Line], order: &Order) -> Option<VersionLine> {
    let zero = Amount::zero(order.amount.currency());
    let (status, captured_amount) = match (order.payment_method, journal.first()?.kind.as_str()) {
        (PaymentMethod::Balance, "order_payment") => (OrderStatus::Paid, order.amount),
        (_, "hold") => (OrderStatus::Authorized, zero),
        (_, _) => return None,
    };
    Some(VersionLine {
        version: 1,
        change: Change::Placed,
        status,
        captured_amount,
        refunded_amount: zero,
        refund: None,
    })
}

/// Rows of one time and one origin are one step. A row of the journal belongs to the order by its own word, or by the
/// receipt's of its payment: money may come in before there is an order.
const STEPS: &str = "
    SELECT t.at, t.idempotency_key, t.delivery_id, t.version, t.mark
    FROM (
        SELECT u.at, u.idempotency_key, u.delivery_id,
               coalesce(min(u.version), 0) AS version,
               hashtext(coalesce(u.idempotency_key, '') || ' ' || coalesce(u.delivery_id::text, ''))::bigint
                   + 2147483648 AS mark
        FROM (
            SELECT created_at AS at, idempotency_key, delivery_id, version
            FROM order_versions
            WHERE client_id = $1
              AND order_id = $2
            UNION ALL
            SELECT created_at, idempotency_key, delivery_id, NULL
            FROM journal_entries
            WHERE client_id = $1
              AND order_id = $2
            UNION ALL
            SELECT created_at, idempotency_key, delivery_id, NULL
            FROM journal_entries
            WHERE client_id = $1
              AND receipt_id = ANY (ARRAY(
                  SELECT receipt_id FROM payment_receipts WHERE client_id = $1 AND payment_no = $3
              ))
            UNION ALL
            SELECT received_at, NULL, delivery_id, NULL
            FROM callback_deliveries
            WHERE client_id = $1
              AND payment_no = $3
        ) u
        GROUP BY u.at, u.idempotency_key, u.delivery_id
    ) t
    WHERE $4::timestamptz IS NULL
       OR (t.at, t.version, t.mark) > ($4, $5, $6)
    ORDER BY t.at, t.version, t.mark
    LIMIT $7";

async fn page(
    pool: &PgPool,
    order: &Order,
    after: Option<Place>,
    limit: i64,
) -> sqlx::Result<Vec<(Place, Mark)>> {
    let rows = sqlx::query(STEPS)
        .bind(order.client_id)
        .bind(order.id.0)
        .bind(order.payment_no.as_deref())
        .bind(after.map(|place| place.at))
        .bind(after.map(|place| i64::from(place.version)))
        .bind(after.map(|place| i64::from(place.mark)))
        .bind(limit)
        .fetch_all(pool)
        .await?;
    rows.iter()
        .map(|row| {
            let number = |column: &'static str| -> sqlx::Result<u32> {
                let number: i64 = row.try_get(column)?;
                u32::try_from(number).map_err(|fault| unreadable(column, fault))
            };
            let mark = mark_from(row, "at")?;
            Ok((Place { at: mark.at, version: number("version")?, mark: number("mark")? }, mark))
        })
        .collect()
}

fn mark_from(row: &PgRow, at: &'static str) -> sqlx::Result<Mark> {
    Ok(Mark {
        at: row.try_get(at)?,
        idempotency_key: row.try_get("idempotency_key")?,
        delivery_id: row.try_get("delivery_id")?,
    })
}

const VERSIONS: &str = "
    SELECT v.version, v.what, v.status, v.captured_amount, v.refunded_amount, v.idempotency_key, v.delivery_id,
           v.created_at, r.refund_id, r.reference, r.amount AS refund_amount,
           CASE WHEN v.what = 'refund_failed' THEN a.failure END AS failure
    FROM order_versions v
    LEFT JOIN refunds r ON r.client_id = v.client_id AND r.refund_id = v.refund_id
    LEFT JOIN asked_refunds a ON a.client_id = v.client_id AND a.refund_id = v.refund_id
    WHERE v.client_id = $1
      AND v.order_id = $2
      AND v.created_at BETWEEN $3 AND $4
    ORDER BY v.version";

async fn versions(
    pool: &PgPool,
    order: &Order,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> sqlx::Result<HashMap<Mark, Vec<VersionLine>>> {
    let rows = sqlx::query(VERSIONS)
        .bind(order.client_id)
        .bind(order.id.0)
        .bind(from)
        .bind(to)
        .fetch_all(pool)
        .await?;
    let mut by_mark: HashMap<Mark, Vec<VersionLine>> = HashMap::new();
    for row in &rows {
        let line = version_from(row, order.amount.currency())?;
        by_mark.entry(mark_from(row, "created_at")?).or_default().push(line);
    }
    Ok(by_mark)
}

fn version_from(row: &PgRow, currency: Currency) -> sqlx::Result<VersionLine> {
    let amount = |column: &'static str| -> sqlx::Result<Amount> {
        amount_from(column, row.try_get(column)?, currency)
    };
    let what: &str = row.try_get("what")?;
    let status: &str = row.try_get("status")?;
    Ok(VersionLine {
        version: row.try_get("version")?,
        change: Change::from_word(what)
            .ok_or_else(|| unreadable("what", format!("unknown change {what:?}")))?,
        status: OrderStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}")))?,
        captured_amount: amount("captured_amount")?,
        refunded_amount: amount("refunded_amount")?,
        refund: refund_from(row, currency)?,
    })
}

fn refund_from(row: &PgRow, currency: Currency) -> sqlx::Result<Option<RefundLine>> {
    let Some(id) = row.try_get::<Option<Uuid>, _>("refund_id")? else { return Ok(None) };
    Ok(Some(RefundLine {
        refund_id: RefundId(id),
        reference: row.try_get("reference")?,
        amount: amount_from("refund_amount", row.try_get("refund_amount")?, currency)?,
        failure: row.try_get("failure")?,
    }))
}

/// A side that is the account itself, without its figures, is what it has held.
const JOURNAL: &str = "
    SELECT j.entry_id, j.kind, j.amount, j.currency, j.reference, j.idempotency_key, j.delivery_id, j.created_at,
           CASE WHEN j.debit_account_id = j.credit_account_id AND j.debit_version IS NULL THEN 'held'
                ELSE coalesce(d.name, j.debit_account_id::text) END AS debit_account,
           CASE WHEN j.debit_account_id = j.credit_account_id AND j.credit_version IS NULL THEN 'held'
                ELSE coalesce(c.name, j.credit_account_id::text) END AS credit_account
    FROM (
        SELECT *
        FROM journal_entries
        WHERE client_id = $1
          AND order_id = $2
        UNION
        SELECT *
        FROM journal_entries
        WHERE client_id = $1
          AND receipt_id = ANY (ARRAY(
              SELECT receipt_id FROM payment_receipts WHERE client_id = $1 AND payment_no = $3
          ))
    ) j
    LEFT JOIN collecting_accounts d ON d.client_id = j.client_id AND d.account_id = j.debit_account_id
    LEFT JOIN collecting_accounts c ON c.client_id = j.client_id AND c.account_id = j.credit_account_id
    WHERE j.created_at BETWEEN $4 AND $5
    ORDER BY j.created_at, j.entry_id";

async fn journal(
    pool: &PgPool,
    order: &Order,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> sqlx::Result<HashMap<Mark, Vec<Line>>> {
    let rows = sqlx::query(JOURNAL)
        .bind(order.client_id)
        .bind(order.id.0)
        .bind(order.payment_no.as_deref())
        .bind(from)
        .bind(to)
        .fetch_all(pool)
        .await?;
    let mut by_mark: HashMap<Mark, Vec<Line>> = HashMap::new();
    for row in &rows {
        let amount: Decimal = row.try_get("amount")?;
        let line = Line {
            entry_id: EntryId(row.try_get("entry_id")?),
            kind: row.try_get("kind")?,
            amount: amount_from("amount", amount, currency_from(row.try_get("currency")?)?)?,
            debit_account: row.try_get("debit_account")?,
            credit_account: row.try_get("credit_account")?,
            reference: row.try_get("reference")?,
        };
        by_mark.entry(mark_from(row, "created_at")?).or_default().push(line);
    }
    Ok(by_mark)
}

const DELIVERIES: &str = "
    SELECT delivery_id, endpoint, delivery_key, event_type, effect
    FROM callback_deliveries
    WHERE client_id = $1
      AND delivery_id = ANY ($2)";

async fn deliveries(
    pool: &PgPool,
    client: ClientId,
    deliveries: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, Callback>> {
    if deliveries.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = sqlx::query(DELIVERIES).bind(client).bind(deliveries).fetch_all(pool).await?;
    rows.iter()
        .map(|row| {
            let callback = Callback {
                endpoint: row.try_get("endpoint")?,
                event_id: row.try_get("delivery_key")?,
                event_type: row.try_get("event_type")?,
                verdict: row.try_get("effect")?,
            };
            Ok((row.try_get("delivery_id")?, callback))
        })
        .collect()
}
