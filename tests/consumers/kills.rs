//! Many events, while the processes that take them are killed again and again.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use onefold_tests::cluster::cluster;
use onefold_tests::database::new_database;
use onefold_tests::{SERVICE_VARIABLES, long};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::books::{counted, of_books};

/// How many events there are, and with `--long`.
const EVENTS: i64 = 100_000;
const EVENTS_LONG: i64 = 1_000_000;

/// How many of them nobody can read.
const POISONED: i64 = 20;

/// How long it may take in all.
const DEADLINE: Duration = Duration::from_secs(240);
const DEADLINE_LONG: Duration = Duration::from_secs(3_600);

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

/// A server in a process of its own, which dies with this.
struct Server {
    child: Child,
    _files: TempDir,
}

impl Server {
    async fn start(database_url: &str) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let configuration = files.path().join("onefold.toml");
        fs::write(&configuration, "[database]\npool_max = 3\n")?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
        for variable in SERVICE_VARIABLES {
            command.env_remove(variable);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--config"])
            .arg(&configuration)
            .current_dir(files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("the program cannot be started")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        let line =
            timeout(Duration::from_secs(60), stdout.next_line()).await.context("it does not come up")??;
        anyhow::ensure!(line.is_some_and(|line| line.starts_with("listening on ")), "it does not listen");
        Ok(Self { child, _files: files })
    }

    async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// How many events are counted, or set aside.
async fn done(pool: &PgPool) -> anyhow::Result<i64> {
    let done = "SELECT (SELECT count(*) FROM idempotency_records WHERE operation = 'count event')
                     + (SELECT count(*) FROM events_set_aside)";
    Ok(sqlx::query_scalar(done).fetch_one(pool).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_equal_the_books_however_often_the_processes_are_killed() -> anyhow::Result<()> {
    let (events, deadline) = if long() { (EVENTS_LONG, DEADLINE_LONG) } else { (EVENTS, DEADLINE) };
    let options = new_database().await?;
    let pool = PgPoolOptions::new().max_connections(2).connect_with(options.clone()).await?;
    for statement in LIVED {
        let query = sqlx::query(statement);
        let query = if statement.contains("$1") { query.bind(events) } else { query };
        query.execute(&pool).await.context(statement)?;
    }
    sqlx::query(POISON).bind(POISONED).execute(&pool).await?;
    let url = cluster().await?.database_url(options.get_database().context("a database with a name")?);

    let began = Instant::now();
    let (mut one, mut other) = tokio::try_join!(Server::start(&url), Server::start(&url))?;
    let (mut kills, mut before) = (0, 0);
    loop {
        sleep(Duration::from_millis(rand::random_range(500..2_500))).await;
        let now = done(&pool).await?;
        if now >= events + POISONED {
            break;
        }
        anyhow::ensure!(began.elapsed() < deadline, "{now} of {events} events are done, after {kills} kills");
        // Whoever is killed has events in hand that it has not acknowledged, and some whose effect is committed.
        if now > before {
            one.kill().await?;
            (one, other) = (other, Server::start(&url).await?);
            kills += 1;
            before = now;
        }
    }
    println!("{events} events, {kills} kills, {:.1} s", began.elapsed().as_secs_f64());
    assert!(kills >= 5, "it was over after {kills} kills");
    for server in [one, other] {
        server.kill().await?;
    }
    assert_eq!(counted(&pool).await?, of_books(&pool).await?);
    assert_eq!(done(&pool).await?, events + POISONED, "each once");
    let aside: Vec<(String, i64)> =
        sqlx::query_as("SELECT reason, count(*) FROM events_set_aside GROUP BY reason")
            .fetch_all(&pool)
            .await?;
    assert_eq!(aside, [("unreadable".to_owned(), POISONED)]);
    pool.close().await;
    Ok(())
}
