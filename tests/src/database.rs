//! A migrated database of its own for each test, and the audit of its books.

use std::str::FromStr;

use anyhow::Context;
use desk::schema::{Database, MIGRATOR};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::cluster::cluster;

/// All databases of tests begin with this.
const PREFIX: &str = "onefold_test_";

static TEMPLATE: OnceCell<String> = OnceCell::const_new();

/// How to connect to a new, migrated, empty database.
pub async fn new_database() -> anyhow::Result<PgConnectOptions> {
    let template = TEMPLATE.get_or_try_init(template).await?;
    let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
    let mut connection = administrator().await?;
    let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(create))).await.context("a database for the test")?;
    connection.close().await?;
    options(&name).await
}

/// How to connect to a new database without any table.
pub async fn new_bare_database() -> anyhow::Result<PgConnectOptions> {
    let name = format!("{PREFIX}{}", Uuid::new_v4().simple());
    let mut connection = administrator().await?;
    connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))).await?;
    connection.close().await?;
    options(&name).await
}

/// A new, migrated, empty database as the service connects to it.
pub async fn new_service_database() -> anyhow::Result<Database> {
    Ok(Database::connect(new_database().await?, 8).await?)
}

/// Drops the databases that earlier runs left.
pub async fn drop_left_over() -> anyhow::Result<u64> {
    let mut connection = administrator().await?;
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT d.datname FROM pg_database d
         WHERE d.datname LIKE 'onefold\\_test\\_%'
           AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)",
    )
    .fetch_all(&mut connection)
    .await?;
    let mut dropped = 0;
    for name in names {
        let drop = format!("DROP DATABASE IF EXISTS {name}");
        dropped += u64::from(connection.execute(sqlx::raw_sql(AssertSqlSafe(drop))).await.is_ok());
    }
    Ok(dropped)
}

/// The template is made once for each state of the migrations, by whichever test comes first.
async fn template() -> anyhow::Result<String> {
    let state: String = MIGRATOR
        .iter()
        .flat_map(|migration| migration.checksum.iter().take(2))
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = format!("onefold_template_{}", &state[state.len().saturating_sub(40)..]);
    let mut connection = administrator().await?;
    // Other processes of the same run may be making it.
    connection.execute("SELECT pg_advisory_lock(4807)").await?;
    let there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(&name)
        .fetch_one(&mut connection)
        .await?;
    if !there {
        let making = format!("{name}_making");
        for statement in [format!("DROP DATABASE IF EXISTS {making}"), format!("CREATE DATABASE {making}")] {
            connection.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await?;
        }
        Database::migrate(&options(&making).await?).await.context("migrating the template")?;
        let rename = format!("ALTER DATABASE {making} RENAME TO {name}");
        connection.execute(sqlx::raw_sql(AssertSqlSafe(rename))).await?;
    }
    connection.close().await?;
    Ok(name)
}

async fn administrator() -> anyhow::Result<PgConnection> {
    Ok(PgConnection::connect_with(&options("postgres").await?).await?)
}

async fn options(database: &str) -> anyhow::Result<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(&cluster().await?.database_url(database))?)
}

/// What an audit counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Books {
    /// Orders.
    pub orders: i64,
    /// Journal rows.
    pub entries: i64,
    /// Journal rows that pay an order.
    pub order_payments: i64,
    /// Records of what clients asked for.
    pub records: i64,
    /// Of these, the records of a success.
    pub completed: i64,
    /// Events in the outbox.
    pub events: i64,
}

/// Checks that the books balance, and that every record, order, journal row and event has its counterpart; then
/// answers how many there are. An audit of its own, which shares no code with what it checks.
///
/// # Panics
///
/// If anything does not fit, saying what.
pub async fn audit(options: &PgConnectOptions) -> Books {
    // The tables have grown faster than PostgreSQL has looked at them: believing them small, it would compare every
    // order with every record.
    let options = options.clone().options([("enable_nestloop", "off")]);
    let mut connection = PgConnection::connect_with(&options).await.expect("the audit reaches the database");
    for (rule, query) in RULES {
        let faults: Vec<String> = sqlx::query(AssertSqlSafe(*query))
            .fetch_all(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("the audit cannot ask whether {rule}: {error}"))
            .iter()
            .map(|row| row.try_get::<String, _>(0).unwrap_or_else(|error| error.to_string()))
            .collect();
        assert!(faults.is_empty(), "the books do not hold that {rule}: {faults:?}");
    }
    let mut books = Books::default();
    for (count, query) in [
        (&mut books.orders, "SELECT count(*) FROM orders"),
        (&mut books.entries, "SELECT count(*) FROM journal_entries"),
        (&mut books.order_payments, "SELECT count(*) FROM journal_entries WHERE kind = 'order_payment'"),
        (
            &mut books.records,
            "SELECT count(*) FROM idempotency_records
             WHERE operation NOT LIKE 'expire %' AND operation NOT IN ('count event', 'notify')",
        ),
        (
            &mut books.completed,
            "SELECT count(*) FROM idempotency_records
             WHERE status = 'completed' AND operation NOT LIKE 'expire %'
               AND operation NOT IN ('count event', 'notify')",
        ),
        (&mut books.events, "SELECT count(*) FROM outbox_events"),
    ] {
        *count = sqlx::query_scalar(query).fetch_one(&mut connection).await.expect("a count");
    }
    books
}

