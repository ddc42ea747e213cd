//! A PostgreSQL that is restarted under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, Caller, Exchange, order_body};
use onefold_tests::own_cluster::OwnCluster;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::program::{DEADLINE, Program, until};

/// How many clients send orders, one after the other.
const CLIENTS: usize = 16;

/// How many orders each places.
const ORDERS_EACH: usize = 25;

/// After how many orders in all the database is restarted.
const RESTARTED_AFTER: usize = 100;

/// Places an order, asking again under the same key while the answer is one that the contract allows for a database that
/// is away.
async fn order_through(demo: &Caller, key: &str, refusals: &AtomicUsize) -> anyhow::Result<Exchange> {
    let began = Instant::now();
    loop {
        let answer = demo.post("/v1/orders", key, &order_body(ALICE, key, "1.00")).await?;
        let slug = answer.slug();
        match (answer.status, slug.as_deref()) {
            (201, _) => return Ok(answer),
            // The first attempt under the key may still be trying to learn what became of its commit.
            (409, Some("idempotency-in-progress")) => {}
            (503, Some("unavailable" | "outcome-unknown" | "overloaded" | "balance-contended")) => {
                ensure!(answer.header("retry-after").is_some(), "a 503 without Retry-After");
                refusals.fetch_add(1, Ordering::Relaxed);
            }
            _ => anyhow::bail!("{} {}", answer.status, String::from_utf8_lossy(&answer.bytes)),
        }
        ensure!(began.elapsed() < DEADLINE, "{key} has no answer that stays");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_database_is_answered_with_503s_and_then_by_success() -> anyhow::Result<()> {
    let cluster = OwnCluster::start(&[]).await?;
    let database = cluster.new_bare_database("onefold").await?;
    let program = Program::start(&cluster.url("onefold")).await?;
    let (placed, refusals) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let enough = Arc::new(Notify::new());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (demo, placed, refusals, enough) =
                (program.demo(), placed.clone(), refusals.clone(), enough.clone());
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for number in 0..ORDERS_EACH {
                    let key = format!("k-{client}-{number}");
                    answers.push((key.clone(), order_through(&demo, &key, &refusals).await?));
                    if placed.fetch_add(1, Ordering::Relaxed) + 1 == RESTARTED_AFTER {
                        enough.notify_one();
                    }
                }
                anyhow::Ok(answers)
            })
        })
        .collect();
    enough.notified().await;
    let cluster = cluster.restart().await?;
    let mut answers = Vec::new();
    for client in clients {
        answers.extend(client.await??);
    }
    eprintln!("{} requests were told to come again", refusals.load(Ordering::Relaxed));

    let demo = program.demo();
    until("the server is ready by itself", async || {
        demo.get("/readyz").await.is_ok_and(|ready| ready.status == 200)
    })
    .await;
    for (key, answer) in &answers {
        let again = demo.post("/v1/orders", key, &order_body(ALICE, key, "1.00")).await?;
        assert!(again.replayed(), "{key}");
        assert_eq!((again.status, &again.bytes), (answer.status, &answer.bytes), "{key}");
    }
    let books = audit(&database).await;
    assert_eq!(books.orders, i64::try_from(CLIENTS * ORDERS_EACH)?);
    assert_eq!(demo.get(&format!("/v1/accounts/{ALICE}")).await?.json()["balance"], "9600.00");
    program.kill().await?;
    cluster.stop().await
}
