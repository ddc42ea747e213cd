//! `/readyz` with a filter: a Redis that is away is named, and the service stays ready.

use std::time::Duration;

use onefold_tests::http::TestServer;
use onefold_tests::redis::RedisServer;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::pair::{DEADLINE, Pair};

/// Waits until what is away is that, and nothing else.
async fn degraded(server: &TestServer, expected: &Value) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let ready = server.anonymous().get("/readyz").await?;
        assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("ready")));
        if ready.json()["degraded"] == *expected {
            return Ok(());
        }
        assert!(began.elapsed() < DEADLINE, "{} and not {expected}", ready.json());
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn readyz_stays_200_while_redis_is_away_or_hangs_and_names_it() -> anyhow::Result<()> {
    let (first, mut second) = (RedisServer::start().await?, RedisServer::start().await?);
    let urls = [first.url(), second.url()];
    let pair = Pair::start(&urls, Duration::from_millis(10), Duration::from_secs(60)).await?;
    let server = &pair.one;
    degraded(server, &json!([])).await?;
    second.stop().await?;
    degraded(server, &json!(["redis"])).await?;
    second.start_again().await?;
    degraded(server, &json!([])).await?;
    first.pause()?;
    degraded(server, &json!(["redis"])).await?;
    first.resume()?;
    degraded(server, &json!([])).await?;
    Ok(())
}

#[tokio::test]
async fn readyz_names_no_redis_where_none_is_configured() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    degraded(&server, &json!([])).await
}
