//! The rules that let the tables be spread by client, read from PostgreSQL's catalogue.

use onefold_tests::database::new_database;
use sqlx::{Connection, PgConnection};

/// The tables that are the same on every node, and the one of the migrations themselves. All others are a client's.
const NOT_A_CLIENTS: [&str; 3] = ["clients", "api_keys", "_sqlx_migrations"];

async fn ask(query: &'static str) -> Vec<String> {
    let options = new_database().await.expect("a database");
    let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
    sqlx::query_scalar(query)
        .bind(&NOT_A_CLIENTS[..])
        .fetch_all(&mut connection)
        .await
        .expect("the catalogue")
}

const TABLES: &str = "
    SELECT c.relname::text
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace
      AND c.relkind IN ('r', 'p')
      AND NOT c.relname = ANY ($1)
    ORDER BY c.relname";

#[tokio::test]
async fn the_tables_of_a_client_are_these() {
    // Whoever adds one reads the other tests of this file first.
    assert_eq!(
        ask(TABLES).await,
        [
            "accounts",
            "asked_refunds",
            "callback_deliveries",
            "collecting_accounts",
            "collecting_totals",
            "daily_totals",
            "event_streams",
            "events_set_aside",
            "hold_captures",
            "holds",
            "idempotency_records",
            "journal_entries",
            "movements",
            "order_items",
            "order_versions",
            "orders",
            "outbox_events",
            "payment_alerts",
            "payment_receipts",
            "payments",
            "quarantined_bodies",
            "receipt_refunds",
            "refund_items",
            "refunds",
            "skus",
            "webhook_deliveries",
            "webhook_endpoints"
        ]
    );
}

#[tokio::test]
async fn every_key_and_index_begins_with_the_client() {
    let indexes = "
        SELECT x.indexrelid::regclass::text || ' begins with ' || coalesce(a.attname, 'an expression')
        FROM pg_index x
        JOIN pg_class c ON c.oid = x.indrelid
        LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
        WHERE c.relnamespace = 'public'::regnamespace
          AND NOT c.relname = ANY ($1)
          AND a.attname IS DISTINCT FROM 'client_id'";
    assert_eq!(ask(indexes).await, [""; 0]);

    let without_key = "
        SELECT c.relname::text
        FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace
          AND c.relkind IN ('r', 'p')
          AND NOT c.relname = ANY ($1)
          AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.conrelid = c.oid AND p.contype = 'p')";
    assert_eq!(ask(without_key).await, [""; 0], "every table has a primary key");
}

#[tokio::test]
async fn no_row_refers_to_one_that_may_be_elsewhere() {
    let across = "
        SELECT f.conrelid::regclass || ' to ' || f.confrelid::regclass
        FROM pg_constraint f
        JOIN pg_class c ON c.oid = f.conrelid
        JOIN pg_class other ON other.oid = f.confrelid
        WHERE f.contype = 'f'
          AND (NOT c.relname = ANY ($1) OR NOT other.relname = ANY ($1))";
    assert_eq!(ask(across).await, [""; 0]);
}

#[tokio::test]
async fn nothing_relies_on_triggers_rules_or_sequences() {
    let triggers = "
        SELECT t.tgname::text FROM pg_trigger t WHERE NOT t.tgisinternal AND $1 IS NOT NULL";
    assert_eq!(ask(triggers).await, [""; 0]);
    let rules = "
        SELECT r.rulename::text
        FROM pg_rewrite r
        JOIN pg_class c ON c.oid = r.ev_class
        WHERE c.relnamespace = 'public'::regnamespace AND $1 IS NOT NULL";
    assert_eq!(ask(rules).await, [""; 0]);
    let sequences = "
        SELECT c.relname::text FROM pg_class c WHERE c.relkind = 'S' AND $1 IS NOT NULL
        UNION ALL
        SELECT a.attrelid::regclass || '.' || a.attname
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND a.attidentity <> ''";
    assert_eq!(ask(sequences).await, [""; 0]);
}

#[tokio::test]
async fn every_constraint_and_index_is_named_after_its_table_and_what_it_keeps() {
    // A name that PostgreSQL makes up ends like this, and says nothing of the rule.
    let constraints = "
        SELECT k.conname::text
        FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid
        WHERE c.relnamespace = 'public'::regnamespace
          AND c.relname <> '_sqlx_migrations'
          AND $1 IS NOT NULL
          AND (NOT starts_with(k.conname, c.relname || '_') OR k.conname ~ '_(key|fkey|check)[0-9]*$')";
    assert_eq!(ask(constraints).await, [""; 0]);
    let indexes = "
        SELECT i.relname::text
        FROM pg_index x
        JOIN pg_class c ON c.oid = x.indrelid
        JOIN pg_class i ON i.oid = x.indexrelid
        WHERE c.relnamespace = 'public'::regnamespace
          AND c.relname <> '_sqlx_migrations'
          AND $1 IS NOT NULL
          AND (NOT starts_with(i.relname, c.relname || '_') OR i.relname ~ '_idx[0-9]*$')";
    assert_eq!(ask(indexes).await, [""; 0]);
}

#[tokio::test]
async fn money_is_exact_and_time_is_absolute() {
    let columns = "
        SELECT a.attrelid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace
          AND c.relkind = 'r'
          AND c.relname <> '_sqlx_migrations'
          AND a.attnum > 0
          AND $1 IS NOT NULL
          AND (format_type(a.atttypid, NULL) IN ('real', 'double precision', 'money', 'timestamp without time zone')
               OR (format_type(a.atttypid, NULL) = 'numeric' AND a.atttypmod = -1))";
    assert_eq!(ask(columns).await, [""; 0]);
}
