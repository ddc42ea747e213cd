//! The database says nothing: what needs none of it is answered.

use std::time::Duration;

use onefold_tests::http::{Exchange, TestServer};
use onefold_tests::own_cluster::OwnCluster;
use onefold_tests::redis::RedisServer;
use tokio::time::{Instant, sleep};

use crate::pair::{is_answer, place, repeats, replayed};

/// For how long the database is silent: twice as long as an API key is remembered, and a little more.
const SILENCE: Duration = Duration::from_millis(2_200);

#[tokio::test]
async fn repeats_are_answered_while_the_database_is_stopped_by_the_server_and_by_another_one()
-> anyhow::Result<()> {
    let (cluster, redis) = (OwnCluster::start(&[]).await?, RedisServer::start().await?);
    let database = cluster.new_bare_database("silent").await?;
    let repeats = repeats(&[redis.url()], Duration::from_millis(500), Duration::from_secs(600))?;
    let start = || {
        TestServer::start_with(database.clone(), |settings| {
            settings.repeats = Some(repeats.clone());
            settings.http.api_key_grace = Duration::from_secs(60);
            // A new request is told so much sooner that nothing can be done.
            settings.http.request_timeout = Duration::from_secs(2);
        })
    };
    let (one, other) = (start().await?, start().await?);
    let mut answers: Vec<Exchange> = Vec::new();
    for number in 0..10 {
        let key = format!("k{number}");
        answers.push(one.demo.order(&key, "0.10").await?);
        redis.wait_for(&place(&key), is_answer).await?;
    }
    // So that the other one knows whose the key is.
    assert_eq!(other.demo.get("/v1/skus").await?.status, 200);

    cluster.pause()?;
    let began = Instant::now();
    let mut rounds = 0;
    while began.elapsed() < SILENCE {
        for server in [&one, &other] {
            for (number, first) in answers.iter().enumerate() {
                replayed(&server.demo.order(&format!("k{number}"), "0.10").await?, first);
            }
        }
        rounds += 1;
        sleep(Duration::from_millis(10)).await;
    }
    assert!(rounds > 1);
    let new = one.demo.order("new", "0.10").await?;
    assert_eq!(new.status, 503, "an effect without a database: {new:?}");
    cluster.resume()?;
    let again = one.demo.order("new", "0.10").await?;
    assert!([201, 409].contains(&again.status), "{again:?}");
    one.shutdown().await;
    other.shutdown().await;
    cluster.stop().await
}
