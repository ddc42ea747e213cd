//! A key whose first request is still running, here or elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use desk::{Hooks, Settings, Step};
use idempotency::{Key, Name, store};
use onefold_tests::database::{audit, new_database};
use onefold_tests::http::{ALICE, Caller, Exchange, TestServer, order_body};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::sync::{Barrier, watch};
use tokio::time::timeout;

use crate::expect;

/// How long anything here may take. It never does; a test that has hung shall say so.
const DEADLINE: Duration = Duration::from_secs(30);

/// A lane that stands still before it commits, until it is let go.
struct Paused {
    server: TestServer,
    standing: watch::Receiver<u32>,
    let_go: watch::Sender<bool>,
}

impl Paused {
    async fn start() -> anyhow::Result<Self> {
        let (arrive, standing) = watch::channel(0);
        let (let_go, gate) = watch::channel(false);
        let hooks = Hooks::pausing(move |step| {
            let (arrive, mut gate) = (arrive.clone(), gate.clone());
            async move {
                if step == Step::Decided {
                    arrive.send_modify(|times| *times += 1);
                    // Whoever holds the other end has ended with its test, if it is gone.
                    let _ = gate.wait_for(|open| *open).await;
                }
            }
        });
        let server = TestServer::start_with(new_database().await?, |settings| {
            settings.hooks = hooks;
            settings.desk = Settings {
                lanes: 1,
                idle_in_transaction_timeout: DEADLINE,
                unknown_wait: Duration::from_millis(200),
                reconnect_wait: Duration::from_millis(200),
                ..Settings::default()
            };
        })
        .await?;
        Ok(Self { server, standing, let_go })
    }

    /// Sends an order, and waits until its lane stands still.
    async fn first(&mut self) -> anyhow::Result<tokio::task::JoinHandle<anyhow::Result<Exchange>>> {
        let first = tokio::spawn(order(self.server.demo.clone(), "k", "1.00", None));
        timeout(DEADLINE, self.standing.wait_for(|times| *times > 0)).await??;
        Ok(first)
    }

    fn let_go(&self) {
        self.let_go.send_replace(true);
    }
}

/// Sends an order under this key, with `Prefer` if it is given.
async fn order(
    demo: Caller,
    key: &'static str,
    amount: &'static str,
    prefer: Option<&'static str>,
) -> anyhow::Result<Exchange> {
    let request = demo.request("POST", "/v1/orders").header("idempotency-key", key);
    let request =
        request.header("content-type", "application/json").body(order_body(ALICE, "A", amount).to_string());
    demo.send(match prefer {
        Some(prefer) => request.header("prefer", prefer),
        None => request,
    })
    .await
}

/// The name of a key of the demo client.
fn name(key: &str) -> Name {
    Name { client_id: server::demo::CLIENT_ID, key: Key::from_value(key).expect("a key") }
}

/// Claims a name as a transaction of another process would, which stands still then.
async fn claim<'c>(
    connection: &'c mut PgConnection,
    key: &str,
) -> anyhow::Result<sqlx::Transaction<'c, sqlx::Postgres>> {
    let mut transaction = connection.begin().await?;
    let lock = store::lock_id(&name(key));
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock).execute(&mut *transaction).await?;
    Ok(transaction)
}

#[tokio::test]
async fn a_duplicate_is_told_at_once_that_the_first_is_running_and_when_to_ask_again() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    let told =
        timeout(Duration::from_secs(5), order(paused.server.demo.clone(), "k", "1.00", None)).await??;
    expect::problem(&told, 409, "idempotency-in-progress");
    assert!(
        told.header("retry-after").and_then(|wait| wait.parse::<u32>().ok()).is_some_and(|wait| wait > 0)
    );
    assert!(told.header("preference-applied").is_none() && !told.replayed());
    paused.let_go();
    let first = first.await??;
    let again = order(paused.server.demo.clone(), "k", "1.00", None).await?;
    assert!(again.replayed());
    expect::same(&first, &again);
    assert_eq!(audit(&paused.server.database).await.orders, 1);
    Ok(())
}

