//! A client that goes away in the middle hurts nobody, and its retry learns what happened.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, TestServer, order_body};
use onefold_tests::raw_http;
use rand::{Rng, SeedableRng};
use tokio::io::AsyncWriteExt;

use crate::expect;

/// How many requests are aborted, and how many good ones follow.
const REQUESTS: usize = 1_000;

/// How many are in the air at a time.
const AT_ONCE: usize = 50;

/// Within how long each is aborted.
const ABORTED_WITHIN_US: u64 = 5_000;

fn body_of(number: usize) -> String {
    order_body(ALICE, &format!("o-{number}"), "1.00").to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_aborted_requests_leave_a_thousand_good_ones_and_the_books_alone() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let url = server.url();
    let seed: u64 = rand::rng().random();
    let mut random = rand::rngs::StdRng::seed_from_u64(seed);
    eprintln!("the moments are drawn with the seed {seed}");

    let moments: Vec<_> = (0..REQUESTS).map(|_| random.random_range(0..ABORTED_WITHIN_US)).collect();
    let aborted =
        stream::iter(moments.into_iter().enumerate()).for_each_concurrent(AT_ONCE, |(number, moment_us)| {
            let url = url.clone();
            async move {
                let key = format!("idempotency-key: k-{number}");
                let request = raw_http::post("/v1/orders", &[key.as_bytes()], body_of(number).as_bytes());
                let Ok(mut stream) = raw_http::connect(&url).await else { return };
                // A random moment is the point here; nothing is waited for.
                let _ = tokio::time::timeout(Duration::from_micros(moment_us), async {
                    stream.write_all(&request).await?;
                    raw_http::read_to_end(&mut stream).await
                })
                .await;
                // Unread bytes make the kernel reset the connection rather than close it.
                drop(stream);
            }
        });
    aborted.await;

    let good = stream::iter(REQUESTS..2 * REQUESTS)
        .map(|number| {
            let demo = server.demo.clone();
            async move { demo.post_text("/v1/orders", &format!("k-{number}"), &body_of(number)).await }
        })
        .buffer_unordered(AT_ONCE);
    let good: Vec<_> = good.collect().await;
    for placed in good {
        let placed = placed?;
        assert!(!placed.replayed());
        expect::created(&placed);
    }

    let mut replayed = 0;
    let retries = stream::iter(0..REQUESTS)
        .map(|number| {
            let demo = server.demo.clone();
            async move { demo.post_text("/v1/orders", &format!("k-{number}"), &body_of(number)).await }
        })
        .buffer_unordered(AT_ONCE);
    let retries: Vec<_> = retries.collect().await;
    for retried in retries {
        let retried = retried?;
        expect::created(&retried);
        replayed += usize::from(retried.replayed());
    }
    eprintln!("{replayed} of {REQUESTS} had happened before their clients went away");

    let books = audit(&server.database).await;
    assert_eq!(books.orders, i64::try_from(2 * REQUESTS)?);
    let account = expect::ok(&server.demo.get(&format!("/v1/accounts/{ALICE}")).await?);
    assert_eq!(account["balance"], "8000.00");
    Ok(())
}
