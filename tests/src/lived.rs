//! Books and their events, many of them, made in the database: for tests of what is done with events.

use anyhow::Context;
use sqlx::PgPool;

/// Books and their events, as they are after that many movements and orders of four clients in three currencies on three
/// days. What lies under them (accounts, balances) is left out, for no consumer looks at it.
const LIVED: [&str; 5] = [
    "INSERT INTO clients (client_id, name, created_at)
     SELECT gen_random_uuid(), 'client-' || n, now()
     FROM generate_series(0, 3) n",
    "CREATE TABLE happened AS
     SELECT c.client_id, gen_random_uuid() AS id, n, (ARRAY['CNY', 'EUR', 'JPY'])[1 + n % 3] AS currency,
            (1 + n % 997)::numeric AS amount, now() - (n % 60) * interval '1 hour' AS at,
            (ARRAY['deposit', 'withdrawal', 'transfer', 'order_payment'])[1 + (n / 4) % 4] AS kind
     FROM generate_series(1, $1::bigint) n
     JOIN clients c ON c.name = 'client-' || n % 4",
    "INSERT INTO journal_entries (
         client_id, entry_id, kind, amount, currency, debit_account_id, credit_account_id, movement_id, order_id, created_at
     )
     SELECT client_id, id, kind, amount, currency, gen_random_uuid(), gen_random_uuid(),
            CASE WHEN kind <> 'order_payment' THEN id END, CASE WHEN kind = 'order_payment' THEN id END, at
     FROM happened",
    "INSERT INTO orders (
         client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
         payment_method, status, version, created_at, updated_at
     )
     SELECT client_id, id, 'no-' || n, gen_random_uuid(), currency, amount, amount, 0, 'balance', 'paid', 1, at, at
     FROM happened
     WHERE kind = 'order_payment'",
    "INSERT INTO outbox_events (
         client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
     )
     SELECT client_id, gen_random_uuid(),
            CASE kind WHEN 'deposit' THEN 'onefold.movement.deposited.v1'
                      WHEN 'withdrawal' THEN 'onefold.movement.withdrawn.v1'
                      WHEN 'transfer' THEN 'onefold.movement.transferred.v1'
                      ELSE 'onefold.order.paid.v1' END,
            CASE WHEN kind = 'order_payment' THEN 'order' ELSE 'movement' END, id, 1,
            json_build_object('currency', currency, 'amount', amount::text, 'captured_amount', amount::text,
                              'refunded_amount', '0', 'previous', NULL),
            at
     FROM happened",
];

const POISON: &str = "
    INSERT INTO outbox_events (
        client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
    )
    SELECT client_id, gen_random_uuid(), 'onefold.movement.deposited.v1', 'movement', gen_random_uuid(), 1,
           json_build_object('currency', currency, 'amount', '1OO'), at
    FROM happened
    WHERE n <= $1";

/// Lives so long that there are that many events.
pub async fn live(pool: &PgPool, events: i64) -> anyhow::Result<()> {
    for statement in LIVED {
        let query = sqlx::query(statement);
        let query = if statement.contains("$1") { query.bind(events) } else { query };
        query.execute(pool).await.context(statement)?;
    }
    Ok(())
}

/// Adds that many events that nobody can read, after [`live`].
pub async fn poison(pool: &PgPool, events: i64) -> anyhow::Result<()> {
    sqlx::query(POISON).bind(events).execute(pool).await?;
    Ok(())
}

/// How many events are counted, or set aside.
pub async fn done(pool: &PgPool) -> anyhow::Result<i64> {
    let done = "SELECT (SELECT count(*) FROM idempotency_records WHERE operation = 'count event')
                     + (SELECT count(*) FROM events_set_aside)";
    Ok(sqlx::query_scalar(done).fetch_one(pool).await?)
}
