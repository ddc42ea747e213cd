//! A Redis that is reached over TLS alone.

use std::time::Duration;

use onefold_tests::redis::RedisServer;
use server::serve::ServerSettings;

use crate::pair::{Pair, asked};

const LONG: Duration = Duration::from_millis(500);

const MINUTES: Duration = Duration::from_secs(600);

async fn pair_that_trusts(redis: &RedisServer, trusted: Option<&str>) -> anyhow::Result<Pair> {
    let trusting = |settings: &mut ServerSettings| {
        let repeats = settings.repeats.as_mut().expect("a pair has a filter");
        repeats.redis_ca = trusted.map(|pem| pem.as_bytes().to_vec());
    };
    Pair::start_with(&[redis.url()], LONG, MINUTES, trusting).await
}

#[tokio::test]
async fn what_one_server_has_answered_goes_to_the_other_over_tls() -> anyhow::Result<()> {
    let redis = RedisServer::start_over_tls().await?;
    let pair = pair_that_trusts(&redis, redis.certificate()).await?;
    pair.is_answered_by_redis("k").await
}

#[tokio::test]
async fn a_redis_that_nobody_vouches_for_is_told_nothing_and_missed() -> anyhow::Result<()> {
    let redis = RedisServer::start_over_tls().await?;
    let stranger = RedisServer::start_over_tls().await?;
    for trusted in [None, stranger.certificate()] {
        let pair = pair_that_trusts(&redis, trusted).await?;
        for _ in 0..2 {
            assert_eq!(pair.one.demo.order("k", "0.10").await?.status, 201);
        }
        assert!(pair.other.demo.order("k", "0.10").await?.replayed());
        assert!(asked(&pair.one, "unavailable").await? > 0);
        assert_eq!(asked(&pair.other, "answered").await?, 0);
    }
    assert_eq!(redis.keys().await?, Vec::<String>::new());
    Ok(())
}
