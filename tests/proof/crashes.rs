//! The service dies after each of its steps in turn, in the first batch that comes so far or in a later one, and is
//! started again.

use std::time::Duration;

use anyhow::Context;
use desk::Step;
use onefold_tests::own_cluster::OwnCluster;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::program::{Program, verify};

/// How many clients there are: enough for batches of several commands.
const CLIENTS: usize = 12;

/// How often a step is passed before the process dies after it.
const PASSED: [u32; 2] = [0, 25];

/// How many answers are kept to be compared.
const KEPT_MAX: usize = 20_000;

/// How much of what was answered last is asked for again after each crash. All of it is, after the last.
const REPLAYED: usize = 60;

/// Between two times that the lanes' connections are ended, for a lane to have a transaction to ask about.
const CONNECTIONS_END_EVERY: Duration = Duration::from_millis(60);

/// The failpoints by which a process dies after this step, having passed it so often.
fn dying_after(step: Step, passed: u32) -> String {
    let dies = format!("{}={passed}*off->return", step.name());
    match step {
        // So that the connections which this test ends are in the middle of a transaction, most of the time.
        Step::Inquiring => format!("{dies};{}=sleep(20)", Step::Saved.name()),
        _ => dies,
    }
}

/// Ends the lanes' connections again and again.
async fn end_connections(database: &PgConnectOptions) -> anyhow::Result<()> {
    let mut observer = PgConnection::connect_with(database).await?;
    loop {
        sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'onefold desk' AND xact_start IS NOT NULL",
        )
        .execute(&mut observer)
        .await?;
        sleep(CONNECTIONS_END_EVERY).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_after_any_step_leaves_one_effect_for_each_name() -> anyhow::Result<()> {
    let cluster = OwnCluster::start(&[]).await?;
    let database = cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let program = Program::first(&url).await?;
    let ledger = Ledger::open(&program.demo(), KEPT_MAX).await?;
    // Something that can be asked for again, which is what a transaction without anything to run is rolled back for.
    let burst = ledger.start(&program.demo(), CLIENTS, Duration::ZERO);
    sleep(Duration::from_millis(200)).await;
    burst.stop().await?;
    program.kill().await?;

    let (mut crashes, mut asked_again, mut replayed) = (0, 0, 0);
    for step in Step::ALL.into_iter().chain(Step::DETOURS) {
        for passed in PASSED {
            let failpoints = dying_after(step, passed);
            let mut doomed = Program::failing(&url, &failpoints).await?;
            let burst = ledger.start(&doomed.demo(), CLIENTS, Duration::ZERO);
            let crashed = async { doomed.crashed().await.with_context(|| failpoints.clone()) };
            if step == Step::Inquiring {
                tokio::select! {
                    crashed = crashed => crashed?,
                    ended = end_connections(&database) => ended?,
                }
            } else {
                crashed.await?;
            }
            burst.ended().await?;
            crashes += 1;

            let program = Program::again(&url).await?;
            asked_again += ledger.converge(&program.demo()).await.context(failpoints.clone())?;
            replayed += ledger.replay(&program.demo(), Some(REPLAYED)).await.context(failpoints)?;
            program.kill().await?;
        }
        verify(&url).await.context(step.name())?;
    }
    let program = Program::again(&url).await?;
    replayed += ledger.replay(&program.demo(), None).await?;
    ledger.agrees(&program.demo(), &database).await?;
    program.kill().await?;
    eprintln!(
        "{crashes} crashes, {} after each step: {} requests, {asked_again} open and asked again, \
         {replayed} replays, {:?}",
        PASSED.len(),
        ledger.sent(),
        ledger.counts()
    );
    cluster.stop().await
}
