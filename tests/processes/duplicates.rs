//! Duplicates that arrive at two processes at once.

use std::collections::HashMap;

use futures::stream::{self, StreamExt};
use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, BOB, Caller};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::load::{order_until_answered, post_until_answered};
use crate::program::Program;

/// How many requests are in the air at a time.
const AT_ONCE: usize = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_at_two_processes_on_one_hot_account_have_one_effect_each() -> anyhow::Result<()> {
    const KEYS: usize = 250;
    let (one, other, database) = Program::two().await?;
    let both = [one.demo(), other.demo()];
    // Four copies of each, two at either process, the copies of one key close together.
    let requests = (0..KEYS * 4).map(|copy| (copy / 4, copy % 2));
    let answers: Vec<_> = stream::iter(requests)
        .map(|(key, at)| {
            let callers: Vec<Caller> =
                if at == 0 { both.to_vec() } else { both.iter().rev().cloned().collect() };
            async move { (key, order_until_answered(&callers, &format!("k-{key}")).await) }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let mut ids = HashMap::new();
    for (key, answer) in answers {
        let answer = answer?;
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.bytes));
        let bytes = ids.entry(key).or_insert_with(|| answer.bytes.clone());
        assert_eq!(*bytes, answer.bytes, "one key has two answers");
    }
    assert_eq!(ids.len(), KEYS);
    let books = audit(&database).await;
    assert_eq!((books.orders, books.order_payments), (250, 250));
    let account = one.demo().get(&format!("/v1/accounts/{ALICE}")).await?.json();
    assert_eq!(account["balance"], "9750.00");
    quiet(&[one, other]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_in_both_directions_at_two_processes_never_deadlock() -> anyhow::Result<()> {
    const TRANSFERS: usize = 300;
    let (one, other, database) = Program::two().await?;
    let both = [one.demo(), other.demo()];
    let body = json!({"amount": "5000.00", "currency": "CNY", "reference": "D"});
    let deposit = one.demo().post(&format!("/v1/accounts/{BOB}/deposits"), "deposit", &body).await?;
    assert_eq!(deposit.status, 201);
    let answers: Vec<_> = stream::iter(0..TRANSFERS)
        .map(|number| {
            let (from, to) = if number % 2 == 0 { (ALICE, BOB) } else { (BOB, ALICE) };
            let body = json!({
                "from_account_id": from, "to_account_id": to, "amount": "1.00", "currency": "CNY",
                "reference": format!("T-{number}")
            });
            let callers = [both[number / 2 % 2].clone()];
            async move { post_until_answered(&callers, "/v1/transfers", &format!("t-{number}"), &body).await }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for answer in answers {
        let answer = answer?;
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.bytes));
    }
    for (account, balance) in [(ALICE, "10000.00"), (BOB, "5000.00")] {
        assert_eq!(one.demo().get(&format!("/v1/accounts/{account}")).await?.json()["balance"], balance);
    }
    audit(&database).await;
    let mut observer = PgConnection::connect_with(&database).await?;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let deadlocks: i64 = sqlx::query_scalar(deadlocks).fetch_one(&mut observer).await?;
    assert_eq!(deadlocks, 0);
    quiet(&[one, other]);
    Ok(())
}

/// Nothing went wrong that somebody would have to look into.
#[track_caller]
fn quiet(programs: &[Program]) {
    for program in programs {
        let log = program.log();
        let loud: Vec<_> =
            log.lines().filter(|line| line.contains("\"ERROR\"") || line.contains("deadlock")).collect();
        assert!(loud.is_empty(), "{loud:?}");
    }
}
