//! The SQL of the table `daily_totals`, and what the books say its rows should be.
//!
//! The order of locks: totals are locked and written in the order of `(client_id, day, currency, line)`, everywhere, and
//! after whatever else a transaction locks.

use chrono::{DateTime, NaiveDate, Utc};
use client::ClientId;
use money::{Amount, Currency};
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, PgPool, Row};
use uuid::Uuid;

use crate::{DailyTotal, Line, Tally, TotalKey};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("LIST", LIST),
    ("IS_REBUILT", IS_REBUILT),
    ("OF_BOOKS", OF_BOOKS),
];

/// Reads totals by their keys.
pub const LOAD: &str = "
    SELECT t.client_id, t.day, t.currency, t.line, t.count, t.amount, t.rebuilt_at, t.version, t.updated_at
    FROM unnest($1::uuid[], $2::date[], $3::text[], $4::text[]) AS n (client_id, day, currency, line)
    JOIN daily_totals t ON t.client_id = n.client_id AND t.day = n.day AND t.currency = n.currency AND t.line = n.line";

/// Reads totals by their keys and keeps others from changing them until the transaction ends, locked in the order of
/// their keys: the columns order by bytes, as the service does, whatever the database's locale.
pub const LOAD_LOCKED: &str = "
    SELECT t.client_id, t.day, t.currency, t.line, t.count, t.amount, t.rebuilt_at, t.version, t.updated_at
    FROM daily_totals t
    WHERE (t.client_id, t.day, t.currency, t.line) IN (
        SELECT * FROM unnest($1::uuid[], $2::date[], $3::text[], $4::text[])
    )
    ORDER BY t.client_id, t.day, t.currency, t.line
    FOR NO KEY UPDATE OF t";

/// Reads the totals of these keys, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    keys: &[TotalKey],
    locked: bool,
) -> sqlx::Result<Vec<DailyTotal>> {
    let clients: Vec<Uuid> = column(keys, |(client, ..)| client.0);
    let days: Vec<NaiveDate> = column(keys, |(_, day, ..)| *day);
    let currencies: Vec<&str> = column(keys, |(_, _, currency, _)| *currency);
    let lines: Vec<&str> = column(keys, |(.., line)| line.as_str());
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let query = sqlx::query(statement).bind(clients).bind(days).bind(currencies).bind(lines);
    query.fetch_all(connection).await?.iter().map(total_from).collect()
}

/// Adds totals: `$1` to `$9`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO daily_totals (client_id, day, currency, line, count, amount, rebuilt_at, version, updated_at)
    SELECT *
    FROM unnest(
        $1::uuid[], $2::date[], $3::text[], $4::text[], $5::bigint[], $6::numeric[], $7::timestamptz[], $8::bigint[],
        $9::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters, sorted by key.
pub fn bind_inserts(arguments: &mut PgArguments, totals: &[DailyTotal]) -> Result<(), BoxDynError> {
    arguments.add(column(totals, |t| t.client_id.0))?;
    arguments.add(column(totals, |t| t.day))?;
    arguments.add(column(totals, |t| t.tally.amount.currency().code()))?;
    arguments.add(column(totals, |t| t.line.as_str()))?;
    arguments.add(column(totals, |t| count(t.tally)))?;
    arguments.add(column(totals, |t| t.tally.amount.to_decimal()))?;
    arguments.add(column(totals, |t| t.rebuilt_at))?;
    arguments.add(column(totals, |t| t.version))?;
    arguments.add(column(totals, |t| t.updated_at))?;
    Ok(())
}

/// Writes totals as they shall be, where they still have the version they were read with: `$1` to `$10`, see
/// [`bind_updates`]. One that another transaction has changed since is not returned.
pub const UPDATE: &str = "
    UPDATE daily_totals t
    SET count = u.count,
        amount = u.amount,
        rebuilt_at = u.rebuilt_at,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::date[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::numeric[], $8::timestamptz[],
        $9::bigint[], $10::timestamptz[]
    ) AS u (client_id, day, currency, line, version_read, count, amount, rebuilt_at, version, updated_at)
    WHERE t.client_id = u.client_id
      AND t.day = u.day
      AND t.currency = u.currency
      AND t.line = u.line
      AND t.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: totals as they shall be, with the versions they were read with, sorted by key.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&DailyTotal, i64)]) -> Result<(), BoxDynError> {
    bind_keys(arguments, changes)?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(t, _)| count(t.tally)))?;
    arguments.add(column(changes, |(t, _)| t.tally.amount.to_decimal()))?;
    arguments.add(column(changes, |(t, _)| t.rebuilt_at))?;
    arguments.add(column(changes, |(t, _)| t.version))?;
    arguments.add(column(changes, |(t, _)| t.updated_at))?;
    Ok(())
}

