//! The service is killed at random moments under load, and started again on the same database.

use std::time::Duration;

use onefold_tests::long;
use onefold_tests::own_cluster::OwnCluster;
use rand::Rng;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::program::{Program, verify};

/// How often it is killed; `ONEFOLD_TEST_KILLS` says otherwise.
const KILLS: usize = 50;
const KILLS_LONG: usize = 1_000;

/// How many clients there are.
const CLIENTS: usize = 12;

/// How long it works before it is killed, at the least and at the most: long enough to be in the middle of something.
const WORKS_MS: std::ops::Range<u64> = 40..260;

/// How much of what was answered last is asked for again after each kill. All of it is, after the last.
const REPLAYED: usize = 60;

/// After how many kills the books are audited.
const AUDITED_EVERY: usize = 10;

/// How many answers are kept to be compared.
const KEPT_MAX: usize = 20_000;

fn kills() -> usize {
    let chosen = std::env::var("ONEFOLD_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
    chosen.unwrap_or(if long() { KILLS_LONG } else { KILLS })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_before_a_kill_stays_and_the_rest_happens_once_when_it_is_asked_again()
-> anyhow::Result<()> {
    let cluster = OwnCluster::start(&[]).await?;
    let database = cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let mut program = Program::first(&url).await?;
    let ledger = Ledger::open(&program.demo(), KEPT_MAX).await?;
    let (kills, mut asked_again, mut replayed) = (kills(), 0, 0);
    for kill in 1..=kills {
        let burst = ledger.start(&program.demo(), CLIENTS, Duration::ZERO);
        // No state is waited for: any moment will do, and no two the same.
        let moment_ms = rand::rng().random_range(WORKS_MS);
        sleep(Duration::from_millis(moment_ms)).await;
        program.kill().await?;
        burst.ended().await?;
        program = Program::again(&url).await?;
        asked_again += ledger.converge(&program.demo()).await?;
        replayed += ledger.replay(&program.demo(), Some(REPLAYED)).await?;
        if kill % AUDITED_EVERY == 0 {
            verify(&url).await?;
        }
    }
    replayed += ledger.replay(&program.demo(), None).await?;
    verify(&url).await?;
    ledger.agrees(&program.demo(), &database).await?;
    eprintln!(
        "{kills} kills of the server: {} requests, {asked_again} open and asked again, {replayed} replays, {:?}",
        ledger.sent(),
        ledger.counts()
    );
    program.kill().await?;
    cluster.stop().await
}
