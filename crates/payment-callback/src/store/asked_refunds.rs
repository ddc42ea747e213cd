//! The table `asked_refunds`.

use account::store::{column, currency_from};
use chrono::{DateTime, Utc};
use client::ClientId;
use order::{OrderId, RefundId};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, Connection, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{amount, optional, provider, word};
use crate::{AskedRefund, AskedStatus, ProviderKind, ReceiptKey};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("OF_RECEIPTS", OF_RECEIPTS),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("FOUND", FOUND),
    ("DUE", DUE),
    ("MOVE_ON", MOVE_ON),
];

/// Every refund that was asked for of these receipts.
pub const OF_RECEIPTS: &str = "
    SELECT a.client_id, a.refund_id, a.provider, a.provider_payment_id, a.payment_no, a.order_id, a.currency, a.amount,
           a.paid, a.status, a.provider_refund_id, a.failure, a.items_back, a.told_before, a.version, a.created_at, a.updated_at
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, provider, provider_payment_id)
    JOIN asked_refunds a ON a.client_id = n.client_id
                        AND a.provider = n.provider
                        AND a.provider_payment_id = n.provider_payment_id";

/// Every refund that was asked for of these receipts. Whoever changes one changes its receipt too, so what was read is of
/// the receipt's version. One round trip.
pub async fn of_receipts(db: impl PgExecutor<'_>, keys: &[ReceiptKey]) -> sqlx::Result<Vec<AskedRefund>> {
    let clients: Vec<Uuid> = keys.iter().map(|(client, _, _)| client.0).collect();
    let providers: Vec<&str> = keys.iter().map(|(_, provider, _)| provider.word()).collect();
    let ids: Vec<&str> = keys.iter().map(|(_, _, id)| id.as_str()).collect();
    let rows = sqlx::query(OF_RECEIPTS).bind(clients).bind(providers).bind(ids).fetch_all(db).await?;
    rows.iter().map(asked_from).collect()
}

/// Adds refunds: `$1` to `$17`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO asked_refunds (
        client_id, refund_id, provider, provider_payment_id, payment_no, order_id, currency, amount, paid, status,
        provider_refund_id, failure, items_back, told_before, version, created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::numeric[],
        $9::numeric[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::numeric[], $15::bigint[],
        $16::timestamptz[], $17::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters, sorted by client and refund.
pub fn bind_inserts(arguments: &mut PgArguments, asked: &[AskedRefund]) -> Result<(), BoxDynError> {
    arguments.add(column(asked, |a| a.client_id.0))?;
    arguments.add(column(asked, |a| a.id.0))?;
    arguments.add(column(asked, |a| a.provider.word()))?;
    arguments.add(column(asked, |a| a.provider_payment_id.as_str()))?;
    arguments.add(column(asked, |a| a.payment_no.as_deref()))?;
    arguments.add(column(asked, |a| a.order_id.map(|order| order.0)))?;
    arguments.add(column(asked, |a| a.amount.currency().code()))?;
    arguments.add(column(asked, |a| a.amount.to_decimal()))?;
    arguments.add(column(asked, |a| a.paid.to_decimal()))?;
    arguments.add(column(asked, |a| a.status.as_str()))?;
    arguments.add(column(asked, |a| a.provider_refund_id.as_deref()))?;
    arguments.add(column(asked, |a| a.failure.as_deref()))?;
    arguments.add(column(asked, |a| a.items_back))?;
    arguments.add(column(asked, |a| a.told_before.to_decimal()))?;
    arguments.add(column(asked, |a| a.version))?;
    arguments.add(column(asked, |a| a.created_at))?;
    arguments.add(column(asked, |a| a.updated_at))?;
    Ok(())
}

/// Writes how far refunds are, where they still have the version they were read with: `$1` to `$9`, see
/// [`bind_updates`]. When they are asked about next is not touched.
pub const UPDATE: &str = "
    UPDATE asked_refunds a
    SET status = u.status,
        provider_refund_id = u.provider_refund_id,
        failure = u.failure,
        items_back = u.items_back,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::bigint[],
        $9::timestamptz[]
    ) AS u (client_id, refund_id, version_read, status, provider_refund_id, failure, items_back, version, updated_at)
    WHERE a.client_id = u.client_id
      AND a.refund_id = u.refund_id
      AND a.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: refunds as they shall be, each with the version it was read with, sorted by client and
