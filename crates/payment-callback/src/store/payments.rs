//! The table `payments`.

use account::store::{column, currency_from, unreadable};
use chrono::{DateTime, Utc};
use client::ClientId;
use order::OrderId;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{amount, optional, provider, word};
use crate::{Payment, PaymentRequest, PaymentStatus};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("FIND", FIND),
    ("NUMBERED", NUMBERED),
    ("CLIENTS_DUE", CLIENTS_DUE),
    ("DUE", DUE),
];

/// Reads payments by number.
pub const LOAD: &str = "
    SELECT p.client_id, p.payment_no, p.order_id, p.provider, p.amount, p.currency, p.status, p.expires_at,
           p.failed_at, p.version, p.created_at, p.updated_at
    FROM unnest($1::uuid[], $2::text[]) AS n (client_id, payment_no)
    JOIN payments p ON p.client_id = n.client_id AND p.payment_no = n.payment_no";

/// Reads payments by number and keeps others from changing them until the transaction ends, locked in the order of
/// their keys.
pub const LOAD_LOCKED: &str = "
    SELECT p.client_id, p.payment_no, p.order_id, p.provider, p.amount, p.currency, p.status, p.expires_at,
           p.failed_at, p.version, p.created_at, p.updated_at
    FROM payments p
    WHERE (p.client_id, p.payment_no) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))
    ORDER BY p.client_id, p.payment_no
    FOR NO KEY UPDATE OF p";

/// Reads the payments of these numbers, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    numbers: &[(ClientId, String)],
    locked: bool,
) -> sqlx::Result<Vec<Payment>> {
    let clients: Vec<Uuid> = numbers.iter().map(|(client, _)| client.0).collect();
    let texts: Vec<&str> = numbers.iter().map(|(_, number)| number.as_str()).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(texts).fetch_all(connection).await?;
    rows.iter().map(payment_from).collect()
}

/// Adds payments: `$1` to `$12`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO payments (
        client_id, payment_no, order_id, provider, amount, currency, status, expires_at, failed_at, version,
        created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::numeric[], $6::text[], $7::text[], $8::timestamptz[],
        $9::timestamptz[], $10::bigint[], $11::timestamptz[], $12::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by client and number, so that two who add the same ones do not wait crosswise.
pub fn bind_inserts(arguments: &mut PgArguments, payments: &[Payment]) -> Result<(), BoxDynError> {
    arguments.add(column(payments, |p| p.client_id.0))?;
    arguments.add(column(payments, |p| p.payment_no.as_str()))?;
    arguments.add(column(payments, |p| p.request.map(|request| request.order_id.0)))?;
    arguments.add(column(payments, |p| p.request.map(|request| request.provider.word())))?;
    arguments.add(column(payments, |p| p.request.map(|request| request.amount.to_decimal())))?;
    arguments.add(column(payments, |p| p.request.map(|request| request.amount.currency().code())))?;
    arguments.add(column(payments, |p| p.status.as_str()))?;
    arguments.add(column(payments, |p| p.request.map(|request| request.expires_at)))?;
    arguments.add(column(payments, |p| p.failed_at))?;
    arguments.add(column(payments, |p| p.version))?;
    arguments.add(column(payments, |p| p.created_at))?;
    arguments.add(column(payments, |p| p.updated_at))?;
    Ok(())
}

/// Writes payments as they shall be, where they still have the version they were read with: `$1` to `$12`, see
/// [`bind_updates`].
pub const UPDATE: &str = "
    UPDATE payments p
    SET order_id = u.order_id,
        provider = u.provider,
        amount = u.amount,
        currency = u.currency,
        status = u.status,
        expires_at = u.expires_at,
        failed_at = u.failed_at,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::numeric[], $7::text[], $8::text[],
        $9::timestamptz[], $10::timestamptz[], $11::bigint[], $12::timestamptz[]
    ) AS u (
        client_id, payment_no, version_read, order_id, provider, amount, currency, status, expires_at, failed_at,
        version, updated_at
    )
    WHERE p.client_id = u.client_id
      AND p.payment_no = u.payment_no
      AND p.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: payments as they shall be, each with the version it was read with, sorted by client
