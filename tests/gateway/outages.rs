//! Redis stopped, paused, slow, emptied, full of stale leases or of forgeries, and coming back, while two servers are
//! under load: no order is lost, doubled or refused, and no request is delayed for longer than it may be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use onefold_tests::database::audit;
use onefold_tests::http::{Caller, Exchange};
use onefold_tests::redis::RedisServer;
use onefold_tests::slow_proxy::SlowProxy;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::pair::{DEADLINE, Pair, asked, counted, place, replayed};

/// Those who place orders at the same time.
const BUYERS: usize = 4;

/// The orders of all before the fault, as many at least during it, and as many behind it.
const ORDERS: usize = 40;

/// How many orders of each may be met by what the test puts into Redis. They place far fewer.
const NAMES: usize = 2_000;

/// By how much the filter may delay a request.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// What happens to Redis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Stopped,
    Paused,
    Slow,
    Emptied,
    StaleLeases,
    Forged,
}

impl Fault {
    /// Two seconds let the servers come to trust their Bloom filters, and lose that trust with their connections. What
    /// the test has put there itself was never announced, and what it has taken away was, so both are met for certain only
    /// while every name is looked up.
    fn answers_kept(self) -> Duration {
        match self {
            Self::Stopped | Self::Paused | Self::Slow => Duration::from_secs(2),
            Self::Emptied | Self::StaleLeases | Self::Forged => Duration::from_secs(600),
        }
    }

    /// What the filter must have met, or the test has shown nothing.
    fn is_met_as(self) -> &'static str {
        match self {
            Self::Stopped | Self::Paused | Self::Slow => "unavailable",
            Self::Emptied => "nothing_known",
            Self::StaleLeases => "lease_held",
            Self::Forged => "unsealed",
        }
    }
}

struct Scene {
    redis: RedisServer,
    proxy: SlowProxy,
    pair: Pair,
}

impl Scene {
    async fn set(fault: Fault) -> anyhow::Result<Self> {
        let redis = RedisServer::start().await?;
        let proxy = SlowProxy::before(redis.port()).await?;
        let url = format!("redis://{}", proxy.address());
        let pair = Pair::start(&[url], WAIT_MAX, fault.answers_kept()).await?;
        Ok(Self { redis, proxy, pair })
    }

    async fn begin(&mut self, fault: Fault) -> anyhow::Result<()> {
        match fault {
            Fault::Stopped => self.redis.stop().await?,
            Fault::Paused => self.redis.pause()?,
            Fault::Slow => self.proxy.delay(Duration::from_millis(40)),
            Fault::Emptied => self.redis.empty().await?,
            // Of names that are about to be used, and of names that were.
            Fault::StaleLeases => self.put_everywhere(b"L0123456789abcdef").await?,
            Fault::Forged => {
                self.put_everywhere(b"A forged answer, or the bytes of one that was damaged").await?
            }
        }
        Ok(())
    }

    async fn put_everywhere(&self, value: &[u8]) -> anyhow::Result<()> {
        let of_buyer = |buyer| (0..NAMES).map(move |number| place(&key(buyer, number)));
        self.redis.put_under_all((0..BUYERS).flat_map(of_buyer), value).await
    }

    async fn end(&mut self, fault: Fault) -> anyhow::Result<()> {
        match fault {
            Fault::Stopped => self.redis.start_again().await?,
            Fault::Paused => self.redis.resume()?,
            Fault::Slow => self.proxy.delay(Duration::ZERO),
            Fault::Emptied | Fault::StaleLeases | Fault::Forged => {}
        }
        Ok(())
    }
}

fn key(buyer: usize, number: usize) -> String {
    format!("b{buyer}-{number}")
}

/// Places an order at one server and twice more at the other, at the same time, until it is known to all.
async fn buy(key: &str, at: [&Caller; 2]) -> anyhow::Result<Exchange> {
    let [first, second] = at;
    let together =
        tokio::join!(first.order(key, "0.10"), second.order(key, "0.10"), second.order(key, "0.10"));
    let mut answers = vec![together.0?, together.1?, together.2?];
    let began = Instant::now();
    while answers.last().is_none_or(|answer| answer.status != 201) {
        assert!(began.elapsed() < DEADLINE, "{key} stays in progress");
        answers.push(second.order(key, "0.10").await?);
    }
    for answer in &answers {
        let in_progress = answer.slug().as_deref() == Some("idempotency-in-progress");
        assert!(answer.status == 201 || in_progress, "{key} was refused: {answer:?}");
    }
    let done: Vec<_> = answers.into_iter().filter(|answer| answer.status == 201).collect();
    let first_times = done.iter().filter(|answer| !answer.replayed()).count();
    assert!(first_times <= 1, "{key} has run {first_times} times");
    assert!(done.iter().all(|answer| answer.bytes == done[0].bytes), "{key} has two answers");
    Ok(done.into_iter().next().expect("the loop has ended with one"))
}