/// refund, for that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(AskedRefund, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(a, _)| a.client_id.0))?;
    arguments.add(column(changes, |(a, _)| a.id.0))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(a, _)| a.status.as_str()))?;
    arguments.add(column(changes, |(a, _)| a.provider_refund_id.as_deref()))?;
    arguments.add(column(changes, |(a, _)| a.failure.as_deref()))?;
    arguments.add(column(changes, |(a, _)| a.items_back))?;
    arguments.add(column(changes, |(a, _)| a.version))?;
    arguments.add(column(changes, |(a, _)| a.updated_at))?;
    Ok(())
}

const FOUND: &str = "
    SELECT client_id, refund_id, provider, provider_payment_id, payment_no, order_id, currency, amount, paid, status,
           provider_refund_id, failure, items_back, told_before, version, created_at, updated_at
    FROM asked_refunds
    WHERE client_id = $1
      AND refund_id = ANY ($2)";

/// Those of these refunds of a client that a provider is asked for.
pub async fn found(
    db: impl PgExecutor<'_>,
    client: ClientId,
    ids: &[Uuid],
) -> sqlx::Result<Vec<AskedRefund>> {
    let rows = sqlx::query(FOUND).bind(client).bind(ids).fetch_all(db).await?;
    rows.iter().map(asked_from).collect()
}

const DUE: &str = "
    SELECT client_id, refund_id, provider, provider_payment_id, payment_no, order_id, currency, amount, paid, status,
           provider_refund_id, failure, items_back, told_before, version, created_at, updated_at, asked
    FROM asked_refunds
    WHERE status IN ('pending', 'unknown')
      AND client_id = $1
      AND provider = $2
      AND next_ask_at <= $3
    ORDER BY next_ask_at
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED";

const MOVE_ON: &str = "
    UPDATE asked_refunds a
    SET next_ask_at = u.next_ask_at,
        asked = a.asked + 1
    FROM unnest($2::uuid[], $3::timestamptz[]) AS u (refund_id, next_ask_at)
    WHERE a.client_id = $1
      AND a.refund_id = u.refund_id";

/// Takes the turns of refunds that are due, with how often each was asked for or about before. Each is due again when
/// `next` says, given that number; whoever dies now is found to have asked once, whether it has or not.
///
/// # Errors
///
/// If the database does not answer: then no turn is taken.
pub async fn take_turns(
    connection: &mut PgConnection,
    (client, provider): (ClientId, ProviderKind),
    now: DateTime<Utc>,
    limit: i64,
    mut next: impl FnMut(i32) -> DateTime<Utc>,
) -> sqlx::Result<Vec<(AskedRefund, i32)>> {
    let mut transaction = connection.begin().await?;
    let due = sqlx::query(DUE).bind(client).bind(provider.word()).bind(now).bind(limit);
    let rows = due.fetch_all(&mut *transaction).await?;
    let turns = rows.iter().map(|row| Ok((asked_from(row)?, row.try_get("asked")?)));
    let turns = turns.collect::<sqlx::Result<Vec<(AskedRefund, i32)>>>()?;
    if !turns.is_empty() {
        let ids: Vec<Uuid> = turns.iter().map(|(refund, _)| refund.id.0).collect();
        let times: Vec<DateTime<Utc>> = turns.iter().map(|(_, asked)| next(*asked)).collect();
        sqlx::query(MOVE_ON).bind(client).bind(ids).bind(times).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(turns)
}

fn asked_from(row: &PgRow) -> sqlx::Result<AskedRefund> {
    let currency = currency_from(row.try_get("currency")?)?;
    Ok(AskedRefund {
        client_id: row.try_get("client_id")?,
        id: RefundId(row.try_get("refund_id")?),
        provider: provider(row, "provider")?,
        provider_payment_id: row.try_get("provider_payment_id")?,
        payment_no: optional(row, "payment_no")?,
        order_id: optional(row, "order_id")?.map(OrderId),
        amount: amount(row, "amount", currency)?,
        paid: amount(row, "paid", currency)?,
        status: word(row, "status", AskedStatus::from_word)?,
        provider_refund_id: optional(row, "provider_refund_id")?,
        failure: optional(row, "failure")?,
        items_back: row.try_get("items_back")?,
        told_before: amount(row, "told_before", currency)?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
