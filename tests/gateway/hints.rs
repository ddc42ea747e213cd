//! What servers tell each other by Redis, and what they do not believe.

use std::time::Duration;

use desk::{Hooks, Step};
use idempotency::FailedPolicy;
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, order_body};
use onefold_tests::raw_http;
use onefold_tests::redis::RedisServer;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::pair::{DEADLINE, Pair, asked, batches, is_answer, place, placed, replayed};

/// Longer than any of these tests takes: so no server has listened for that long, and each name is looked up.
const MINUTES: Duration = Duration::from_secs(600);

/// As long as no Redis takes that answers at all, on however busy a machine.
const LONG: Duration = Duration::from_millis(500);

#[tokio::test]
async fn what_one_server_has_answered_the_other_gives_again_without_the_database() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start(&[redis.url()], LONG, MINUTES).await?;
    let first = pair.one.demo.order("k", "5.00").await?;
    placed(&first);
    let lacking = pair.one.demo.order("too-much", "99999.00").await?;
    assert_eq!(lacking.status, 402);
    redis.wait_for(&place("k"), is_answer).await?;
    redis.wait_for(&place("too-much"), is_answer).await?;

    let before = batches(&pair.other).await?;
    for _ in 0..3 {
        replayed(&pair.other.demo.order("k", "5.00").await?, &first);
        replayed(&pair.other.demo.order("too-much", "99999.00").await?, &lacking);
    }
    assert_eq!(batches(&pair.other).await?, before, "the database was asked");
    assert_eq!(asked(&pair.other, "answered").await?, 2, "what Redis has answered once is remembered");

    // The answer is for that request: another one is told that the key is used, and by the database.
    placed(&pair.one.demo.order("another", "5.00").await?);
    redis.wait_for(&place("another"), is_answer).await?;
    let reused = pair.other.demo.order("another", "6.00").await?;
    assert_eq!((reused.status, reused.slug().as_deref()), (422, Some("idempotency-key-reused")));
    assert_eq!(asked(&pair.other, "unsealed").await?, 1);
    assert!(batches(&pair.other).await? > before);
    // And for that client.
    let stranger = pair.one.another_client().await?.at(&pair.other.url());
    assert_eq!(stranger.order("k", "5.00").await?.status, 404);
    assert_eq!(audit(&pair.one.database).await.orders, 2);
    Ok(())
}

#[tokio::test]
async fn what_is_forged_damaged_or_put_in_another_place_is_not_believed() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start(&[redis.url()], LONG, MINUTES).await?;
    let first = pair.one.demo.order("first", "1.00").await?;
    placed(&first);
    let genuine = redis.wait_for(&place("first"), is_answer).await?.expect("an answer");
    let mut damaged = genuine.clone();
    damaged[20] ^= 1;
    let mut sealed_by_another = b"A".to_vec();
    sealed_by_another.extend(&genuine[1..genuine.len() - 32]);
    sealed_by_another.extend([7; 32]);
    let forgeries: [&[u8]; 7] = [b"", b"A", b"L", b"OK", &damaged, &sealed_by_another, &genuine];
    for (number, forgery) in forgeries.into_iter().enumerate() {
        // Of a name that nobody has used: it runs.
        let key = format!("forged-{number}");
        redis.put(&place(&key), forgery).await?;
        let answer = pair.other.demo.order(&key, "1.00").await?;
        placed(&answer);
        assert_ne!(answer.bytes, first.bytes);
        // And the true answer takes the place of the forgery.
        redis.wait_for(&place(&key), |value| is_answer(value) && value != Some(forgery)).await?;
        replayed(&pair.one.demo.order(&key, "1.00").await?, &answer);
    }
    // Where there are no bytes, there is nothing.
    assert_eq!(asked(&pair.other, "unsealed").await?, 6);
    // Of one that was answered: the database says how.
    redis.put(&place("first"), &damaged).await?;
    replayed(&pair.other.demo.order("first", "1.00").await?, &first);
    assert_eq!(audit(&pair.one.database).await.orders, 8);
    Ok(())
}

#[tokio::test]
async fn of_a_forgery_of_any_size_no_more_is_read_than_an_answer_can_have() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start(&[redis.url()], LONG, MINUTES).await?;
    let huge = [&b"A"[..], &vec![b'x'; 16 << 20]].concat();
    redis.put(&place("k"), &huge).await?;
    let before = redis.bytes_sent().await?;
    placed(&pair.one.demo.order("k", "1.00").await?);
    let sent = redis.bytes_sent().await? - before;
    assert!(sent < 1 << 20, "Redis has sent {sent} bytes");
    assert_eq!(asked(&pair.one, "unsealed").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_lease_that_outlives_its_server_delays_by_milliseconds_and_refuses_nothing() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start(&[redis.url()], Duration::from_millis(100), MINUTES).await?;
    let stale = b"L0123456789abcdef";
    let began = Instant::now();
    for number in 0..20 {
        let key = format!("k{number}");
        redis.put(&place(&key), stale).await?;
        placed(&pair.one.demo.order(&key, "1.00").await?);
    }
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "a second each: the lease was waited for, and not the tenth of it that it may delay"
    );
    assert_eq!(asked(&pair.one, "lease_held").await?, 20);
    assert_eq!(audit(&pair.one.database).await.orders, 20);
    Ok(())
}

