//! The table `journal_entries`: rows are added, never changed.

use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use money::Amount;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgExecutor, PgPool, Row};
use uuid::Uuid;

use super::{amount_from, column, currency_from, unreadable};
use crate::{Account, AccountId, Cause, Entry, EntryId, HoldId, Origin, Side};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT", INSERT),
    ("STATEMENT", STATEMENT),
    ("TIME_OF_VERSION", TIME_OF_VERSION),
    ("OF_RECEIPTS", OF_RECEIPTS),
];

/// Adds rows: `$1` to `$19`, see [`bind_inserts`], and at whose word: `$20` and `$21`, see [`bind_origins`].
pub const INSERT: &str = "
    INSERT INTO journal_entries (
        client_id, entry_id, kind, amount, currency,
        debit_account_id, debit_version, debit_available_after, debit_held_after,
        credit_account_id, credit_version, credit_available_after, credit_held_after,
        reference, movement_id, order_id, receipt_id, hold_id, created_at, idempotency_key, delivery_id
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::numeric[], $5::text[],
        $6::uuid[], $7::bigint[], $8::numeric[], $9::numeric[],
        $10::uuid[], $11::bigint[], $12::numeric[], $13::numeric[],
        $14::text[], $15::uuid[], $16::uuid[], $17::uuid[], $18::uuid[], $19::timestamptz[], $20::text[],
        $21::uuid[]
    )
    RETURNING 1";

/// Binds the first of [`INSERT`]'s parameters: the rows.
pub fn bind_inserts(arguments: &mut PgArguments, entries: &[Entry]) -> Result<(), BoxDynError> {
    arguments.add(column(entries, |e| e.client_id.0))?;
    arguments.add(column(entries, |e| e.id.0))?;
    arguments.add(column(entries, |e| e.kind.as_str()))?;
    arguments.add(column(entries, |e| e.amount.to_decimal()))?;
    arguments.add(column(entries, |e| e.amount.currency().code()))?;
    bind_side(arguments, entries, |e| &e.debit)?;
    bind_side(arguments, entries, |e| &e.credit)?;
    arguments.add(column(entries, |e| e.reference.as_deref()))?;
    arguments.add(column(entries, |e| match e.cause {
        Cause::Movement(movement) => Some(movement.0),
        Cause::Order(_) | Cause::Receipt { .. } | Cause::Hold(_) => None,
    }))?;
    arguments.add(column(entries, |e| match e.cause {
        Cause::Order(order) => Some(order),
        Cause::Receipt { order, .. } => order,
        Cause::Movement(_) | Cause::Hold(_) => None,
    }))?;
    arguments.add(column(entries, |e| match e.cause {
        Cause::Receipt { receipt, .. } => Some(receipt),
        Cause::Movement(_) | Cause::Order(_) | Cause::Hold(_) => None,
    }))?;
    arguments.add(column(entries, |e| match e.cause {
        Cause::Hold(hold) => Some(hold.0),
        Cause::Movement(_) | Cause::Order(_) | Cause::Receipt { .. } => None,
    }))?;
    arguments.add(column(entries, |e| e.created_at))?;
    Ok(())
}

/// Binds the last of [`INSERT`]'s parameters: at whose word each row was made, in the order of the rows.
pub fn bind_origins(arguments: &mut PgArguments, origins: &[Origin]) -> Result<(), BoxDynError> {
    arguments.add(column(origins, |o| o.idempotency_key()))?;
    arguments.add(column(origins, |o| o.delivery_id()))?;
    Ok(())
}

fn bind_side(
    arguments: &mut PgArguments,
    entries: &[Entry],
    side: impl Fn(&Entry) -> &Side,
) -> Result<(), BoxDynError> {
    let figures = |entry: &Entry| match side(entry) {
        Side::Customer { version, available, held, .. } => {
            Some((*version, available.to_decimal(), held.to_decimal()))
        }
        Side::Held(_) | Side::Collecting(_) => None,
    };
    arguments.add(column(entries, |e| side(e).account_id().0))?;
    arguments.add(column(entries, |e| figures(e).map(|(version, _, _)| version)))?;
    arguments.add(column(entries, |e| figures(e).map(|(_, available, _)| available)))?;
    arguments.add(column(entries, |e| figures(e).map(|(_, _, held)| held)))?;
    Ok(())
}

/// On which side of a row an account stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Money left the account.
    Debit,
    /// Money came into the account.
    Credit,
}

