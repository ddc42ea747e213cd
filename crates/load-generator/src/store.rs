//! The SQL of the audit: it counts, and changes nothing.

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, Row};
use uuid::Uuid;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("COUNT", COUNT)];

/// What a run has left in the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Rows {
    /// Orders whose number is of the run.
    pub orders: i64,
    /// Journal rows that those orders caused.
    pub journal_entries: i64,
    /// Finished records of keys that are of the run and placed an order.
    pub idempotency_records: i64,
}

/// The client is that of the run's first account. An order's number and its key are the same text.
const COUNT: &str = "
    WITH client AS (
        SELECT client_id
        FROM accounts
        WHERE account_id = $1
    ),
    run AS MATERIALIZED (
        SELECT o.client_id, o.order_id, o.client_order_no
        FROM orders o
        WHERE o.client_id = (SELECT client_id FROM client)
          AND starts_with(o.client_order_no, $2)
    )
    SELECT (SELECT count(*) FROM run) AS orders,
           (
               SELECT count(*)
               FROM journal_entries e
               JOIN run ON run.client_id = e.client_id AND run.order_id = e.order_id
           ) AS journal_entries,
           (
               SELECT count(*)
               FROM idempotency_records r
               JOIN run ON run.client_id = r.client_id AND run.client_order_no = r.key
               WHERE r.status = 'completed'
           ) AS idempotency_records";

/// Counts what the run with this first account, and names that begin with `prefix`, has left.
pub async fn count(database: &PgConnectOptions, account: Uuid, prefix: &str) -> sqlx::Result<Rows> {
    let mut connection = PgConnection::connect_with(database).await?;
    let row = sqlx::query(COUNT).bind(account).bind(prefix).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(Rows {
        orders: row.try_get("orders")?,
        journal_entries: row.try_get("journal_entries")?,
        idempotency_records: row.try_get("idempotency_records")?,
    })
}
