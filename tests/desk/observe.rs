//! What PostgreSQL tells of the desks' connections, and what tests do to them.

use std::time::Duration;

use desk::schema::Database;
use desk::{Answered, Desk, Settings};
use idempotency::Answer;
use onefold_tests::desks::client;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};

/// How long anything in these tests may take. It never does; a test that has hung shall say so.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The pause between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// Looks until the condition holds.
///
/// # Panics
///
/// If it does not within [`DEADLINE`].
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        sleep(LOOK_AGAIN).await;
    }
}

/// Waits for an answer that must come.
pub async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    timeout(DEADLINE, work).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// One lane, and limits so wide that a lane which stands at a gate is not taken for one that hangs.
pub fn one_lane() -> Settings {
    Settings {
        lanes: 1,
        statement_timeout: DEADLINE,
        lock_timeout: DEADLINE,
        idle_in_transaction_timeout: DEADLINE,
        ..Settings::default()
    }
}

/// A connection of the test's own.
pub async fn connection(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options).await.expect("the test reaches its database")
}

/// Whether some connection to this database waits for a lock.
pub async fn somebody_waits_for_a_lock(observer: &mut PgConnection) -> bool {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock')",
    )
    .fetch_one(observer)
    .await
    .expect("who waits")
}

/// How many connections of this name there are to this database.
pub async fn connections_of(observer: &mut PgConnection, application: &str) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1",
    )
    .bind(application)
    .fetch_one(observer)
    .await
    .expect("a count of connections")
}

/// Ends the connections of all lanes to this database, and answers how many there were.
pub async fn end_the_lanes_connections(observer: &mut PgConnection) -> i64 {
    sqlx::query_scalar(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'onefold desk'",
    )
    .fetch_one(observer)
    .await
    .expect("the connections are ended")
}

/// Runs a statement as the database's owner.
pub async fn as_owner(database: &Database, statement: String) {
    let mut owner = connection(database.owner_options()).await;
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut owner).await.expect("the statement of a test");
}

/// Adds [`client`] to the table of clients, through which the background work goes.
pub async fn register_client(database: &Database) {
    let mut owner = connection(database.owner_options()).await;
    let now = chrono::DateTime::UNIX_EPOCH;
    let added = client::store::insert_client(&mut owner, client(), "the client of the tests", now).await;
    assert!(added.expect("a client is added"));
}

/// What was answered by running or replaying.
pub fn answer(answered: &Answered) -> &Answer {
    match answered {
        Answered::Ran(answer) | Answered::Replayed(answer) => answer,
        other => panic!("answered {other:?} and not from the books"),
    }
}

/// Drains a desk, which must come to an end.
pub async fn drain(desk: &Desk) {
    soon("a desk to be drained", desk.drain()).await;
}
