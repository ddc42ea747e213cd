//! What the books say that the daily totals must be, read in another way than the service reads them: money from the
//! journal, orders from their present state.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::PgPool;

/// By day, currency and line: how often, and how much.
pub type Totals = BTreeMap<(NaiveDate, String, String), (i64, String)>;

const OF_BOOKS: &str = "
    SELECT (at AT TIME ZONE 'UTC')::date AS day, currency, line, count(*) AS count,
           trim_scale(sum(amount))::text AS amount
    FROM (
        SELECT created_at AS at, currency,
               CASE
                   WHEN kind = 'deposit' THEN 'deposits'
                   WHEN kind = 'withdrawal' THEN 'withdrawals'
                   WHEN kind = 'transfer' THEN 'transfers'
                   WHEN kind IN ('order_refund', 'payment_refunded') THEN 'orders_refunded'
                   ELSE 'orders_paid'
               END AS line,
               amount
        FROM journal_entries
        WHERE kind IN ('deposit', 'withdrawal', 'transfer', 'order_payment', 'payment_settled', 'payment_applied',
                       'order_refund', 'payment_refunded')
           OR (kind = 'hold_capture' AND order_id IS NOT NULL)
        UNION ALL
        SELECT created_at, currency, 'orders_placed', amount FROM orders
        UNION ALL
        SELECT updated_at, currency, 'orders_' || status, amount - captured_amount
        FROM orders
        WHERE status IN ('cancelled', 'expired')
    ) happened
    GROUP BY day, currency, line";

const COUNTED: &str = "
    SELECT day, currency, line, sum(count)::bigint AS count, trim_scale(sum(amount))::text AS amount
    FROM daily_totals
    WHERE count > 0
    GROUP BY day, currency, line";

/// What the totals must be, of all clients together.
pub async fn of_books(pool: &PgPool) -> anyhow::Result<Totals> {
    read(pool, OF_BOOKS).await
}

/// What they are.
pub async fn counted(pool: &PgPool) -> anyhow::Result<Totals> {
    read(pool, COUNTED).await
}

async fn read(pool: &PgPool, query: &'static str) -> anyhow::Result<Totals> {
    let rows: Vec<(NaiveDate, String, String, i64, String)> = sqlx::query_as(query).fetch_all(pool).await?;
    Ok(rows
        .into_iter()
        .map(|(day, currency, line, count, amount)| ((day, currency, line), (count, amount)))
        .collect())
}