async fn nothing_is_lost_doubled_or_refused_under(fault: Fault) -> anyhow::Result<()> {
    let mut scene = Scene::set(fault).await?;
    let (done, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut buyers = JoinSet::new();
    for buyer in 0..BUYERS {
        let (done, is_over, demo) = (Arc::clone(&done), Arc::clone(&is_over), scene.pair.one.demo.clone());
        let (one, other) = (demo.clone(), demo.at(&scene.pair.other.url()));
        buyers.spawn(async move {
            let mut answers = BTreeMap::new();
            while !is_over.load(Ordering::Relaxed) {
                let number = answers.len();
                let key = key(buyer, number);
                let at = if number % 2 == 0 { [&one, &other] } else { [&other, &one] };
                answers.insert(key.clone(), buy(&key, at).await?);
                done.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(answers)
        });
    }
    // They go on for as long as it takes to bring the fault about, and to end it.
    so_many_more(&done).await;
    scene.begin(fault).await?;
    so_many_more(&done).await;
    scene.end(fault).await?;
    so_many_more(&done).await;
    is_over.store(true, Ordering::Relaxed);
    let mut answers = BTreeMap::new();
    while let Some(bought) = buyers.join_next().await {
        answers.extend(bought??);
    }
    // Now and for ever each is answered what it was, at both.
    for (key, first) in &answers {
        replayed(&scene.pair.one.demo.order(key, "0.10").await?, first);
        replayed(&scene.pair.other.demo.order(key, "0.10").await?, first);
    }
    assert_eq!(audit(&scene.pair.one.database).await.orders as usize, answers.len(), "{fault:?}");
    let [one, other] = [&scene.pair.one, &scene.pair.other];
    let met = asked(one, fault.is_met_as()).await? + asked(other, fault.is_met_as()).await?;
    assert!(met > 0, "the filter has not met what it was tested with: {fault:?}");
    scene.delays_are_bounded(fault).await?;
    // And the filter is at work again.
    scene.pair.is_answered_by_redis("back").await
}

/// Waits until [`ORDERS`] more are placed. A buyer that has failed places no more, and is asked why at the end.
async fn so_many_more(done: &AtomicUsize) {
    let (began, before) = (Instant::now(), done.load(Ordering::Relaxed));
    while done.load(Ordering::Relaxed) < before + ORDERS && began.elapsed() < DEADLINE {
        sleep(Duration::from_millis(2)).await;
    }
}

impl Scene {
    /// The bound is [`WAIT_MAX`]; a machine that is busy with other tests wakes a few tasks up later than it should. A
    /// filter that waited for Redis itself would be late with each request of the fault: a third of all.
    async fn delays_are_bounded(&self, fault: Fault) -> anyhow::Result<()> {
        for server in [&self.pair.one, &self.pair.other] {
            let delays = "onefold_repeat_filter_delay_seconds";
            let all = counted(server, &format!("{delays}_count")).await?;
            let tenth = counted(server, &format!("{delays}_bucket{{le=\"0.1\"}}")).await?;
            assert!(
                all > 0 && tenth * 10 >= all * 9,
                "{fault:?}: {} of {all} were delayed by more than 0.1 s",
                all - tenth
            );
        }
        Ok(())
    }
}

#[tokio::test]
async fn redis_is_stopped_and_comes_back() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::Stopped).await
}

#[tokio::test]
async fn redis_is_paused_and_goes_on() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::Paused).await
}

#[tokio::test]
async fn redis_is_slow_and_recovers() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::Slow).await
}

#[tokio::test]
async fn redis_forgets_everything() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::Emptied).await
}

#[tokio::test]
async fn redis_is_full_of_stale_leases() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::StaleLeases).await
}

#[tokio::test]
async fn redis_is_full_of_forgeries() -> anyhow::Result<()> {
    nothing_is_lost_doubled_or_refused_under(Fault::Forged).await
}