/// Returns a row for each total that still has the version it was read with, and keeps it so until the transaction ends:
/// `$1` to `$5`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::date[], $3::text[], $4::text[], $5::bigint[])
        AS u (client_id, day, currency, line, version_read)
    JOIN daily_totals t ON t.client_id = u.client_id AND t.day = u.day AND t.currency = u.currency
        AND t.line = u.line AND t.version = u.version_read
    FOR SHARE OF t";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, totals: &[(&DailyTotal, i64)]) -> Result<(), BoxDynError> {
    bind_keys(arguments, totals)?;
    arguments.add(column(totals, |(_, version_read)| *version_read))?;
    Ok(())
}

fn bind_keys(arguments: &mut PgArguments, totals: &[(&DailyTotal, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(totals, |(t, _)| t.client_id.0))?;
    arguments.add(column(totals, |(t, _)| t.day))?;
    arguments.add(column(totals, |(t, _)| t.tally.amount.currency().code()))?;
    arguments.add(column(totals, |(t, _)| t.line.as_str()))?;
    Ok(())
}

const LIST: &str = "
    WITH page AS (
        SELECT DISTINCT t.day, t.currency
        FROM daily_totals t
        WHERE t.client_id = $1
          AND t.day >= $2
          AND t.day <= $3
          AND t.currency = coalesce($4, t.currency)
          AND (t.day, t.currency) < ($5, $6 COLLATE \"C\")
        ORDER BY t.day DESC, t.currency DESC
        LIMIT $7
    )
    SELECT t.client_id, t.day, t.currency, t.line, t.count, t.amount, t.rebuilt_at, t.version, t.updated_at
    FROM page p
    JOIN daily_totals t ON t.client_id = $1 AND t.day = p.day AND t.currency = p.currency
    ORDER BY t.day DESC, t.currency DESC, t.line";

/// Which days are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayRange {
    /// The first day.
    pub from: NaiveDate,
    /// The last day.
    pub to: NaiveDate,
    /// One currency, or every one.
    pub currency: Option<Currency>,
    /// Only what stands behind this day and currency, newest first.
    pub before: Option<(NaiveDate, Currency)>,
}

/// A client's totals, newest day first, currencies from Z to A: those of `limit` pairs of day and currency at most. The
/// lines of a pair follow each other.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    range: DayRange,
    limit: i64,
) -> sqlx::Result<Vec<DailyTotal>> {
    // Behind every code, and behind the last day that is asked for.
    let first = (range.to.succ_opt().unwrap_or(NaiveDate::MAX), "");
    let (day, currency) = range.before.map_or(first, |(day, currency)| (day, currency.code()));
    let query = sqlx::query(LIST)
        .bind(client)
        .bind(range.from)
        .bind(range.to)
        .bind(range.currency.map(Currency::code))
        .bind(day)
        .bind(currency)
        .bind(limit);
    query.fetch_all(db).await?.iter().map(total_from).collect()
}

const IS_REBUILT: &str = "
    SELECT EXISTS (
        SELECT
        FROM daily_totals
        WHERE client_id = $1
          AND day = $2
          AND currency = $3
          AND rebuilt_at IS NOT NULL
    )";

/// Whether a day's totals in a currency were computed from the books.
pub async fn is_rebuilt(
    db: impl PgExecutor<'_>,
    client: ClientId,
    day: NaiveDate,
    currency: Currency,
) -> sqlx::Result<bool> {
    sqlx::query_scalar(IS_REBUILT).bind(client).bind(day).bind(currency.code()).fetch_one(db).await
}