#[tokio::test]
async fn a_refusal_that_may_run_again_is_told_to_nobody_and_its_lease_is_taken_back() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start_with(&[redis.url()], LONG, MINUTES, |settings| {
        settings.desk.failed = FailedPolicy::Retry;
    })
    .await?;
    assert_eq!(pair.one.demo.order("k", "99999.00").await?.status, 402);
    redis.wait_for(&place("k"), |value| value.is_none()).await?;
    // A lease of somebody else's is not taken back.
    let theirs = b"L0123456789abcdef";
    redis.put(&place("k"), theirs).await?;
    assert_eq!(pair.one.demo.order("k", "99999.00").await?.status, 402);
    assert_eq!(pair.other.demo.order("k", "99999.00").await?.status, 402);
    assert_eq!(redis.value(&place("k")).await?.as_deref(), Some(&theirs[..]));
    assert_eq!(asked(&pair.other, "answered").await?, 0);
    assert_eq!(asked(&pair.other, "lease_held").await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_client_that_hangs_up_takes_its_lease_with_it() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let (let_go, gate) = watch::channel(false);
    let pair = Pair::start_with(&[redis.url()], LONG, MINUTES, |settings| {
        let gate = gate.clone();
        settings.hooks = Hooks::pausing(move |step| {
            let mut gate = gate.clone();
            async move {
                if step == Step::Decided {
                    // Whoever holds the other end has ended with its test, if it is gone.
                    let _ = gate.wait_for(|open| *open).await;
                }
            }
        });
    })
    .await?;
    let body = order_body(ALICE, "k", "1.00").to_string();
    let request = raw_http::post("/v1/orders", &[b"idempotency-key: k"], body.as_bytes());
    let mut stream = raw_http::connect(&pair.one.url()).await?;
    stream.write_all(&request).await?;
    redis.wait_for(&place("k"), |value| value.is_some_and(|value| value.starts_with(b"L"))).await?;

    let (began, left) = (Instant::now(), redis.left(&place("k")).await?.expect("a lease ends by itself"));
    drop(stream);
    redis.wait_for(&place("k"), |value| value.is_none()).await?;
    assert!(began.elapsed() < left, "it has stood until its end");
    // What the desk has, it goes on with, and a retry learns of it.
    let_go.send_replace(true);
    let began = Instant::now();
    loop {
        let again = pair.other.demo.post_text("/v1/orders", "k", &body).await?;
        if again.status == 201 {
            assert!(again.replayed());
            break;
        }
        assert_eq!(again.slug().as_deref(), Some("idempotency-in-progress"));
        assert!(began.elapsed() < DEADLINE, "it stays in progress");
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(audit(&pair.one.database).await.orders, 1);
    Ok(())
}

#[tokio::test]
async fn who_has_listened_long_enough_asks_nothing_about_a_new_name_and_hears_of_the_others()
-> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let pair = Pair::start(&[redis.url()], LONG, Duration::from_secs(1)).await?;
    let began = Instant::now();
    for number in 0.. {
        placed(&pair.one.demo.order(&format!("new-{number}"), "0.01").await?);
        if asked(&pair.one, "surely_new").await? > 0 {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "every new name is asked about for ever");
    }
    // The other server has heard of a name that this one did not ask about.
    pair.is_answered_by_redis("heard").await
}

#[tokio::test]
async fn names_are_spread_over_several_redis_and_each_is_missed_alone() -> anyhow::Result<()> {
    let (first, mut second) = (RedisServer::start().await?, RedisServer::start().await?);
    let pair = Pair::start(&[first.url(), second.url()], LONG, MINUTES).await?;
    for number in 0..20 {
        let key = format!("k{number}");
        placed(&pair.one.demo.order(&key, "1.00").await?);
    }
    let began = Instant::now();
    let spread = loop {
        let spread = [first.keys().await?.len(), second.keys().await?.len()];
        if spread.iter().sum::<usize>() == 20 {
            break spread;
        }
        assert!(began.elapsed() < DEADLINE, "{spread:?} of 20 names are in one of the two");
    };
    assert!(spread.iter().all(|count| *count > 0), "{spread:?}");
    second.stop().await?;
    for number in 0..20 {
        assert!(pair.other.demo.order(&format!("k{number}"), "1.00").await?.replayed());
    }
    assert!(asked(&pair.other, "answered").await? > 0, "the one that is there was not asked");
    assert!(asked(&pair.other, "unavailable").await? > 0);
    assert_eq!(audit(&pair.one.database).await.orders, 20);
    Ok(())
}
