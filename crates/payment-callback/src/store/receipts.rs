//! The tables `payment_receipts` and `receipt_refunds`.

use account::store::{column, currency_from};
use chrono::{DateTime, Utc};
use client::ClientId;
use money::Currency;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{amount, optional, provider, word};
use crate::{
    AlertId, Funds, ProviderKind, Receipt, ReceiptId, ReceiptKey, ReceiptRefund, ReceiptRefundKey,
    ReceiptState,
};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("KEYS_OF_PAYMENTS", KEYS_OF_PAYMENTS),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("REFUNDS_KNOWN", REFUNDS_KNOWN),
    ("INSERT_REFUNDS", INSERT_REFUNDS),
    ("OF_PAYMENT", OF_PAYMENT),
    ("CLIENTS_PARKED_SINCE", CLIENTS_PARKED_SINCE),
    ("PARKED_SINCE", PARKED_SINCE),
];

/// Reads receipts by the provider's payment id.
pub const LOAD: &str = "
    SELECT r.client_id, r.provider, r.provider_payment_id, r.receipt_id, r.payment_no, r.state, r.currency, r.received,
           r.refunded, r.applied, r.owed, r.refund_told, r.unreadable, r.open_alert_id, r.version, r.created_at,
           r.updated_at
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, provider, provider_payment_id)
    JOIN payment_receipts r ON r.client_id = n.client_id
                           AND r.provider = n.provider
                           AND r.provider_payment_id = n.provider_payment_id";

/// Reads receipts and keeps others from changing them until the transaction ends, locked in the order of their keys.
pub const LOAD_LOCKED: &str = "
    SELECT r.client_id, r.provider, r.provider_payment_id, r.receipt_id, r.payment_no, r.state, r.currency, r.received,
           r.refunded, r.applied, r.owed, r.refund_told, r.unreadable, r.open_alert_id, r.version, r.created_at,
           r.updated_at
    FROM payment_receipts r
    WHERE (r.client_id, r.provider, r.provider_payment_id)
          IN (SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[]))
    ORDER BY r.client_id, r.provider, r.provider_payment_id
    FOR NO KEY UPDATE OF r";

/// Reads the receipts of these provider's ids, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    keys: &[ReceiptKey],
    locked: bool,
) -> sqlx::Result<Vec<Receipt>> {
    let clients: Vec<Uuid> = keys.iter().map(|(client, _, _)| client.0).collect();
    let providers: Vec<&str> = keys.iter().map(|(_, provider, _)| provider.word()).collect();
    let ids: Vec<&str> = keys.iter().map(|(_, _, id)| id.as_str()).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(providers).bind(ids).fetch_all(connection).await?;
    rows.iter().map(receipt_from).collect()
}

/// What the receipts under payment numbers are known by.
pub const KEYS_OF_PAYMENTS: &str = "
    SELECT r.client_id, r.provider, r.provider_payment_id
    FROM unnest($1::uuid[], $2::text[]) AS n (client_id, payment_no)
    JOIN payment_receipts r ON r.client_id = n.client_id AND r.payment_no = n.payment_no";

/// What the receipts under these payment numbers are known by. One round trip.
pub async fn keys_of_payments(
    connection: &mut PgConnection,
    numbers: &[(ClientId, String)],
) -> sqlx::Result<Vec<ReceiptKey>> {
    let clients: Vec<Uuid> = numbers.iter().map(|(client, _)| client.0).collect();
    let texts: Vec<&str> = numbers.iter().map(|(_, number)| number.as_str()).collect();
    let rows = sqlx::query(KEYS_OF_PAYMENTS).bind(clients).bind(texts).fetch_all(connection).await?;
    rows.iter().map(key_from).collect()
}

fn key_from(row: &PgRow) -> sqlx::Result<ReceiptKey> {
    Ok((row.try_get("client_id")?, provider(row, "provider")?, row.try_get("provider_payment_id")?))
}

/// Adds receipts: `$1` to `$17`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO payment_receipts (
        client_id, provider, provider_payment_id, receipt_id, payment_no, state, currency, received, refunded, applied,
        owed, refund_told, unreadable, open_alert_id, version, created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::numeric[],
        $9::numeric[], $10::numeric[], $11::numeric[], $12::numeric[], $13::text[], $14::uuid[], $15::bigint[],
        $16::timestamptz[], $17::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by key, so that two who add the same ones do not wait crosswise.
pub fn bind_inserts(arguments: &mut PgArguments, receipts: &[Receipt]) -> Result<(), BoxDynError> {
    arguments.add(column(receipts, |r| r.client_id.0))?;
    arguments.add(column(receipts, |r| r.provider.word()))?;
    arguments.add(column(receipts, |r| r.provider_payment_id.as_str()))?;
    arguments.add(column(receipts, |r| r.id.0))?;
    arguments.add(column(receipts, |r| r.payment_no.as_deref()))?;
    arguments.add(column(receipts, |r| r.state.as_str()))?;
    bind_funds(arguments, receipts, |r| r.funds)?;
    arguments.add(column(receipts, |r| r.unreadable.as_deref()))?;
    arguments.add(column(receipts, |r| r.open_alert.map(|alert| alert.0)))?;
    arguments.add(column(receipts, |r| r.version))?;
    arguments.add(column(receipts, |r| r.created_at))?;
    arguments.add(column(receipts, |r| r.updated_at))?;
    Ok(())
}

