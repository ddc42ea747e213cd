//! Events that reach a client's own endpoint, signed; and endpoints that do not take them.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::TimeDelta;
use consumers::{Came, Consumer};
use notifications::store::deliveries::{Replay, Waiting};
use notifications::store::{deliveries, endpoints};
use notifications::{Endpoint, EndpointId, Reach, Schedule, Secret};
use onefold_tests::desks::{account_with, client, order, status};
use server::webhooks::WebhookSettings;
use server::webhooks::delivering::Delivering;
use sqlx::{Connection, PgConnection};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::stage::Stage;
use crate::webhook_receiver::{Received, Receiver};

const PAID: &str = "onefold.order.paid.v1";
const GUIDE: &str = include_str!("../../docs/guides/receive-webhooks.md");

/// A stage, an endpoint of its client, and a server's part that delivers.
struct Telling {
    stage: Stage,
    endpoint: Endpoint,
    delivering: JoinHandle<()>,
    stop: CancellationToken,
}

impl Telling {
    /// The endpoint at this URL is told of paid orders, by somebody who reaches so far.
    async fn to(url: &str, reach: Reach) -> anyhow::Result<Self> {
        let stage = Stage::at("2026-01-31T12:00:00Z".parse()?).await?;
        let endpoint = Endpoint {
            client_id: client(),
            id: EndpointId(Uuid::from_u128(1)),
            url: url.to_owned(),
            secrets: vec![Secret::of_random([1; 32]), Secret::of_random([2; 32])],
            event_types: vec![PAID.to_owned()],
        };
        let mut owner = PgConnection::connect_with(stage.database.owner_options()).await?;
        endpoints::insert_endpoint(&mut owner, &endpoint, "2026-01-31T12:00:00Z".parse()?).await?;
        owner.close().await?;
        let settings = WebhookSettings {
            reach,
            timeout: Duration::from_millis(500),
            schedule: Schedule {
                first: TimeDelta::seconds(5),
                longest: TimeDelta::hours(10),
                attempts_max: 3,
            },
            pause: Duration::from_millis(10),
            ..WebhookSettings::default()
        };
        let stop = CancellationToken::new();
        let clock = Arc::new(stage.clock.clone());
        let delivering = Delivering::new(stage.database.pool().clone(), clock, settings);
        let delivering = tokio::spawn(delivering.run(stop.clone()));
        Ok(Self { stage, endpoint, delivering, stop })
    }

    /// An order is paid, and the consumer takes all events, twice.
    async fn order(&self, key: &str) -> anyhow::Result<()> {
        let account = account_with(&self.stage.desk, "100.00").await?;
        let placed = self.stage.desk.submit(order(key, account, "40.00"), None).await.answered;
        anyhow::ensure!(status(&placed) == Some(201), "{placed:?}");
        for message in self.stage.events().await? {
            for _ in 0..2 {
                let came = self.stage.take(Consumer::Notifications, &message).await;
                anyhow::ensure!(came == Came::Taken, "{came:?}");
            }
        }
        Ok(())
    }

    /// Waits until the one delivery there is has this state, and answers how often it was tried and what is known of the
    /// last time.
    async fn until(&self, state: &str) -> anyhow::Result<(i64, Option<String>)> {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        for _ in 0..2_000 {
            looks.tick().await;
            let row: Option<(String, i64, Option<String>)> =
                sqlx::query_as("SELECT status, attempts, last_fault FROM webhook_deliveries")
                    .fetch_optional(self.stage.database.pool())
                    .await?;
            if let Some((status, attempts, fault)) = row
                && status == state
            {
                return Ok((attempts, fault));
            }
        }
        anyhow::bail!("the delivery is never {state}")
    }

    /// Waits until it was tried so often without success, and what came of the last time is noted: a turn that is under way
    /// ends half a minute after the timeout.
    async fn until_failed(&self, times: i64) -> anyhow::Result<String> {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        for _ in 0..2_000 {
            looks.tick().await;
            let fault: Option<String> = sqlx::query_scalar(
                "SELECT last_fault
                 FROM webhook_deliveries
                 WHERE attempts = $1
                   AND last_fault IS NOT NULL
                   AND next_attempt_at <> $2::timestamptz + interval '30.5 seconds'",
            )
            .bind(times)
            .bind(desk::Clock::now(&self.stage.clock))
            .fetch_optional(self.stage.database.pool())
            .await?
            .flatten();
            if let Some(fault) = fault {
                return Ok(fault);
            }
        }
        anyhow::bail!("it is not tried {times} times")
    }

