//! Many events, while the processes that take them are killed again and again.

use std::time::Duration;

use anyhow::Context;
use onefold_tests::cluster::cluster;
use onefold_tests::daily_books::{counted, of_books};
use onefold_tests::database::new_database;
use onefold_tests::lived::{done, live, poison};
use onefold_tests::long;
use onefold_tests::server_process::ServerProcess;
use sqlx::postgres::PgPoolOptions;
use tokio::time::{Instant, sleep};

/// How many events there are, and with `--long`.
const EVENTS: i64 = 100_000;
const EVENTS_LONG: i64 = 1_000_000;

/// How many of them nobody can read.
const POISONED: i64 = 20;

/// How long it may take in all.
const DEADLINE: Duration = Duration::from_secs(240);
const DEADLINE_LONG: Duration = Duration::from_secs(3_600);

const PROGRAM: &str = env!("CARGO_BIN_EXE_test-onefold");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_equal_the_books_however_often_the_processes_are_killed() -> anyhow::Result<()> {
    let (events, deadline) = if long() { (EVENTS_LONG, DEADLINE_LONG) } else { (EVENTS, DEADLINE) };
    let options = new_database().await?;
    let pool = PgPoolOptions::new().max_connections(2).connect_with(options.clone()).await?;
    live(&pool, events).await?;
    poison(&pool, POISONED).await?;
    let url = cluster().await?.database_url(options.get_database().context("a database with a name")?);

    let began = Instant::now();
    let start = || ServerProcess::start(PROGRAM, &url, "");
    let (mut one, mut other) = tokio::try_join!(start(), start())?;
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
            (one, other) = (other, start().await?);
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
