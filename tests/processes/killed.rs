//! A process that is killed under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{self, StreamExt};
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, order_body};
use tokio::sync::Notify;

use crate::load::{is_passing, order_until_answered};
use crate::program::{Program, url_of};

/// How many orders are sent.
const ORDERS: usize = 300;

/// After how many answers the process is killed.
const KILLED_AFTER: usize = 80;

/// How many requests are in the air at a time.
const AT_ONCE: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_has_answered_stays_and_the_rest_happens_once_at_another() -> anyhow::Result<()>
{
    let (doomed, other, database) = Program::two().await?;
    let (demo, survivor) = (doomed.demo(), other.demo());
    let answered = Arc::new(AtomicUsize::new(0));
    let enough = Arc::new(Notify::new());

    let load = tokio::spawn({
        let (answered, enough) = (answered.clone(), enough.clone());
        async move {
            stream::iter(0..ORDERS)
                .map(|number| {
                    let (demo, answered, enough) = (demo.clone(), answered.clone(), enough.clone());
                    async move {
                        let key = format!("k-{number}");
                        let answer = demo.post("/v1/orders", &key, &order_body(ALICE, &key, "1.00")).await;
                        if answered.fetch_add(1, Ordering::Relaxed) + 1 == KILLED_AFTER {
                            enough.notify_one();
                        }
                        (key, answer)
                    }
                })
                .buffer_unordered(AT_ONCE)
                .collect::<Vec<_>>()
                .await
        }
    });
    enough.notified().await;
    doomed.kill().await?;
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    for (key, answer) in load.await? {
        match answer {
            Ok(answer) if !is_passing(&answer) => kept.push((key, answer)),
            _ => lost.push(key),
        }
    }
    assert!(kept.len() >= KILLED_AFTER && !lost.is_empty(), "{} kept, {} lost", kept.len(), lost.len());

    let retries = stream::iter(lost).map(|key| {
        let survivor = [survivor.clone()];
        async move { order_until_answered(&survivor, &key).await.map(|answer| (key, answer)) }
    });
    let retries: Vec<_> = retries.buffer_unordered(AT_ONCE).collect().await;
    for retried in retries {
        let (key, answer) = retried?;
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.bytes));
        kept.push((key, answer));
    }
    let books = audit(&database).await;
    assert_eq!(books.orders, i64::try_from(ORDERS)?);
    assert_eq!(survivor.get(&format!("/v1/accounts/{ALICE}")).await?.json()["balance"], "9700.00");

    // The one that died comes back and says what it said.
    let back = Program::start(&url_of(&database).await?).await?;
    let demo = back.demo();
    let asking = stream::iter(&kept).map(|(key, answer)| {
        let demo = demo.clone();
        async move { (key, answer, demo.post("/v1/orders", key, &order_body(ALICE, key, "1.00")).await) }
    });
    let again: Vec<_> = asking.buffer_unordered(AT_ONCE).collect().await;
    for (key, answer, again) in again {
        let again = again?;
        assert!(again.replayed(), "{key}");
        assert_eq!((again.status, &again.bytes), (answer.status, &answer.bytes), "{key}");
        for header in ["content-type", "location"] {
            assert_eq!(again.header(header), answer.header(header), "{key}");
        }
    }
    assert_eq!(audit(&database).await, books);
    Ok(())
}