/// Currency, received, refunded, applied, owed, refund_told.
fn bind_funds<S>(
    arguments: &mut PgArguments,
    rows: &[S],
    funds: impl Fn(&S) -> Option<Funds>,
) -> Result<(), BoxDynError> {
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.currency().code())))?;
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.received.to_decimal())))?;
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.refunded.to_decimal())))?;
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.applied.to_decimal())))?;
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.owed.to_decimal())))?;
    arguments.add(column(rows, |row| funds(row).map(|funds| funds.refund_told.to_decimal())))?;
    Ok(())
}

/// Writes receipts as they shall be, where they still have the version they were read with: `$1` to `$16`, see
/// [`bind_updates`].
pub const UPDATE: &str = "
    UPDATE payment_receipts r
    SET payment_no = u.payment_no,
        state = u.state,
        currency = u.currency,
        received = u.received,
        refunded = u.refunded,
        applied = u.applied,
        owed = u.owed,
        refund_told = u.refund_told,
        unreadable = u.unreadable,
        open_alert_id = u.open_alert_id,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::numeric[],
        $9::numeric[], $10::numeric[], $11::numeric[], $12::numeric[], $13::text[], $14::uuid[], $15::bigint[],
        $16::timestamptz[]
    ) AS u (
        client_id, provider, provider_payment_id, version_read, payment_no, state, currency, received, refunded, applied,
        owed, refund_told, unreadable, open_alert_id, version, updated_at
    )
    WHERE r.client_id = u.client_id
      AND r.provider = u.provider
      AND r.provider_payment_id = u.provider_payment_id
      AND r.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: receipts as they shall be, each with the version it was read with, sorted by key, for
/// that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Receipt, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(r, _)| r.client_id.0))?;
    arguments.add(column(changes, |(r, _)| r.provider.word()))?;
    arguments.add(column(changes, |(r, _)| r.provider_payment_id.as_str()))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(r, _)| r.payment_no.as_deref()))?;
    arguments.add(column(changes, |(r, _)| r.state.as_str()))?;
    bind_funds(arguments, changes, |(r, _)| r.funds)?;
    arguments.add(column(changes, |(r, _)| r.unreadable.as_deref()))?;
    arguments.add(column(changes, |(r, _)| r.open_alert.map(|alert| alert.0)))?;
    arguments.add(column(changes, |(r, _)| r.version))?;
    arguments.add(column(changes, |(r, _)| r.updated_at))?;
    Ok(())
}

/// Returns a row for each receipt that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$4`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
        AS u (client_id, provider, provider_payment_id, version_read)
    JOIN payment_receipts r ON r.client_id = u.client_id
                           AND r.provider = u.provider
                           AND r.provider_payment_id = u.provider_payment_id
                           AND r.version = u.version_read
    FOR SHARE OF r";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, receipts: &[(&Receipt, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(receipts, |(r, _)| r.client_id.0))?;
    arguments.add(column(receipts, |(r, _)| r.provider.word()))?;
    arguments.add(column(receipts, |(r, _)| r.provider_payment_id.as_str()))?;
    arguments.add(column(receipts, |(_, version_read)| *version_read))?;
    Ok(())
}

/// Reads those of these refunds that are known.
pub const REFUNDS_KNOWN: &str = "
    SELECT f.client_id, f.provider, f.provider_refund_id, f.provider_payment_id, f.currency, f.amount, f.created_at
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, provider, provider_refund_id)
    JOIN receipt_refunds f ON f.client_id = n.client_id
                          AND f.provider = n.provider
                          AND f.provider_refund_id = n.provider_refund_id";

/// Those of these refunds that are known. One round trip.
pub async fn refunds_known(
    connection: &mut PgConnection,
    keys: &[ReceiptRefundKey],
) -> sqlx::Result<Vec<ReceiptRefund>> {
    let clients: Vec<Uuid> = keys.iter().map(|(client, _, _)| client.0).collect();
    let providers: Vec<&str> = keys.iter().map(|(_, provider, _)| provider.word()).collect();
    let ids: Vec<&str> = keys.iter().map(|(_, _, id)| id.as_str()).collect();
    let rows =
        sqlx::query(REFUNDS_KNOWN).bind(clients).bind(providers).bind(ids).fetch_all(connection).await?;
    rows.iter().map(refund_from).collect()
}

