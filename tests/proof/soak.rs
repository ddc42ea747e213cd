//! A long time at half of what the machine can do, with duplicates, clients that hang up, and a neighbour that is killed
//! again and again: nothing grows, and the books balance.
//!
//! Two processes serve one database. One is killed and started again; the other is watched. Its memory, its files and the
//! database's connections in the last quarter are compared with those in the second: in the first it still fills what
//! has a bound.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use onefold_tests::long;
use onefold_tests::own_cluster::OwnCluster;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::ledger::Ledger;
use crate::program::{Program, verify};

/// How long it takes; `ONEFOLD_TEST_SOAK_SECONDS` says otherwise.
const SOAK: Duration = Duration::from_secs(8);
const SOAK_LONG: Duration = Duration::from_secs(30 * 60);

/// From how long a soak on its memory can be judged: before that, caches and allocators are still filling.
const MEMORY_JUDGED_FROM: Duration = Duration::from_secs(100);

/// How long the load is measured of which a half is then put on.
const MEASURED: Duration = Duration::from_secs(2);

/// How many clients each of the two servers has.
const CLIENTS: usize = 8;

/// How often the neighbour is killed, and how often the vitals are taken.
const KILLS: u32 = 8;
const LOOKS: u32 = 120;

/// How many answers the watched process remembers, in MB: so few that it is full before it is judged.
const REMEMBERED_MB: u32 = 1;

/// How many answers are kept to be compared.
const KEPT_MAX: usize = 5_000;

/// What is flat: the last quarter's median above the second's by no more than this.
const MEMORY_GROWS_PERCENT_MAX: u64 = 5;
const MEMORY_GROWS_KB_MAX: u64 = 1024;
const FILES_GROW_MAX: u64 = 4;
const CONNECTIONS_GROW_MAX: u64 = 3;

/// What is watched.
#[derive(Clone, Copy, Debug)]
struct Vitals {
    memory_kb: u64,
    files: u64,
    connections: u64,
}

impl Vitals {
    /// Those of a process, and the connections to its database.
    async fn of(process: u32, observer: &mut PgConnection) -> anyhow::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let memory_kb = memory.trim().trim_end_matches(" kB").parse()?;
        let files = u64::try_from(fs::read_dir(format!("/proc/{process}/fd"))?.count())?;
        let connections: i64 =
            sqlx::query_scalar("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
                .fetch_one(observer)
                .await?;
        Ok(Self { memory_kb, files, connections: u64::try_from(connections)? })
    }

    /// The median of each.
    fn median(vitals: &[Self]) -> Self {
        let median = |of: fn(&Self) -> u64| {
            let mut values: Vec<u64> = vitals.iter().map(of).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        Self {
            memory_kb: median(|vitals| vitals.memory_kb),
            files: median(|vitals| vitals.files),
            connections: median(|vitals| vitals.connections),
        }
    }
}

fn length() -> Duration {
    let chosen = std::env::var("ONEFOLD_TEST_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    chosen.map_or(if long() { SOAK_LONG } else { SOAK }, Duration::from_secs)
}

/// Watches a process for so long.
async fn watch(process: u32, database: &PgConnectOptions, length: Duration) -> anyhow::Result<Vec<Vitals>> {
    let mut observer = PgConnection::connect_with(database).await?;
    let mut ticks = interval(length / LOOKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (began, mut seen) = (Instant::now(), Vec::new());
    while began.elapsed() < length {
        ticks.tick().await;
        seen.push(Vitals::of(process, &mut observer).await?);
    }
    observer.close().await?;
    Ok(seen)
}

/// Kills a program under load and starts it again, so often in so long; answers the last one.
async fn kill_repeatedly(
    mut program: Program,
    url: &str,
    ledger: &Ledger,
    pause: Duration,
    length: Duration,
) -> anyhow::Result<Program> {
    for _ in 0..KILLS {
        let burst = ledger.start(&program.demo(), CLIENTS, pause);
        sleep(length / (KILLS + 1)).await;
        program.kill().await?;
        burst.ended().await?;
        program = Program::again(url).await?;
    }
    Ok(program)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_half_load_nothing_grows_while_a_neighbour_is_killed_again_and_again() -> anyhow::Result<()> {
    let length = length();
    let cluster = OwnCluster::start(&[]).await?;
    let database = cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let neighbour = Program::first(&url).await?;
    let watched = Program::remembering(&url, REMEMBERED_MB).await?;
    let ledger = Ledger::open(&watched.demo(), KEPT_MAX).await?;

    let before = ledger.sent();
    let bursts = [&watched, &neighbour].map(|program| ledger.start(&program.demo(), CLIENTS, Duration::ZERO));
    sleep(MEASURED).await;
    for burst in bursts {
        burst.stop().await?;
    }
    let measured = ledger.sent() - before;
    ensure!(measured > 0, "nothing was sent");
    // A client that waits for as long as it works makes half of the load.
    let pause = MEASURED * u32::try_from(2 * CLIENTS)? / u32::try_from(measured)?;

    let before = ledger.sent();
    let burst = ledger.start(&watched.demo(), CLIENTS, pause);
    let (seen, neighbour) = tokio::try_join!(
        watch(watched.id()?, &database, length),
        kill_repeatedly(neighbour, &url, &ledger, pause, length),
    )?;
    burst.stop().await?;
    let soaked = ledger.sent() - before;

    let demo = watched.demo();
    let asked_again = ledger.converge(&demo).await?;
    let replayed = ledger.replay(&neighbour.demo(), None).await?;
    verify(&url).await?;
    ledger.agrees(&demo, &database).await?;
    let quarter = seen.len() / 4;
    let second = Vitals::median(&seen[quarter..2 * quarter]);
    let last = Vitals::median(&seen[3 * quarter..]);
    eprintln!(
        "a soak of {} s: {measured} requests in {} s measured, {soaked} at half of that, {KILLS} kills, \
         {asked_again} open and asked again, {replayed} replays, {:?}; second quarter {second:?}, last {last:?}",
        length.as_secs(),
        MEASURED.as_secs(),
        ledger.counts()
    );
    assert!(last.files <= second.files + FILES_GROW_MAX, "files: {second:?}, then {last:?}");
    assert!(last.connections <= second.connections + CONNECTIONS_GROW_MAX, "{second:?}, then {last:?}");
    if length >= MEMORY_JUDGED_FROM {
        let limit_kb =
            second.memory_kb + second.memory_kb * MEMORY_GROWS_PERCENT_MAX / 100 + MEMORY_GROWS_KB_MAX;
        assert!(last.memory_kb <= limit_kb, "memory: {second:?}, then {last:?}");
    }
    watched.kill().await?;
    neighbour.kill().await?;
    cluster.stop().await
}