/// Each query answers the rows that break its rule.
const RULES: &[(&str, &str)] = &[
    (
        "an account's balance is the sum of its journal rows",
        "SELECT a.account_id::text
         FROM accounts a
         WHERE a.available + a.held <> coalesce(
             (SELECT sum(j.amount) FROM journal_entries j
              WHERE j.client_id = a.client_id AND j.credit_account_id = a.account_id), 0)
           - coalesce(
             (SELECT sum(j.amount) FROM journal_entries j
              WHERE j.client_id = a.client_id AND j.debit_account_id = a.account_id), 0)",
    ),
    (
        "an account has one version for each journal row, and one for its closing",
        "SELECT a.account_id::text
         FROM accounts a
         WHERE a.version - CASE a.status WHEN 'closed' THEN 1 ELSE 0 END <> (
             SELECT count(*) FROM journal_entries j
             WHERE j.client_id = a.client_id
               AND a.account_id IN (j.debit_account_id, j.credit_account_id))",
    ),
    (
        "each row's figures follow from the row before it, without a gap",
        "WITH lines AS (
             SELECT client_id, debit_account_id AS account_id, debit_version AS version,
                    CASE WHEN debit_account_id = credit_account_id THEN 0 ELSE -amount END AS moved,
                    debit_available_after + debit_held_after AS after
             FROM journal_entries WHERE debit_version IS NOT NULL
             UNION ALL
             SELECT client_id, credit_account_id, credit_version,
                    CASE WHEN debit_account_id = credit_account_id THEN 0 ELSE amount END,
                    credit_available_after + credit_held_after
             FROM journal_entries WHERE credit_version IS NOT NULL
         ), steps AS (
             SELECT *,
                    lag(version) OVER w AS version_before,
                    lag(after) OVER w AS before
             FROM lines WINDOW w AS (PARTITION BY client_id, account_id ORDER BY version)
         )
         SELECT account_id::text || ' at version ' || version
         FROM steps
         WHERE version <> coalesce(version_before, 0) + 1 OR after <> coalesce(before, 0) + moved",
    ),
    (
        "a collecting account's roll-up is the sum of its journal rows",
        "SELECT c.name || ' ' || c.currency
         FROM collecting_accounts c
         WHERE (SELECT coalesce(sum(t.credits - t.debits), 0) FROM collecting_totals t
                WHERE t.client_id = c.client_id AND t.account_id = c.account_id)
            <> (SELECT coalesce(sum(CASE WHEN j.credit_account_id = c.account_id THEN j.amount ELSE -j.amount END), 0)
                FROM journal_entries j
                WHERE j.client_id = c.client_id
                  AND c.account_id IN (j.debit_account_id, j.credit_account_id))",
    ),
    (
        "both sides of a journal row are accounts of its client",
        "SELECT j.entry_id::text
         FROM journal_entries j
         CROSS JOIN LATERAL (VALUES (j.debit_account_id), (j.credit_account_id)) s (id)
         WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.client_id = j.client_id AND a.account_id = s.id)
           AND NOT EXISTS (SELECT FROM collecting_accounts c
                           WHERE c.client_id = j.client_id AND c.account_id = s.id)",
    ),
    (
        "every order paid from the balance has exactly one journal row of its amount, from its account",
        "SELECT o.order_id::text
         FROM orders o
         LEFT JOIN journal_entries j ON j.client_id = o.client_id AND j.order_id = o.order_id
             AND j.kind = 'order_payment' AND j.amount = o.amount AND j.debit_account_id = o.account_id
         WHERE o.payment_method = 'balance'
         GROUP BY o.client_id, o.order_id
         HAVING count(j.entry_id) <> 1",
    ),
    (
        "what was captured of an order paid by hold is what its rows take",
        "SELECT o.order_id::text
         FROM orders o
         WHERE o.payment_method = 'hold'
           AND o.captured_amount <> (
               SELECT coalesce(sum(j.amount), 0) FROM journal_entries j
               WHERE j.client_id = o.client_id AND j.order_id = o.order_id AND j.kind = 'hold_capture'
                 AND j.debit_account_id = o.account_id)",
    ),
    (
        "what was refunded of an order is what its refunds and its rows give back",
        "SELECT o.order_id::text
         FROM orders o
         WHERE o.payment_method <> 'provider'
           AND o.refunded_amount <> (
               SELECT coalesce(sum(r.amount), 0) FROM refunds r
               WHERE r.client_id = o.client_id AND r.order_id = o.order_id)
            OR o.refunded_amount <> (
               SELECT coalesce(sum(j.amount), 0) FROM journal_entries j
               WHERE j.client_id = o.client_id AND j.order_id = o.order_id
                 AND (j.kind = 'payment_refunded'
                      OR j.kind = 'order_refund' AND j.credit_account_id = o.account_id))",
    ),
    (
        "what came back of an item is what refunds brought that are done",
        "SELECT i.order_id::text
         FROM order_items i
         WHERE i.given_back <> (
               SELECT coalesce(sum(r.quantity), 0)
               FROM refund_items r
               LEFT JOIN asked_refunds a ON a.client_id = r.client_id AND a.refund_id = r.refund_id
               WHERE r.client_id = i.client_id AND r.order_id = i.order_id AND r.sku = i.sku
                 AND (a.refund_id IS NULL OR a.status = 'succeeded' AND a.items_back))",
    ),
    (
        "what an account has held is the sum of its active holds",
        "SELECT a.account_id::text
         FROM accounts a
         WHERE a.held <> (
               SELECT coalesce(sum(h.amount - h.captured), 0) FROM holds h
               WHERE h.client_id = a.client_id AND h.account_id = a.account_id AND h.status = 'active')",
    ),
    (
        "an order is authorized for as long as its hold is active",
        "SELECT o.order_id::text
         FROM orders o
         LEFT JOIN holds h ON h.client_id = o.client_id AND h.hold_id = o.order_id AND h.purpose = 'order'
         WHERE o.payment_method = 'hold'
           AND (h.status = 'active') IS DISTINCT FROM (o.status = 'authorized')",
    ),
    (
        "what is reserved of a sku is what orders that wait for payment have, and what is sold what paid ones kept",
        "SELECT s.sku
         FROM skus s
         WHERE (s.reserved, s.sold) <> (
               SELECT coalesce(sum(i.quantity) FILTER (WHERE o.status IN ('pending_payment', 'authorized')), 0),
                      coalesce(sum(i.quantity - i.given_back)
                               FILTER (WHERE o.status IN ('paid', 'partially_refunded', 'refunded')), 0)
               FROM order_items i
               JOIN orders o ON o.client_id = i.client_id AND o.order_id = i.order_id
               WHERE i.client_id = s.client_id AND i.sku = s.sku)",
    ),
    (
        "every order has a completed record that names it, unless the record was deleted",
        "SELECT o.order_id::text
         FROM orders o
         WHERE NOT EXISTS (SELECT FROM idempotency_records r
                           WHERE r.client_id = o.client_id AND r.status = 'completed'
                             AND r.resource = '/v1/orders/' || o.order_id)
           AND EXISTS (SELECT FROM idempotency_records r WHERE r.first_seen_at <= o.created_at)",
    ),
    (
        "every completed record of an order has its order",
        "SELECT r.resource
         FROM idempotency_records r
         WHERE r.operation = 'POST /v1/orders' AND r.status = 'completed'
           AND NOT EXISTS (SELECT FROM orders o
                           WHERE o.client_id = r.client_id AND '/v1/orders/' || o.order_id = r.resource)",
    ),
    (
        "every order has exactly one event for each of its versions",
        "SELECT o.order_id::text
         FROM orders o
         LEFT JOIN outbox_events e ON e.client_id = o.client_id AND e.aggregate_id = o.order_id
         GROUP BY o.client_id, o.order_id
         HAVING count(DISTINCT e.sequence) <> o.version OR count(e.event_id) <> o.version",
    ),
    (
        "every movement has exactly one journal row of its amount",
        "SELECT m.movement_id::text
         FROM movements m
         LEFT JOIN journal_entries j ON j.client_id = m.client_id AND j.movement_id = m.movement_id
             AND j.amount = m.amount
         GROUP BY m.client_id, m.movement_id
         HAVING count(j.entry_id) <> 1",
    ),
];