#[tokio::test]
async fn another_request_under_a_running_key_is_a_reuse() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    for prefer in [None, Some("wait=5")] {
        let refused = order(paused.server.demo.clone(), "k", "2.00", prefer).await?;
        expect::problem(&refused, 422, "idempotency-key-reused");
    }
    paused.let_go();
    expect::created(&first.await??);
    Ok(())
}

#[tokio::test]
async fn with_prefer_wait_a_duplicate_waits_for_the_first_and_replays_it() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    let waiting: Vec<_> = ["wait=20", "respond-async, wait=20", "WAIT=20", "wait=90"]
        .into_iter()
        .map(|prefer| tokio::spawn(order(paused.server.demo.clone(), "k", "1.00", Some(prefer))))
        .collect();
    // One that came after them has waited a second in vain, so they have been heard.
    let told = order(paused.server.demo.clone(), "k", "1.00", Some("wait=1")).await?;
    expect::problem(&told, 409, "idempotency-in-progress");
    paused.let_go();
    let first = first.await??;
    expect::created(&first);
    assert!(first.header("preference-applied").is_none());
    for (waiter, applied) in waiting.into_iter().zip(["wait=20", "wait=20", "wait=20", "wait=30"]) {
        let again = timeout(DEADLINE, waiter).await???;
        assert!(again.replayed());
        expect::same(&first, &again);
        assert_eq!(again.header("preference-applied"), Some(applied));
    }
    Ok(())
}

#[tokio::test]
async fn when_the_wait_is_over_the_duplicate_is_told_that_the_first_is_running() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    let began = Instant::now();
    let told = order(paused.server.demo.clone(), "k", "1.00", Some("wait=1")).await?;
    assert!(began.elapsed() >= Duration::from_secs(1), "it has not waited");
    expect::problem(&told, 409, "idempotency-in-progress");
    assert_eq!(told.header("preference-applied"), Some("wait=1"));
    assert!(told.header("retry-after").is_some());
    paused.let_go();
    expect::created(&first.await??);
    Ok(())
}

#[tokio::test]
async fn a_wish_to_wait_that_cannot_be_read_is_no_error() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    for prefer in ["wait", "wait=", "wait=-1", "wait=x", "wait=1.5", "wait=0", "return=minimal", ""] {
        let told =
            timeout(Duration::from_secs(5), order(paused.server.demo.clone(), "k", "1.00", Some(prefer)))
                .await??;
        expect::problem(&told, 409, "idempotency-in-progress");
        assert!(told.header("preference-applied").is_none(), "{prefer}");
    }
    paused.let_go();
    expect::created(&first.await??);
    Ok(())
}

#[tokio::test]
async fn if_the_first_vanishes_without_a_record_the_waiter_runs() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let first = paused.first().await?;
    let waiter = tokio::spawn(order(paused.server.demo.clone(), "k", "1.00", Some("wait=20")));
    let told = order(paused.server.demo.clone(), "k", "1.00", Some("wait=1")).await?;
    expect::problem(&told, 409, "idempotency-in-progress");
    // Its connection is lost, and a new one cannot be had: the first is told so, and nothing has happened.
    let mut owner = PgConnection::connect_with(&paused.server.database).await?;
    let connections = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'onefold desk'";
    let ended: i64 = sqlx::query_scalar(connections).fetch_one(&mut owner).await?;
    assert_eq!(ended, 1);
    paused.let_go();
    let answers = [first.await??, waiter.await??];
    for answer in &answers {
        // The desk may as well have run the first again itself, on a new connection.
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
    }
    assert!(answers[1].status == 201, "the waiter has run, or replayed: {answers:?}");
    assert_eq!(audit(&paused.server.database).await.orders, 1);
    Ok(())
}

