//! PostgreSQL is killed under load, whole or in part, and comes back.

use std::time::Duration;

use anyhow::Context;
use onefold_tests::long;
use onefold_tests::own_cluster::OwnCluster;
use rand::Rng;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::program::{Program, signal, verify};

/// How often each death is died; `ONEFOLD_TEST_DATABASE_KILLS` says otherwise.
const KILLS: usize = 4;
const KILLS_LONG: usize = 100;

/// How many clients there are.
const CLIENTS: usize = 12;

/// How long it works before it is killed, at the least and at the most.
const WORKS_MS: std::ops::Range<u64> = 60..300;

/// How much of what was answered last is asked for again after each kill.
const REPLAYED: usize = 100;

/// How many answers are kept to be compared.
const KEPT_MAX: usize = 20_000;

/// What dies, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Death {
    /// The process that starts all others is killed; these end when they see that.
    Postmaster,
    /// A process that works for a lane is killed: the postmaster ends all others, since the memory that they have in
    /// common may be damaged, and recovers.
    Backend,
    /// All are told to end without another word (`pg_ctl stop -m immediate`).
    Immediate,
}

impl Death {
    const ALL: [Self; 3] = [Self::Postmaster, Self::Backend, Self::Immediate];

    /// Dies it, and sees to it that the database comes back.
    async fn die(self, cluster: &mut OwnCluster, database: &PgConnectOptions) -> anyhow::Result<()> {
        match self {
            Self::Postmaster => {
                signal("KILL", cluster.postmaster()?).await?;
                cluster.start_again().await
            }
            Self::Immediate => {
                signal("QUIT", cluster.postmaster()?).await?;
                cluster.start_again().await
            }
            // The postmaster recovers by itself.
            Self::Backend => signal("KILL", process_of_a_lane(database).await?).await,
        }
    }
}

/// The process that works for one of the lanes, which have connected.
async fn process_of_a_lane(database: &PgConnectOptions) -> anyhow::Result<u32> {
    let mut observer = PgConnection::connect_with(database).await?;
    let pid: Option<i32> = sqlx::query_scalar(
        "SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'onefold desk'
         ORDER BY random() LIMIT 1",
    )
    .fetch_optional(&mut observer)
    .await?;
    observer.close().await?;
    Ok(u32::try_from(pid.context("no lane is connected")?)?)
}

fn kills() -> usize {
    let chosen = std::env::var("ONEFOLD_TEST_DATABASE_KILLS").ok().and_then(|kills| kills.parse().ok());
    chosen.unwrap_or(if long() { KILLS_LONG } else { KILLS })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_killed_at_any_moment_takes_nothing_back_that_was_answered() -> anyhow::Result<()>
{
    let mut cluster = OwnCluster::start(&[]).await?;
    let database = cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    Program::first(&url).await?.kill().await?;
    // It remembers nothing: what it answers again, it reads in the database.
    let program = Program::remembering(&url, 0).await?;
    let demo = program.demo();
    let ledger = Ledger::open(&demo, KEPT_MAX).await?;
    let (kills, mut asked_again, mut replayed) = (kills(), 0, 0);
    for _ in 0..kills {
        for death in Death::ALL {
            let burst = ledger.start(&demo, CLIENTS, Duration::ZERO);
            // No state is waited for: any moment will do, and no two the same.
            let moment_ms = rand::rng().random_range(WORKS_MS);
            sleep(Duration::from_millis(moment_ms)).await;
            death.die(&mut cluster, &database).await.with_context(|| format!("{death:?}"))?;
            burst.stop().await?;
            // The server is the same and reconnects by itself.
            asked_again += ledger.converge(&demo).await.with_context(|| format!("{death:?}"))?;
            replayed += ledger.replay(&demo, Some(REPLAYED)).await?;
        }
        verify(&url).await?;
    }
    replayed += ledger.replay(&demo, None).await?;
    ledger.agrees(&demo, &database).await?;
    eprintln!(
        "{} kills of PostgreSQL: {} requests, {asked_again} open and asked again, {replayed} replays, {:?}",
        kills * Death::ALL.len(),
        ledger.sent(),
        ledger.counts()
    );
    program.kill().await?;
    cluster.stop().await
}