/// and number, for that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Payment, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(p, _)| p.client_id.0))?;
    arguments.add(column(changes, |(p, _)| p.payment_no.as_str()))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(p, _)| p.request.map(|request| request.order_id.0)))?;
    arguments.add(column(changes, |(p, _)| p.request.map(|request| request.provider.word())))?;
    arguments.add(column(changes, |(p, _)| p.request.map(|request| request.amount.to_decimal())))?;
    arguments.add(column(changes, |(p, _)| p.request.map(|request| request.amount.currency().code())))?;
    arguments.add(column(changes, |(p, _)| p.status.as_str()))?;
    arguments.add(column(changes, |(p, _)| p.request.map(|request| request.expires_at)))?;
    arguments.add(column(changes, |(p, _)| p.failed_at))?;
    arguments.add(column(changes, |(p, _)| p.version))?;
    arguments.add(column(changes, |(p, _)| p.updated_at))?;
    Ok(())
}

/// Returns a row for each payment that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$3`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS u (client_id, payment_no, version_read)
    JOIN payments p ON p.client_id = u.client_id AND p.payment_no = u.payment_no AND p.version = u.version_read
    FOR SHARE OF p";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, payments: &[(&Payment, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(payments, |(p, _)| p.client_id.0))?;
    arguments.add(column(payments, |(p, _)| p.payment_no.as_str()))?;
    arguments.add(column(payments, |(_, version_read)| *version_read))?;
    Ok(())
}

const FIND: &str = "
    SELECT client_id, payment_no, order_id, provider, amount, currency, status, expires_at, failed_at, version,
           created_at, updated_at
    FROM payments
    WHERE client_id = $1
      AND payment_no = $2
      AND status <> 'parked'";

/// The payment of a client that has this number, if an order has asked for it.
pub async fn find(
    db: impl PgExecutor<'_>,
    client: ClientId,
    payment_no: &str,
) -> sqlx::Result<Option<Payment>> {
    let row = sqlx::query(FIND).bind(client).bind(payment_no).fetch_optional(db).await?;
    row.as_ref().map(payment_from).transpose()
}

const NUMBERED: &str = "
    SELECT p.client_id, p.payment_no, p.order_id, p.provider, p.amount, p.currency, p.status, p.expires_at,
           p.failed_at, p.version, p.created_at, p.updated_at
    FROM payments p
    WHERE p.client_id = $1
      AND p.payment_no = ANY ($2)";

/// The payments of a client that have these numbers.
pub async fn numbered(
    db: impl PgExecutor<'_>,
    client: ClientId,
    numbers: &[String],
) -> sqlx::Result<Vec<Payment>> {
    let rows = sqlx::query(NUMBERED).bind(client).bind(numbers).fetch_all(db).await?;
    rows.iter().map(payment_from).collect()
}

const CLIENTS_DUE: &str = "
    SELECT n.client_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT p.expires_at
        FROM payments p
        WHERE p.client_id = n.client_id
          AND p.status = 'pending'
        ORDER BY p.expires_at
        LIMIT 1
    ) AS soonest
    WHERE soonest.expires_at <= $2";

/// Those of these clients that [`due`] finds something of: an entry of an index is read for each.
pub async fn clients_due(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    now: DateTime<Utc>,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_DUE).bind(clients).bind(now).fetch_all(db).await
}

const DUE: &str = "
    SELECT payment_no, version
    FROM payments
    WHERE client_id = $1
      AND status = 'pending'
      AND expires_at <= $2
    ORDER BY expires_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED";

/// The numbers of a client's payments whose time is over, each with the version that it has, the longest overdue first.
/// What somebody is changing at this moment is passed over.
pub async fn due(
    db: impl PgExecutor<'_>,
    client: ClientId,
    now: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query_as(DUE).bind(client).bind(now).bind(limit).fetch_all(db).await
}

fn payment_from(row: &PgRow) -> sqlx::Result<Payment> {
    let request = match optional(row, "order_id")? {
        None => None,
        Some(order) => Some(PaymentRequest {
            order_id: OrderId(order),
            provider: provider(row, "provider")?,
            amount: amount(row, "amount", currency_from(row.try_get("currency")?)?)?,
            expires_at: optional(row, "expires_at")?
                .ok_or_else(|| unreadable("expires_at", "a payment with an order has none"))?,
        }),
    };
    Ok(Payment {
        client_id: row.try_get("client_id")?,
        payment_no: row.try_get("payment_no")?,
        status: word(row, "status", PaymentStatus::from_word)?,
        request,
        failed_at: row.try_get("failed_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
