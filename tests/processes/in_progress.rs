//! A request that is running in one process, asked for at another.

use std::time::{Duration, Instant};

use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, Caller, Exchange, order_body};
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::program::{DEADLINE, Program, until};

/// Sends the one order of these tests, with `Prefer` if it is given.
async fn order(demo: Caller, prefer: Option<&'static str>) -> anyhow::Result<Exchange> {
    let request = demo.request("POST", "/v1/orders").header("idempotency-key", "k");
    let request =
        request.header("content-type", "application/json").body(order_body(ALICE, "A", "1.00").to_string());
    demo.send(prefer.into_iter().fold(request, |request, prefer| request.header("prefer", prefer))).await
}

/// Whether some server waits for a row.
async fn somebody_waits(observer: &mut PgConnection) -> bool {
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'onefold desk' AND wait_event_type = 'Lock')";
    sqlx::query_scalar(waits).fetch_one(observer).await.expect("who waits")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_in_one_process_is_in_progress_at_the_other_and_is_replayed_there_when_it_commits()
-> anyhow::Result<()> {
    let (one, other, database) = Program::two().await?;
    let (mut holder, mut observer) =
        (PgConnection::connect_with(&database).await?, PgConnection::connect_with(&database).await?);
    // The other process has its lanes connected, so that none of this waits for a connection.
    let warm = other.demo().post("/v1/orders", "warm", &order_body(ALICE, "W", "1.00")).await?;
    assert_eq!(warm.status, 201);

    // The first claims its name and then stands at alice's row.
    let mut held = holder.begin().await?;
    sqlx::query("SELECT FROM accounts WHERE account_id = $1::uuid FOR UPDATE")
        .bind(ALICE)
        .execute(&mut *held)
        .await?;
    let first = tokio::spawn(order(one.demo(), None));
    until("the first waits for the row", async || somebody_waits(&mut observer).await).await;

    let began = Instant::now();
    let told = order(other.demo(), None).await?;
    assert_eq!((told.status, told.slug().as_deref()), (409, Some("idempotency-in-progress")));
    assert!(told.header("retry-after").is_some());
    assert!(began.elapsed() < Duration::from_secs(1), "told after {:?} and not at once", began.elapsed());
    for demo in [one.demo(), other.demo()] {
        let found = demo.get("/v1/idempotency-keys/k").await?;
        assert_eq!((found.status, found.json()["status"].as_str()), (200, Some("in_progress")));
    }
    let waiter = tokio::spawn(order(other.demo(), Some("wait=20")));
    let told = order(other.demo(), Some("wait=1")).await?;
    assert_eq!(told.header("preference-applied"), Some("wait=1"), "so the waiter before it waits, too");
    held.rollback().await?;

    let first = timeout(DEADLINE, first).await???;
    let waited = timeout(DEADLINE, waiter).await???;
    for answer in [&first, &waited] {
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.bytes));
    }
    assert_eq!(first.bytes, waited.bytes);
    assert_eq!(first.header("location"), waited.header("location"));
    assert_eq!(waited.header("preference-applied"), Some("wait=20"));
    assert_eq!(audit(&database).await.orders, 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_ends_without_a_record_lets_one_waiter_run_and_the_others_replay_it()
-> anyhow::Result<()> {
    let (one, other, database) = Program::two().await?;
    let mut elsewhere = PgConnection::connect_with(&database).await?;
    let name = idempotency::Name {
        client_id: server::demo::CLIENT_ID,
        key: idempotency::Key::from_value("k").expect("a key"),
    };
    let mut claimed = elsewhere.begin().await?;
    let lock = idempotency::store::lock_id(&name);
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock).execute(&mut *claimed).await?;
    for demo in [one.demo(), other.demo()] {
        assert_eq!(order(demo.clone(), None).await?.status, 409);
        let found = demo.get("/v1/idempotency-keys/k").await?;
        assert_eq!(found.json()["status"], "in_progress");
    }
    let waiters: Vec<_> = (0..6)
        .map(|number| {
            let demo = if number % 2 == 0 { one.demo() } else { other.demo() };
            tokio::spawn(order(demo, Some("wait=20")))
        })
        .collect();
    let told = order(one.demo(), Some("wait=1")).await?;
    assert_eq!(told.status, 409);
    claimed.rollback().await?;
    let mut ran = 0;
    for waiter in waiters {
        let answer = timeout(DEADLINE, waiter).await???;
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.bytes));
        ran += u32::from(!answer.replayed());
    }
    assert_eq!(ran, 1);
    assert_eq!(audit(&database).await.orders, 1);
    Ok(())
}
