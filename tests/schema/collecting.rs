//! The roll-up of collecting accounts: exact at any moment, and read without reading the journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use account::store::collecting::{self, BALANCES};
use desk::schema::Database;
use desk::{Answered, Hooks, Settings, SystemClock, housekeeping};
use futures::future::join_all;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, client, open, order};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::time::sleep;

const ORDERS: usize = 20_000;
/// Between two rounds of a keeper or the auditor: twenty times as often as the service, and still room for the orders.
const ROUND_PAUSE: Duration = Duration::from_millis(50);
/// How many callers ask at the same time.
const CALLERS: usize = 400;

/// What the roll-up and the journal say in one snapshot: the sum of revenue, each way.
async fn revenue(connection: &mut PgConnection) -> (String, String) {
    let mut snapshot = connection.begin().await.expect("a transaction");
    sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .execute(&mut *snapshot)
        .await
        .expect("a snapshot");
    let balances = collecting::balances(&mut *snapshot, client()).await.expect("the balances");
    let rolled_up = balances.into_iter().find(|balance| balance.name == "revenue");
    let journal: String = sqlx::query_scalar(
        "SELECT coalesce(sum(amount), 0)::numeric(28, 2)::text FROM journal_entries WHERE kind = 'order_payment'",
    )
    .fetch_one(&mut *snapshot)
    .await
    .expect("the sum");
    snapshot.rollback().await.expect("the end");
    (rolled_up.map_or_else(|| "0.00".to_owned(), |balance| balance.credits), journal)
}

async fn rows(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM collecting_totals").fetch_one(connection).await.expect("a count")
}

async fn keep_house_until(database: Database, done: Arc<AtomicBool>) -> i64 {
    let mut rolled_up = 0;
    while !done.load(Ordering::SeqCst) {
        rolled_up += housekeeping::once(&database, &SystemClock).await.expect("a round").totals_rolled_up;
        sleep(ROUND_PAUSE).await;
    }
    rolled_up
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_are_exact_while_twenty_thousand_orders_are_rolled_up_by_two() {
    let database = new_service_database().await.expect("a database");
    let mut owner = PgConnection::connect_with(database.owner_options()).await.expect("a connection");
    let now = chrono::DateTime::UNIX_EPOCH;
    client::store::insert_client(&mut owner, client(), "the client of the tests", now)
        .await
        .expect("a client");
    let desk = open(&database, Settings::default(), Hooks::default());
    let mut accounts = Vec::new();
    for _ in 0..4 {
        accounts.push(account_with(&desk, "5000.00").await.expect("an account"));
    }

    let done = Arc::new(AtomicBool::new(false));
    let keepers: Vec<_> =
        (0..2).map(|_| tokio::spawn(keep_house_until(database.clone(), done.clone()))).collect();
    let auditor = tokio::spawn({
        let (done, options) = (done.clone(), database.owner_options().clone());
        async move {
            let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
            let mut looks = 0;
            while !done.load(Ordering::SeqCst) {
                let (rolled_up, journal) = revenue(&mut connection).await;
                assert_eq!(rolled_up, journal, "in any snapshot");
                looks += 1;
                sleep(ROUND_PAUSE).await;
            }
            looks
        }
    });
    let ordering = (0..CALLERS).map(|caller| {
        let (desk, account) = (desk.clone(), accounts[caller % accounts.len()]);
        tokio::spawn(async move {
            for number in (caller..ORDERS).step_by(CALLERS) {
                let answered =
                    desk.submit(order(&format!("o-{number}"), account, "1.00"), None).await.answered;
                assert!(matches!(&answered, Answered::Ran(answer) if answer.status == 201), "{answered:?}");
            }
        })
    });
    for ordered in join_all(ordering).await {
        ordered.expect("a caller");
    }
    done.store(true, Ordering::SeqCst);
    assert!(auditor.await.expect("the auditor") > 2, "the balances were looked at");
    let mut rolled_up = 0;
    for keeper in keepers {
        rolled_up += keeper.await.expect("a keeper");
    }
    assert!(rolled_up > 0, "there was something to roll up");

    housekeeping::once(&database, &SystemClock).await.expect("a round");
    assert_eq!(rows(&mut owner).await, 2, "one row for each collecting account");
    assert_eq!(revenue(&mut owner).await, ("20000.00".to_owned(), "20000.00".to_owned()));
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.entries), (20_000, 20_004));
}

#[tokio::test]
async fn balances_are_read_from_the_roll_up_alone() {
    let database = new_service_database().await.expect("a database");
    let mut connection = PgConnection::connect_with(database.owner_options()).await.expect("a connection");
    let explain = AssertSqlSafe(format!("EXPLAIN (COSTS OFF) {BALANCES}"));
    let plan: Vec<String> = sqlx::query(explain)
        .bind(client())
        .fetch_all(&mut connection)
        .await
        .expect("a plan")
        .iter()
        .map(|row| row.get(0))
        .collect();
    let read: Vec<&str> = plan
        .iter()
        .filter(|line| line.contains("Scan"))
        .filter_map(|line| line.split_once(" on ").map(|(_, table)| table))
        .collect();
    assert!(!read.is_empty() && read.iter().all(|table| table.starts_with("collecting_")), "{plan:#?}");
}

#[tokio::test]
async fn a_roll_up_replaces_no_more_than_its_batch_whatever_the_plan() {
    let database = new_service_database().await.expect("a database");
    let mut owner = PgConnection::connect_with(database.owner_options()).await.expect("a connection");
    let account = uuid::Uuid::from_u128(7);
    sqlx::query(
        "INSERT INTO collecting_totals (client_id, account_id, total_id, debits, credits)
         SELECT $1, $2, gen_random_uuid(), n, 0 FROM generate_series(1, 1000) n",
    )
    .bind(client())
    .bind(account)
    .execute(&mut owner)
    .await
    .expect("rows");
    let planned_for_few = ["hashjoin", "mergejoin", "material", "hashagg", "sort"]
        .map(|method| (format!("enable_{method}"), "off"));
    let options = database.service_options().clone().options(planned_for_few);
    let mut keeper = PgConnection::connect_with(&options).await.expect("a connection");
    let replaced =
        collecting::roll_up(&mut keeper, client(), account, uuid::Uuid::max(), 300).await.expect("a roll-up");
    assert_eq!(replaced, 300);
    assert_eq!(rows(&mut owner).await, 701);
    let sum: String = sqlx::query_scalar("SELECT sum(debits)::bigint::text FROM collecting_totals")
        .fetch_one(&mut owner)
        .await
        .expect("a sum");
    assert_eq!(sum, "500500");
}