    async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.delivering.await.context("the deliverer")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_reaches_its_endpoint_once_and_signed_with_each_secret() -> anyhow::Result<()> {
    let receiver = Receiver::open(&[]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    telling.until("delivered").await?;
    let received = receiver.received();
    assert_eq!(received.len(), 1, "the deposit is of another type, and nothing comes twice");
    let told = &received[0];
    for secret in &telling.endpoint.secrets {
        assert!(told.is_signed_with(&secret.reveal())?);
    }
    assert!(!told.is_signed_with(&Secret::of_random([3; 32]).reveal())?);
    let event: serde_json::Value = serde_json::from_slice(&told.body)?;
    assert_eq!(event["type"], PAID);
    assert_eq!(told.header("webhook-id"), event["id"].as_str());
    assert_eq!(told.header("content-type"), Some("application/json"));
    assert_eq!(event["data"]["amount"], "40.00");
    assert_guide_takes(told, &telling.endpoint.secrets[0].reveal()).await?;
    telling.end().await
}

/// The receiver of the guide, run on what was sent; and on the same with a byte changed.
async fn assert_guide_takes(told: &Received, secret: &str) -> anyhow::Result<()> {
    let (_, code) = GUIDE.split_once("```python\n").context("an example")?;
    let (code, _) = code.split_once("```").context("the end of the example")?;
    let mut spoilt = told.clone();
    spoilt.body[10] ^= 1;
    for (told, takes) in [(told, "True"), (&spoilt, "False")] {
        let header = |name| told.header(name).context("a header");
        let call = format!(
            "import sys\nprint(verify({secret:?}, {{'webhook-id': {:?}, 'webhook-timestamp': {:?}, \
             'webhook-signature': {:?}}}, sys.stdin.buffer.read(), now=1769860800))\n",
            header("webhook-id")?,
            header("webhook-timestamp")?,
            header("webhook-signature")?
        );
        let mut python = tokio::process::Command::new("python3")
            .args(["-c", &format!("{code}\n{call}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("python3 runs the guide's example")?;
        python.stdin.take().context("its input")?.write_all(&told.body).await?;
        let output = python.wait_with_output().await?;
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), takes);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_fails_is_tried_again_later_and_later_and_as_it_asks() -> anyhow::Result<()> {
    let receiver = Receiver::open(&[
        "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 100\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ])
    .await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    assert!(telling.until_failed(1).await?.contains("500"));
    telling.stage.clock.advance(Duration::from_secs(7));
    assert!(telling.until_failed(2).await?.contains("429"));
    let pause: f64 =
        sqlx::query_scalar("SELECT extract(epoch FROM next_attempt_at - $1)::float8 FROM webhook_deliveries")
            .bind(desk::Clock::now(&telling.stage.clock))
            .fetch_one(telling.stage.database.pool())
            .await?;
    assert!((100.0..=120.0).contains(&pause), "as long as it asks for, and up to a fifth longer: {pause}");
    telling.stage.clock.advance(Duration::from_secs(121));
    assert_eq!(telling.until("delivered").await?.0, 3);
    let ids: Vec<_> =
        receiver.received().iter().map(|told| told.header("webhook-id").map(str::to_owned)).collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "the receiver knows it again: {ids:?}");
    telling.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_is_given_up_after_its_last_attempt_and_can_be_replayed() -> anyhow::Result<()> {
    let away = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let receiver = Receiver::open(&[away, away, away]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    telling.until_failed(1).await?;
    telling.stage.clock.advance(Duration::from_secs(10));
    telling.until_failed(2).await?;
    telling.stage.clock.advance(Duration::from_secs(40));
    let (attempts, fault) = telling.until("dead").await?;
    assert_eq!(attempts, 3);
    assert!(fault.is_some_and(|fault| fault.contains("503")));
    let pool = telling.stage.database.pool();
    assert_eq!(deliveries::dead(pool, client(), 10).await?.len(), 1);
    let waiting = async || deliveries::waiting(pool, &[client()]).await;
    assert_eq!(waiting().await?, Waiting { due: 0, dead: 1 });

    let all = Replay { endpoint: None, event: None, since: None, until: None, delivered_too: false };
    let elsewhere = Replay { endpoint: Some(EndpointId(Uuid::nil())), ..all };
    let now = desk::Clock::now(&telling.stage.clock);
    assert_eq!(deliveries::replay(pool, client(), elsewhere, now).await?, 0);
    assert_eq!(deliveries::replay(pool, client(), all, now).await?, 1);
    assert_eq!(telling.until("delivered").await?.0, 1, "its attempts are counted anew");
    assert_eq!(waiting().await?, Waiting::default());
    assert_eq!(deliveries::replay(pool, client(), all, now).await?, 0, "what has arrived is not made again");
    assert_eq!(deliveries::replay(pool, client(), Replay { delivered_too: true, ..all }, now).await?, 1);
    telling.until("delivered").await?;
    telling.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_has_its_turn_however_many_there_are() -> anyhow::Result<()> {
    let receiver = Receiver::open(&[]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    let mut owner = PgConnection::connect_with(telling.stage.database.owner_options()).await?;
    // More than are called at once, and of those that come last nothing is told earlier.
    let endpoints_in_all = 40;
    for number in 2..=endpoints_in_all {
        let endpoint = Endpoint { id: EndpointId(Uuid::from_u128(number)), ..telling.endpoint.clone() };
        endpoints::insert_endpoint(&mut owner, &endpoint, "2026-01-31T12:00:00Z".parse()?).await?;
    }
    owner.close().await?;
    telling.order("k-1").await?;
    let delivered = async || -> anyhow::Result<i64> {
        let delivered = "SELECT count(*) FROM webhook_deliveries WHERE status = 'delivered'";
        Ok(sqlx::query_scalar(delivered).fetch_one(telling.stage.database.pool()).await?)
    };
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    for _ in 0..2_000 {
        looks.tick().await;
        if delivered().await? == i64::try_from(endpoints_in_all)? {
            return telling.end().await;
        }
    }
    anyhow::bail!("{} of {endpoints_in_all} endpoints were told", delivered().await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_says_it_is_gone_is_called_no_more() -> anyhow::Result<()> {
    let receiver =
        Receiver::open(&["HTTP/1.1 410 Gone\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    telling.until("dead").await?;
    let pool = telling.stage.database.pool();
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    while endpoints::list(pool, client()).await?[0].status != "disabled" {
        looks.tick().await;
    }
    assert!(endpoints::active(pool, 10).await?.is_empty());
    telling.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_not_followed() -> anyhow::Result<()> {
    let elsewhere = Receiver::open(&[]).await?;
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        elsewhere.url()
    );
    let receiver = Receiver::open(&[&answer]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    assert!(telling.until_failed(1).await?.contains("no redirect is followed"));
    assert!(elsewhere.received().is_empty());
    telling.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_on_this_machine_is_not_called_by_address_nor_by_name() -> anyhow::Result<()> {
    let receiver = Receiver::open(&[]).await?;
    let port = receiver.url().rsplit(':').next().context("a port")?.to_owned();
    for (host, why) in [("127.0.0.1", "public Internet"), ("localhost", "not of the public Internet")] {
        let telling = Telling::to(&format!("https://{host}:{port}"), Reach::Public).await?;
        telling.order("k-1").await?;
        let fault = telling.until_failed(1).await?;
        assert!(fault.contains(why), "{fault}");
        telling.end().await?;
    }
    assert!(receiver.received().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_never_answers_and_one_without_end_are_left_in_time() -> anyhow::Result<()> {
    let endless = format!("HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n{}", "x".repeat(100_000));
    let receiver = Receiver::open(&[&endless]).await?;
    let telling = Telling::to(&receiver.url(), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    assert_eq!(telling.until("delivered").await?.0, 1, "its status is what counts");
    telling.end().await?;

    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let telling = Telling::to(&format!("http://{}/", silent.local_addr()?), Reach::Anywhere).await?;
    telling.order("k-1").await?;
    assert!(telling.until_failed(1).await?.contains("no answer within 500 ms"));
    telling.end().await
}
