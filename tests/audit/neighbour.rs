//! The audit is a quiet neighbour: it writes nothing, sorts nothing, and nobody waits for it.

use audit::store::snapshot::quiet;
use audit::store::{SOURCES, Snapshot};
use chrono::Utc;
use onefold_tests::database::new_service_database;
use onefold_tests::desks::{self, account_with};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::ledger::{large, small, tamper};

#[tokio::test]
async fn every_row_is_read_in_the_order_in_which_it_lies() {
    let database = new_service_database().await.expect("a database");
    large(database.owner_options(), 100, 100).await.expect("books");
    let mut connection = PgConnection::connect_with(&quiet(database.owner_options())).await.unwrap();
    for source in SOURCES {
        let explain = sqlx::query(AssertSqlSafe(format!("EXPLAIN (COSTS OFF) {}", source.sql)));
        let explain = if source.needs_time { explain.bind(desks_time()) } else { explain };
        let rows = explain.persistent(false).fetch_all(&mut connection).await.expect("a plan");
        let lines = rows.iter().map(|row| row.try_get::<String, _>(0).expect("a line"));
        let plan = lines.collect::<Vec<_>>().join("\n");
        for costly in ["Sort", "Aggregate", "Hash", "Materialize", "Gather"] {
            // A few rows that belong to one row are added up as that row is read, and not a table.
            if costly == "Aggregate" && source.sql.contains("LATERAL") {
                continue;
            }
            assert!(!plan.replace("hashed SubPlan", "").contains(costly), "{}: {plan}", source.what);
        }
        // What is looked up in another table is found in whatever way suits its size.
        if source.sql.contains("JOIN") {
            continue;
        }
        let in_order = source.sql.contains("ORDER BY");
        assert_eq!(plan.contains("Index"), in_order || source.needs_time, "{}: {plan}", source.what);
    }
}

/// Any time will do for a plan.
fn desks_time() -> chrono::DateTime<Utc> {
    chrono::DateTime::UNIX_EPOCH
}

#[tokio::test]
async fn nobody_waits_for_an_audit() {
    let database = small().await.expect("books");
    let mut snapshot = Snapshot::take(database.owner_options()).await.expect("a snapshot");
    for source in SOURCES {
        snapshot.read(source, desks_time(), |_| {}).await.expect("rows");
    }

    // The audit has read every table and still has its snapshot.
    let mut watching = PgConnection::connect_with(database.owner_options()).await.unwrap();
    let modes: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT l.mode
         FROM pg_locks l
         JOIN pg_stat_activity a USING (pid)
         WHERE a.application_name = 'onefold verify'
           AND a.datname = current_database()
           AND l.locktype <> 'virtualxid'",
    )
    .fetch_all(&mut watching)
    .await
    .expect("locks");
    assert_eq!(modes, ["AccessShareLock"]);

    let desk = desks::open(&database, desk::Settings::default(), desk::Hooks::default());
    account_with(&desk, "10.00").await.expect("work goes on");
    desk.drain().await;
    tamper(database.owner_options(), "VACUUM accounts").await.expect("the tables are cleaned");
    snapshot.close().await.expect("closed");
}

#[tokio::test]
async fn an_audit_cannot_write() {
    let database = small().await.expect("books");
    let mut connection = PgConnection::connect_with(&quiet(database.owner_options())).await.unwrap();
    let error = sqlx::query("DELETE FROM orders").execute(&mut connection).await.expect_err("refused");
    let code = error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned());
    assert_eq!(code.as_deref(), Some("25006"), "read_only_sql_transaction: {error}");
}

#[tokio::test]
async fn an_audit_sees_one_moment() {
    let database = small().await.expect("books");
    let mut snapshot = Snapshot::take(database.owner_options()).await.expect("a snapshot");
    tamper(database.owner_options(), "DELETE FROM orders").await.expect("the orders are deleted");
    let mut orders = 0;
    for source in SOURCES.iter().filter(|source| source.what == "orders") {
        snapshot.read(source, desks_time(), |_| orders += 1).await.expect("rows");
    }
    assert_eq!(orders, 2);
    snapshot.close().await.expect("closed");
}