/// A line of an account's statement: a journal row, seen from that account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementLine {
    /// The journal row.
    pub entry_id: EntryId,
    /// What kind of event moved the money.
    pub kind: String,
    /// Which way it moved.
    pub direction: Direction,
    /// How much moved.
    pub amount: Amount,
    /// The other account: the id of a customer's, the name of a collecting one, `held` for what the account itself has
    /// held.
    pub counter_account: String,
    /// What was available afterwards.
    pub available_after: Amount,
    /// What was held afterwards.
    pub held_after: Amount,
    /// The account's version that the row made.
    pub account_version: i64,
    /// The client's own name for the movement.
    pub reference: Option<String>,
    /// The order it was for.
    pub order_id: Option<Uuid>,
    /// The hold it was for, if that belongs to no order.
    pub hold_id: Option<HoldId>,
    /// The idempotency key of the request that it was made for; none of what the service did by itself, or before keys were
    /// kept.
    pub idempotency_key: Option<String>,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}

/// A row within the account stands on that side only which has the account's figures. Both sides are read newest first from their own index, `$4` rows each at most, and merged.
const STATEMENT: &str = "
    SELECT s.entry_id, s.kind, s.direction, s.amount, s.currency, s.available_after, s.held_after, s.version,
           s.reference, s.order_id, s.hold_id, s.idempotency_key, s.created_at,
           CASE WHEN s.counter_account_id = $2 THEN 'held' ELSE coalesce(c.name, s.counter_account_id::text) END
               AS counter_account
    FROM (
        (SELECT client_id, entry_id, kind, 'debit' AS direction, amount, currency,
                credit_account_id AS counter_account_id,
                debit_available_after AS available_after, debit_held_after AS held_after,
                debit_version AS version, reference, order_id, hold_id, idempotency_key, created_at
         FROM journal_entries
         WHERE client_id = $1
           AND debit_account_id = $2
           AND debit_version < $3
           AND debit_version >= $5
           AND created_at >= $6
           AND created_at < $7
         ORDER BY debit_version DESC
         LIMIT $4)
        UNION ALL
        (SELECT client_id, entry_id, kind, 'credit' AS direction, amount, currency,
                debit_account_id AS counter_account_id,
                credit_available_after AS available_after, credit_held_after AS held_after,
                credit_version AS version, reference, order_id, hold_id, idempotency_key, created_at
         FROM journal_entries
         WHERE client_id = $1
           AND credit_account_id = $2
           AND credit_version < $3
           AND credit_version >= $5
           AND created_at >= $6
           AND created_at < $7
         ORDER BY credit_version DESC
         LIMIT $4)
    ) s
    LEFT JOIN collecting_accounts c ON c.client_id = s.client_id AND c.account_id = s.counter_account_id
    ORDER BY s.version DESC
    LIMIT $4";

/// Which rows of a statement are asked for: all unless said otherwise.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct StatementRange {
    /// Rows before this version.
    pub before: Option<i64>,
    /// Rows from this version on. It spares the database older rows; what is asked for is said by the times.
    pub version_min: i64,
    /// Rows that were decided at this time or later.
    pub from: Option<DateTime<Utc>>,
    /// Rows that were decided before this time.
    pub to: Option<DateTime<Utc>>,
}

/// An account's statement, newest first, `limit` rows of the range at most.
pub async fn statement(
    db: impl PgExecutor<'_>,
    client: ClientId,
    account: AccountId,
    range: StatementRange,
    limit: i64,
) -> sqlx::Result<Vec<StatementLine>> {
    let rows = sqlx::query(STATEMENT)
        .bind(client)
        .bind(account.0)
        .bind(range.before.unwrap_or(i64::MAX))
        .bind(limit)
        .bind(range.version_min)
        .bind(range.from.unwrap_or(DateTime::UNIX_EPOCH))
        .bind(range.to.unwrap_or(NEVER))
        .fetch_all(db)
        .await?;
    rows.iter().map(line_from).collect()
}

/// Later than any row: the last moment of the year 9999, which is the last that RFC 3339 can write.
const NEVER: DateTime<Utc> = DateTime::from_timestamp(253_402_300_799, 0).expect("a time that chrono knows");

/// The time of one row of a statement.
const TIME_OF_VERSION: &str = "
    SELECT created_at
    FROM journal_entries
    WHERE client_id = $1
      AND debit_account_id = $2
      AND debit_version = $3
    UNION ALL
    SELECT created_at
    FROM journal_entries
    WHERE client_id = $1
      AND credit_account_id = $2
      AND credit_version = $3";

/// How far the clocks of two servers may be apart for a statement of some days to be complete.
const CLOCKS_APART_MAX: TimeDelta = TimeDelta::minutes(10);