/// What the books say of one client's day: movements by their rows, orders by theirs, and what became of orders by their
/// versions. A placing that moved money has no version of its own: there the order was paid as it was placed.
const OF_BOOKS: &str = "
    WITH steps AS (
        SELECT v.order_id, v.what, v.captured_amount, v.refunded_amount, v.created_at,
               p.captured_amount AS captured_before, p.refunded_amount AS refunded_before, v.version
        FROM order_versions v
        LEFT JOIN order_versions p
            ON p.client_id = v.client_id AND p.order_id = v.order_id AND p.version = v.version - 1
        WHERE v.client_id = $1
          AND v.created_at >= $2
          AND v.created_at < $3
    ), changes AS (
        SELECT o.currency, s.what, o.amount - s.captured_amount AS not_taken,
               s.captured_amount - CASE
                   WHEN s.version = 1 THEN 0
                   WHEN s.captured_before IS NOT NULL THEN s.captured_before
                   WHEN o.payment_method = 'balance' THEN o.amount
                   ELSE 0
               END AS taken,
               s.refunded_amount - CASE WHEN s.version = 1 THEN 0 ELSE coalesce(s.refunded_before, 0) END AS given_back
        FROM steps s
        JOIN orders o ON o.client_id = $1 AND o.order_id = s.order_id
    ), placed AS (
        SELECT o.currency, o.amount, o.payment_method
        FROM orders o
        WHERE o.client_id = $1
          AND o.created_at >= $2
          AND o.created_at < $3
    ), counted (line, currency, amount) AS (
        SELECT CASE m.kind WHEN 'deposit' THEN 'deposits' WHEN 'withdrawal' THEN 'withdrawals' ELSE 'transfers' END,
               m.currency, m.amount
        FROM movements m
        WHERE m.client_id = $1
          AND m.created_at >= $2
          AND m.created_at < $3
        UNION ALL
        SELECT 'orders_placed', currency, amount FROM placed
        UNION ALL
        SELECT 'orders_paid', currency, amount FROM placed WHERE payment_method = 'balance'
        UNION ALL
        SELECT 'orders_paid', currency, taken FROM changes WHERE taken > 0
        UNION ALL
        SELECT 'orders_refunded', currency, given_back FROM changes WHERE given_back > 0
        UNION ALL
        SELECT 'orders_' || what, currency, not_taken FROM changes WHERE what IN ('cancelled', 'expired')
    )
    SELECT line, currency, count(*) AS count, sum(amount) AS amount
    FROM counted
    GROUP BY line, currency
    ORDER BY currency, line";

/// What the books say of one client's day. It reads all that the client did on that day, and may take minutes for that.
pub async fn of_books(pool: &PgPool, client: ClientId, day: NaiveDate) -> sqlx::Result<Vec<(Line, Tally)>> {
    let midnight = |day: NaiveDate| day.and_time(chrono::NaiveTime::MIN).and_utc();
    let (from, to) = (midnight(day), midnight(day.succ_opt().unwrap_or(NaiveDate::MAX)));
    let mut transaction = pool.begin().await?;
    // The pool's own limit is for look-ups that a request waits for.
    sqlx::raw_sql("SET LOCAL statement_timeout = '10min'").execute(&mut *transaction).await?;
    let query = sqlx::query(OF_BOOKS).bind(client).bind(from).bind(to);
    let rows = query.fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    rows.iter().map(|row| Ok((line_from(row)?, tally_from(row)?))).collect()
}

fn column<'r, S, T>(rows: &'r [S], of: impl Fn(&'r S) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

fn count(tally: Tally) -> i64 {
    i64::try_from(tally.count).unwrap_or(i64::MAX)
}

fn total_from(row: &PgRow) -> sqlx::Result<DailyTotal> {
    Ok(DailyTotal {
        client_id: row.try_get("client_id")?,
        day: row.try_get("day")?,
        line: line_from(row)?,
        tally: tally_from(row)?,
        rebuilt_at: row.try_get::<Option<DateTime<Utc>>, _>("rebuilt_at")?,
        version: row.try_get("version")?,
        updated_at: row.try_get("updated_at")?,
    })
}

fn line_from(row: &PgRow) -> sqlx::Result<Line> {
    let word: &str = row.try_get("line")?;
    Line::from_word(word).ok_or_else(|| unreadable("line", format!("there is no line {word}")))
}

fn tally_from(row: &PgRow) -> sqlx::Result<Tally> {
    let currency =
        Currency::from_code(row.try_get("currency")?).map_err(|fault| unreadable("currency", fault))?;
    let amount: Decimal = row.try_get("amount")?;
    Ok(Tally {
        count: u64::try_from(row.try_get::<i64, _>("count")?).map_err(|fault| unreadable("count", fault))?,
        amount: Amount::from_decimal(amount, currency).map_err(|fault| unreadable("amount", fault))?,
    })
}

fn unreadable(column: &'static str, fault: impl Into<BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: fault.into() }
}