#[tokio::test]
async fn a_running_key_can_be_looked_up_here_and_at_another_server() -> anyhow::Result<()> {
    let mut paused = Paused::start().await?;
    let other = TestServer::start_with(paused.server.database.clone(), |_| {}).await?;
    let first = paused.first().await?;
    for (demo, is_here) in [(&paused.server.demo, true), (&other.demo, false)] {
        let found = expect::ok(&demo.get("/v1/idempotency-keys/k").await?);
        assert_eq!((&found["key"], &found["status"]), (&json!("k"), &json!("in_progress")));
        for name in ["resource", "completed_at", "expires_at", "response"] {
            assert_eq!(found[name], Value::Null, "{name}");
        }
        // What another process was asked, only that process knows.
        assert_eq!(found["operation"] == "POST /v1/orders", is_here);
        assert_eq!(found["first_seen_at"].is_string(), is_here);
    }
    let told = order(other.demo.clone(), "k", "1.00", None).await?;
    expect::problem(&told, 409, "idempotency-in-progress");
    // What the first was asked is not known here, so another request is told the same until it has finished.
    let told = order(other.demo.clone(), "k", "2.00", None).await?;
    expect::problem(&told, 409, "idempotency-in-progress");
    let waiter = tokio::spawn(order(other.demo.clone(), "k", "1.00", Some("wait=20")));
    paused.let_go();
    let first = first.await??;
    let replayed = timeout(DEADLINE, waiter).await???;
    assert!(replayed.replayed());
    expect::same(&first, &replayed);
    expect::problem(&order(other.demo.clone(), "k", "2.00", None).await?, 422, "idempotency-key-reused");
    for demo in [&paused.server.demo, &other.demo] {
        let found = expect::ok(&demo.get("/v1/idempotency-keys/k").await?);
        assert_eq!(found["status"], "completed");
    }
    Ok(())
}

#[tokio::test]
async fn a_waiter_runs_when_another_process_gives_up_its_claim_without_a_record() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let mut elsewhere = PgConnection::connect_with(&server.database).await?;
    let claimed = claim(&mut elsewhere, "k").await?;
    let told = order(server.demo.clone(), "k", "1.00", None).await?;
    expect::problem(&told, 409, "idempotency-in-progress");
    let found = expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
    assert_eq!(found["status"], "in_progress");
    let waiter = tokio::spawn(order(server.demo.clone(), "k", "1.00", Some("wait=20")));
    // The look-up is answered after the waiter was heard, or before; the outcome is the same.
    expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
    claimed.rollback().await?;
    let ran = timeout(DEADLINE, waiter).await???;
    expect::created(&ran);
    assert!(!ran.replayed());
    Ok(())
}

#[tokio::test]
async fn another_key_is_not_held_up_by_one_that_is_claimed_elsewhere() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let mut elsewhere = PgConnection::connect_with(&server.database).await?;
    let claimed = claim(&mut elsewhere, "k").await?;
    let another = order_body(ALICE, "L", "1.00");
    let (held_up, free) = tokio::join!(
        order(server.demo.clone(), "k", "1.00", None),
        server.demo.post("/v1/orders", "l", &another)
    );
    expect::problem(&held_up?, 409, "idempotency-in-progress");
    expect::created(&free?);
    claimed.rollback().await?;
    expect::created(&order(server.demo.clone(), "k", "1.00", None).await?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_at_once_are_one_order_and_all_others_replay_it_or_are_told_to_wait() -> anyhow::Result<()>
{
    let server = TestServer::start().await?;
    for (key, prefer) in [("told", None), ("waiting", Some("wait=20"))] {
        let barrier = Arc::new(Barrier::new(100));
        let asking = (0..100).map(|_| {
            let (demo, barrier) = (server.demo.clone(), barrier.clone());
            tokio::spawn(async move {
                let request = demo.request("POST", "/v1/orders").header("idempotency-key", key);
                let body = order_body(ALICE, key, "7.00").to_string();
                let request = request.header("content-type", "application/json").body(body);
                let request =
                    prefer.into_iter().fold(request, |request, prefer| request.header("prefer", prefer));
                barrier.wait().await;
                demo.send(request).await
            })
        });
        let (mut ran, mut answers) = (0, Vec::new());
        for answer in futures::future::join_all(asking).await {
            let answer = answer??;
            if answer.status != 201 {
                expect::problem(&answer, 409, "idempotency-in-progress");
                assert!(prefer.is_none(), "it would rather have waited");
                continue;
            }
            ran += u32::from(!answer.replayed());
            answers.push(answer);
        }
        assert_eq!(ran, 1, "{key}");
        for answer in &answers {
            expect::same(&answers[0], answer);
        }
    }
    let account = expect::ok(&server.demo.get(&format!("/v1/accounts/{ALICE}")).await?);
    assert_eq!(account["balance"], "9986.00");
    assert_eq!(audit(&server.database).await.orders, 2);
    Ok(())
}