/// The range with the versions that its times lie between, found by halves: rows of a statement are found by their
/// versions, and without this, a statement of some days long ago would be looked for in all rows since.
///
/// Versions follow each other in the order in which they were committed, and their times by the clocks of the servers that
/// decided: so the versions are taken a little wider, and the times decide.
pub async fn narrowed(
    pool: &PgPool,
    account: &Account,
    range: StatementRange,
) -> sqlx::Result<StatementRange> {
    let mut narrowed = range;
    if let Some(from) = range.from {
        narrowed.version_min = first_version_since(pool, account, from - CLOCKS_APART_MAX).await?;
    }
    if let Some(to) = range.to {
        let end = first_version_since(pool, account, to + CLOCKS_APART_MAX).await?;
        narrowed.before = Some(range.before.map_or(end, |before| before.min(end)));
    }
    Ok(narrowed)
}

/// The first version whose row was made at this time or later, as far as rows are in the order of their times; one past
/// the last, if there is none.
async fn first_version_since(pool: &PgPool, account: &Account, time: DateTime<Utc>) -> sqlx::Result<i64> {
    let (mut earlier, mut later) = (0, account.version + 1);
    while earlier + 1 < later {
        let middle = earlier + (later - earlier) / 2;
        let made: Option<DateTime<Utc>> = sqlx::query_scalar(TIME_OF_VERSION)
            .bind(account.client_id)
            .bind(account.id.0)
            .bind(middle)
            .fetch_optional(pool)
            .await?;
        // The version that closing made is the last and has no row.
        match made {
            Some(made) if made < time => earlier = middle,
            _ => later = middle,
        }
    }
    Ok(later)
}

fn line_from(row: &PgRow) -> sqlx::Result<StatementLine> {
    let currency = currency_from(row.try_get("currency")?)?;
    let amount = |column: &'static str| -> sqlx::Result<_> {
        let decimal: Decimal = row.try_get(column)?;
        amount_from(column, decimal, currency)
    };
    let direction: &str = row.try_get("direction")?;
    Ok(StatementLine {
        entry_id: EntryId(row.try_get("entry_id")?),
        kind: row.try_get("kind")?,
        direction: match direction {
            "debit" => Direction::Debit,
            "credit" => Direction::Credit,
            other => return Err(unreadable("direction", format!("unknown direction {other:?}"))),
        },
        amount: amount("amount")?,
        counter_account: row.try_get("counter_account")?,
        available_after: amount("available_after")?,
        held_after: amount("held_after")?,
        account_version: row.try_get("version")?,
        reference: row.try_get("reference")?,
        order_id: row.try_get("order_id")?,
        hold_id: row.try_get::<Option<Uuid>, _>("hold_id")?.map(HoldId),
        idempotency_key: row.try_get("idempotency_key")?,
        created_at: row.try_get("created_at")?,
    })
}

/// A journal row between collecting accounts, with their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalLine {
    /// The journal row.
    pub entry_id: EntryId,
    /// What kind of event moved the money.
    pub kind: String,
    /// How much moved.
    pub amount: Amount,
    /// The name of the account that it came from.
    pub debit_account: String,
    /// The name of the account that it went to.
    pub credit_account: String,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
}

const OF_RECEIPTS: &str = "
    SELECT j.entry_id, j.kind, j.amount, j.currency, d.name AS debit_account, c.name AS credit_account, j.created_at
    FROM journal_entries j
    JOIN collecting_accounts d ON d.client_id = j.client_id AND d.account_id = j.debit_account_id
    JOIN collecting_accounts c ON c.client_id = j.client_id AND c.account_id = j.credit_account_id
    WHERE j.client_id = $1
      AND j.receipt_id = ANY ($2)
    ORDER BY j.created_at, j.entry_id";

/// What was booked for these receipts, oldest first.
pub async fn of_receipts(
    db: impl PgExecutor<'_>,
    client: ClientId,
    receipts: &[Uuid],
) -> sqlx::Result<Vec<JournalLine>> {
    let rows = sqlx::query(OF_RECEIPTS).bind(client).bind(receipts).fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            let amount: Decimal = row.try_get("amount")?;
            Ok(JournalLine {
                entry_id: EntryId(row.try_get("entry_id")?),
                kind: row.try_get("kind")?,
                amount: amount_from("amount", amount, currency_from(row.try_get("currency")?)?)?,
                debit_account: row.try_get("debit_account")?,
                credit_account: row.try_get("credit_account")?,
                created_at: row.try_get("created_at")?,
            })
        })
        .collect()
}