fn refund_from(row: &PgRow) -> sqlx::Result<ReceiptRefund> {
    Ok(ReceiptRefund {
        client_id: row.try_get("client_id")?,
        provider: provider(row, "provider")?,
        provider_payment_id: row.try_get("provider_payment_id")?,
        provider_refund_id: row.try_get("provider_refund_id")?,
        amount: amount(row, "amount", currency_from(row.try_get("currency")?)?)?,
        created_at: row.try_get("created_at")?,
    })
}

/// Adds refunds: `$1` to `$7`, see [`bind_refunds`].
pub const INSERT_REFUNDS: &str = "
    INSERT INTO receipt_refunds (
        client_id, provider, provider_refund_id, provider_payment_id, currency, amount, created_at
    )
    SELECT *
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::timestamptz[])
    RETURNING 1";

/// Binds [`INSERT_REFUNDS`]'s parameters. Sorted by key, so that two who add the same ones do not wait crosswise.
pub fn bind_refunds(arguments: &mut PgArguments, refunds: &[ReceiptRefund]) -> Result<(), BoxDynError> {
    arguments.add(column(refunds, |f| f.client_id.0))?;
    arguments.add(column(refunds, |f| f.provider.word()))?;
    arguments.add(column(refunds, |f| f.provider_refund_id.as_str()))?;
    arguments.add(column(refunds, |f| f.provider_payment_id.as_str()))?;
    arguments.add(column(refunds, |f| f.amount.currency().code()))?;
    arguments.add(column(refunds, |f| f.amount.to_decimal()))?;
    arguments.add(column(refunds, |f| f.created_at))?;
    Ok(())
}

const OF_PAYMENT: &str = "
    SELECT client_id, provider, provider_payment_id, receipt_id, payment_no, state, currency, received, refunded,
           applied, owed, refund_told, unreadable, open_alert_id, version, created_at, updated_at
    FROM payment_receipts
    WHERE client_id = $1
      AND payment_no = $2
    ORDER BY receipt_id";

/// The receipts under a payment's number, oldest first.
pub async fn of_payment(
    db: impl PgExecutor<'_>,
    client: ClientId,
    payment_no: &str,
) -> sqlx::Result<Vec<Receipt>> {
    let rows = sqlx::query(OF_PAYMENT).bind(client).bind(payment_no).fetch_all(db).await?;
    rows.iter().map(receipt_from).collect()
}

const CLIENTS_PARKED_SINCE: &str = "
    SELECT n.client_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT r.created_at
        FROM payment_receipts r
        WHERE r.client_id = n.client_id
          AND r.state = 'unmatched'
          AND r.open_alert_id IS NULL
          AND (r.received > 0 OR r.refund_told > 0)
        ORDER BY r.created_at
        LIMIT 1
    ) AS oldest
    WHERE oldest.created_at <= $2";

/// Those of these clients that [`parked_since`] finds something of: an entry of an index is read for each.
pub async fn clients_parked_since(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    since: DateTime<Utc>,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_PARKED_SINCE).bind(clients).bind(since).fetch_all(db).await
}

const PARKED_SINCE: &str = "
    SELECT provider, provider_payment_id, version
    FROM payment_receipts
    WHERE client_id = $1
      AND state = 'unmatched'
      AND open_alert_id IS NULL
      AND (received > 0 OR refund_told > 0)
      AND created_at <= $2
    ORDER BY created_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED";

/// A client's receipts that have been parked since a time without anybody being asked about them, each with the version
/// that it has. What somebody is changing at this moment is passed over.
pub async fn parked_since(
    db: impl PgExecutor<'_>,
    client: ClientId,
    since: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<Vec<(ProviderKind, String, i64)>> {
    let rows = sqlx::query(PARKED_SINCE).bind(client).bind(since).bind(limit).fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            Ok((provider(row, "provider")?, row.try_get("provider_payment_id")?, row.try_get("version")?))
        })
        .collect()
}

fn receipt_from(row: &PgRow) -> sqlx::Result<Receipt> {
    let code: Option<&str> = row.try_get("currency")?;
    Ok(Receipt {
        client_id: row.try_get("client_id")?,
        id: ReceiptId(row.try_get("receipt_id")?),
        provider: provider(row, "provider")?,
        provider_payment_id: row.try_get("provider_payment_id")?,
        payment_no: row.try_get("payment_no")?,
        state: word(row, "state", ReceiptState::from_word)?,
        funds: code.map(|code| funds_from(row, currency_from(code)?)).transpose()?,
        unreadable: row.try_get("unreadable")?,
        open_alert: optional(row, "open_alert_id")?.map(AlertId),
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

fn funds_from(row: &PgRow, currency: Currency) -> sqlx::Result<Funds> {
    Ok(Funds {
        received: amount(row, "received", currency)?,
        refunded: amount(row, "refunded", currency)?,
        applied: amount(row, "applied", currency)?,
        owed: amount(row, "owed", currency)?,
        refund_told: amount(row, "refund_told", currency)?,
    })
}
