//! A Redis Cluster: names are where it says, and its nodes may come and go.

use std::time::Duration;

use onefold_tests::database::audit;
use onefold_tests::redis_cluster::RedisCluster;
use server::serve::ServerSettings;
use tokio::time::{Instant, sleep};

use crate::pair::{DEADLINE, Pair, asked, place, replayed};

/// As long as no Redis takes that answers at all, on however busy a machine.
const LONG: Duration = Duration::from_millis(500);

/// Longer than any of these tests takes: so no server has listened for that long, and each name is looked up.
const MINUTES: Duration = Duration::from_secs(600);

/// The names of a test: enough that each of three nodes has some.
const NAMES: usize = 30;

/// Two servers that know one node of a cluster by its address, and learn of the others from it.
async fn pair_on(cluster: &RedisCluster) -> anyhow::Result<Pair> {
    let is_cluster = |settings: &mut ServerSettings| {
        let repeats = settings.repeats.as_mut().expect("a pair has a filter");
        repeats.is_cluster = true;
    };
    let pair = Pair::start_with(&[cluster.nodes[0].url()], LONG, MINUTES, is_cluster).await?;
    pair.is_answered_by_redis("first").await?;
    Ok(pair)
}

#[tokio::test]
async fn names_are_spread_over_a_cluster_and_those_of_a_lost_node_are_missed_alone() -> anyhow::Result<()> {
    let mut cluster = RedisCluster::start(3).await?;
    let pair = pair_on(&cluster).await?;
    let before = audit(&pair.one.database).await.orders;
    let mut answers = Vec::new();
    for number in 0..NAMES {
        answers.push(pair.one.demo.order(&format!("k{number}"), "0.10").await?);
    }
    let places: Vec<String> = (0..NAMES).map(|number| place(&format!("k{number}"))).collect();
    let began = Instant::now();
    let spread = loop {
        let mut spread = Vec::new();
        for node in &cluster.nodes {
            let keys = node.keys().await?;
            spread.push(places.iter().filter(|place| keys.contains(place)).count());
        }
        if spread.iter().sum::<usize>() == NAMES {
            break spread;
        }
        assert!(began.elapsed() < DEADLINE, "{spread:?} of {NAMES} names are in the cluster");
        sleep(Duration::from_millis(4)).await;
    };
    assert!(spread.iter().all(|count| *count > 0), "{spread:?}");

    cluster.nodes[1].stop().await?;
    let answered = asked(&pair.other, "answered").await?;
    for (number, first) in answers.iter().enumerate() {
        replayed(&pair.other.demo.order(&format!("k{number}"), "0.10").await?, first);
    }
    let still = asked(&pair.other, "answered").await? - answered;
    let (there, lost) = (spread[0] + spread[2], spread[1]);
    assert_eq!(still as usize, there, "of {NAMES} names, {lost} were at the node that is lost");
    assert!(asked(&pair.other, "unavailable").await? > 0);
    assert_eq!((audit(&pair.one.database).await.orders - before) as usize, NAMES);

    // It comes back, empty, and is used again.
    cluster.nodes[1].start_again().await?;
    let began = Instant::now();
    for number in 0.. {
        let key = format!("back-{number}");
        let first = pair.one.demo.order(&key, "0.01").await?;
        replayed(&pair.other.demo.order(&key, "0.01").await?, &first);
        if cluster.nodes[1].keys().await?.contains(&place(&key)) {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "the node that came back is told nothing");
    }
    Ok(())
}

#[tokio::test]
async fn a_replica_that_takes_over_is_asked_in_its_masters_place() -> anyhow::Result<()> {
    let mut cluster = RedisCluster::start(3).await?;
    cluster.add_replica_of_first().await?;
    let pair = pair_on(&cluster).await?;
    // The one whose address the servers were given, too.
    cluster.nodes[0].stop().await?;
    cluster.replica_has_taken_over().await?;
    let replica = cluster.nodes.last().expect("the replica");
    let began = Instant::now();
    for number in 0.. {
        let key = format!("k{number}");
        let first = pair.one.demo.order(&key, "0.01").await?;
        let answered = asked(&pair.other, "answered").await?;
        replayed(&pair.other.demo.order(&key, "0.01").await?, &first);
        let by_redis = asked(&pair.other, "answered").await? > answered;
        if by_redis && replica.keys().await?.contains(&place(&key)) {
            return Ok(());
        }
        assert!(began.elapsed() < DEADLINE, "the node that took over is not asked");
    }
    Ok(())
}
