//! Two servers on one database that tell each other of repeats.

use std::time::Duration;

use anyhow::Context;
use client::ClientId;
use gateway::repeats::Settings;
use gateway::repeats::seal::Seal;
use gateway::repeats::value::Place;
use idempotency::{Key, Name};
use onefold_tests::database::new_database;
use onefold_tests::http::{Exchange, TestServer};
use server::demo::CLIENT_ID;
use server::serve::ServerSettings;
use tokio::time::{Instant, sleep};

/// How long anything in these tests may take. It never does; a test that has hung shall say so.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Two servers.
pub(crate) struct Pair {
    pub(crate) one: TestServer,
    pub(crate) other: TestServer,
}

impl Pair {
    /// Two that use these Redis, let them delay a request by `wait_max`, and keep answers in them for so long.
    pub(crate) async fn start(
        redis: &[String],
        wait_max: Duration,
        answers_kept: Duration,
    ) -> anyhow::Result<Self> {
        Self::start_with(redis, wait_max, answers_kept, |_| {}).await
    }

    /// The same, with settings changed.
    pub(crate) async fn start_with(
        redis: &[String],
        wait_max: Duration,
        answers_kept: Duration,
        change: impl Fn(&mut ServerSettings),
    ) -> anyhow::Result<Self> {
        let repeats = repeats(redis, wait_max, answers_kept)?;
        let set = |settings: &mut ServerSettings| {
            settings.repeats = Some(repeats.clone());
            change(settings);
        };
        let one = TestServer::start_with(new_database().await?, set).await?;
        let other = TestServer::start_with(one.database.clone(), set).await?;
        Ok(Self { one, other })
    }

    /// Places orders at one server and repeats them at the other, until a repeat is answered by what Redis holds.
    pub(crate) async fn is_answered_by_redis(&self, prefix: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let before = asked(&self.other, "answered").await?;
        for number in 0.. {
            let key = format!("{prefix}-{number}");
            assert_eq!(self.one.demo.order(&key, "0.01").await?.status, 201);
            let again = self.other.demo.order(&key, "0.01").await?;
            assert!(again.status == 201 && again.replayed(), "a repeat was not replayed: {again:?}");
            if asked(&self.other, "answered").await? > before {
                return Ok(());
            }
            assert!(began.elapsed() < DEADLINE, "no repeat is answered by what Redis holds");
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// A filter that uses these Redis, single ones.
pub(crate) fn repeats(
    redis: &[String],
    wait_max: Duration,
    answers_kept: Duration,
) -> anyhow::Result<Settings> {
    Ok(Settings {
        redis: redis.to_vec(),
        is_cluster: false,
        redis_ca: None,
        seal: Seal::new(b"the secret of both servers, 0123456789", None)?,
        wait_max,
        answers_kept,
        names_max: 10_000,
    })
}

/// The place of a key of the demo client.
pub(crate) fn place(key: &str) -> String {
    place_of(CLIENT_ID, key)
}

/// The place of a client's key.
pub(crate) fn place_of(client_id: ClientId, key: &str) -> String {
    Place::of(&Name { client_id, key: Key::from_value(key).expect("a key") }).key
}

/// Whether what stands in Redis looks like an answer.
pub(crate) fn is_answer(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| value.starts_with(b"A"))
}

/// How many requests the filter of a server has been asked about with that outcome.
pub(crate) async fn asked(server: &TestServer, outcome: &str) -> anyhow::Result<u64> {
    counted(server, &format!("onefold_repeat_filter_asked_total{{outcome=\"{outcome}\"}}")).await
}

/// How many batches the desk of a server has run: each is a transaction, and none runs for what is answered before.
pub(crate) async fn batches(server: &TestServer) -> anyhow::Result<u64> {
    counted(server, "onefold_desk_batch_size_count").await
}

/// What a server counts under that name.
pub(crate) async fn counted(server: &TestServer, name: &str) -> anyhow::Result<u64> {
    let text = String::from_utf8(server.anonymous().get("/metrics").await?.bytes)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    Ok(line.trim().parse()?)
}

/// Checks that an order was placed now, and not replayed.
#[track_caller]
pub(crate) fn placed(answer: &Exchange) {
    assert!(
        answer.status == 201 && !answer.replayed(),
        "not placed: {}",
        String::from_utf8_lossy(&answer.bytes)
    );
}

/// Checks that an answer is another one again.
#[track_caller]
pub(crate) fn replayed(answer: &Exchange, first: &Exchange) {
    let kept = |exchange: &Exchange| {
        let header = |name| exchange.header(name).map(str::to_owned);
        (exchange.status, header("content-type"), header("location"), exchange.bytes.clone())
    };
    assert!(answer.replayed(), "not a replay: {}", String::from_utf8_lossy(&answer.bytes));
    assert_eq!(kept(answer), kept(first));
}
