//! One name, asked for again and again: at once, in turn, changed, late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use account::AccountId;
use chrono::{DateTime, Utc};
use client::ClientId;
use desk::schema::Database;
use desk::{Answered, Clock, Command, Desk, Hooks, LookedUp, Request, Settings, Step, housekeeping};
use idempotency::{FailedPolicy, Name, RecordStatus, store};
use onefold_tests::clock::ManualClock;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{
    account_with, body, client, cny, currency, deposit, name, open, open_at, order, order_numbered, request,
    status,
};
use order::PaymentTerms;
use sqlx::{Connection, PgConnection};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::gate::Gate;
use crate::observe::{
    DEADLINE, answer, connection, connections_of, drain, one_lane, register_client, soon, until,
};

/// Asks for one request from `tasks` tasks at once, spread over the desks.
async fn ask_at_once(desks: &[Desk], tasks: usize, asks: &Request, wait: Option<Duration>) -> Vec<Answered> {
    let barrier = Arc::new(Barrier::new(tasks));
    let mut asking = JoinSet::new();
    for task in 0..tasks {
        let (desk, barrier, asks) = (desks[task % desks.len()].clone(), barrier.clone(), asks.clone());
        asking.spawn(async move {
            barrier.wait().await;
            desk.submit(asks, wait).await.answered
        });
    }
    soon("all tasks", asking.join_all()).await
}

/// One ran, the others were told its answer, byte for byte, or that it runs. Answers how many were told which.
fn one_ran(answers: &[Answered]) -> (usize, usize) {
    let ran: Vec<_> = answers.iter().filter(|answered| matches!(answered, Answered::Ran(_))).collect();
    assert_eq!(ran.len(), 1, "one request runs");
    let first = answer(ran[0]);
    assert_eq!(first.status, 201);
    let (mut replayed, mut in_progress) = (0, 0);
    for answered in answers {
        match answered {
            Answered::Ran(_) => {}
            Answered::Replayed(answer) => {
                assert_eq!(answer, first, "a replay is the first answer, byte for byte");
                replayed += 1;
            }
            Answered::InProgress => in_progress += 1,
            other => panic!("a duplicate is never told {other:?}"),
        }
    }
    (replayed, in_progress)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_requests_at_once_under_one_key_make_one_order() {
    let database = new_service_database().await.expect("a database");
    let first = open(&database, Settings::default(), Hooks::default());
    let second = open(&database, Settings::default(), Hooks::default());
    let mut orders = 0;
    for (round, desks) in [vec![first.clone()], vec![first.clone(), second.clone()]].iter().enumerate() {
        for wait in [None, Some(DEADLINE)] {
            // Money for one: whoever decided anew would be told that there is none.
            let account = account_with(&first, "100.00").await.expect("an account");
            let asks = order(&format!("k-{round}-{}", wait.is_some()), account, "100.00");
            let answers = ask_at_once(desks, 100, &asks, wait).await;
            orders += 1;
            let (replayed, in_progress) = one_ran(&answers);
            assert_eq!(replayed + in_progress, 99);
            if wait.is_some() {
                assert_eq!(in_progress, 0, "whoever waits gets the answer");
            }
            assert_eq!(audit(database.owner_options()).await.orders, orders);
        }
    }
}

#[tokio::test]
async fn the_fifth_call_gets_the_bytes_of_the_first() {
    let database = new_service_database().await.expect("a database");
    let desks = [0; 2].map(|_| open(&database, one_lane(), Hooks::default()));
    let account = account_with(&desks[0], "100.00").await.expect("an account");

    // A success and a refusal; the second call of each meets the other desk.
    for (key, amount, expected) in [("paid", "100.00", 201), ("refused", "0.01", 402)] {
        let mut answers = Vec::new();
        for call in 0..5 {
            // A retry has a request id of its own, and is answered with the first one's.
            let asks = Request { request_id: format!("{key}-{call}"), ..order(key, account, amount) };
            answers.push(desks[call % 2].submit(asks, None).await.answered);
        }
        assert!(
            matches!(&answers[0], Answered::Ran(answer) if answer.status == expected),
            "{:?}",
            answers[0]
        );
        for answered in &answers[1..] {
            assert_eq!(*answered, Answered::Replayed(answer(&answers[0]).clone()));
        }
    }
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.order_payments), (1, 1));
}

#[tokio::test]
async fn a_changed_request_under_the_key_is_a_reuse_while_the_first_runs_and_after() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Step::Saved);
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "100.00").await.expect("an account");
    let desk = open(&database, one_lane(), gate.hooks());

    let running = tokio::spawn({
        let (desk, asks) = (desk.clone(), order("k", account, "60.00"));
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;
    let changed = || order("k", account, "60.01");
    for wait in [None, Some(DEADLINE)] {
        let reply = soon("the changed request", desk.submit(changed(), wait)).await;
        assert_eq!(reply.answered, Answered::Reused, "the first runs");
    }
    gate.open();
    assert_eq!(status(&soon("the first", running).await.expect("it lives")), Some(201));
    for desk in [&desk, &preparing] {
        assert_eq!(desk.submit(changed(), None).await.answered, Answered::Reused, "the first has finished");
    }
    assert_eq!(audit(database.owner_options()).await.orders, 1);
}

#[tokio::test]
async fn a_key_is_a_clients_own() {
    let database = new_service_database().await.expect("a database");
    let desk = open(&database, one_lane(), Hooks::default());
    let other_client = ClientId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00c2));
    let of_other = |asks: Request| Request {
        name: Name { client_id: other_client, key: asks.name.key.clone() },
        ..asks
    };
    let opening =
        || request("1", Command::OpenAccount { owner: "alice".to_owned(), currency: currency("CNY") });

    let ours = desk.submit(opening(), None).await.answered;
    let theirs = desk.submit(of_other(opening()), None).await.answered;
    assert!(matches!((&ours, &theirs), (Answered::Ran(_), Answered::Ran(_))), "{ours:?} {theirs:?}");
    let id = |answered: &Answered| body(answered).expect("an account")["id"].clone();
    assert_ne!(id(&ours), id(&theirs));
    assert_eq!(
        desk.submit(of_other(opening()), None).await.answered,
        Answered::Replayed(answer(&theirs).clone())
    );

    // Nor is there a way to the other's account under a key that the other has used.
    let account = AccountId(id(&ours).as_str().expect("an id").parse().expect("an id"));
    assert_eq!(status(&desk.submit(deposit("2", account, "5.00"), None).await.answered), Some(201));
    let reached = desk.submit(of_other(deposit("2", account, "5.00")), None).await.answered;
    assert!(matches!(&reached, Answered::Ran(answer) if answer.status == 404), "{reached:?}");
    audit(database.owner_options()).await;
}

#[tokio::test]
async fn two_hundred_waiting_duplicates_hold_no_connection() {
    const WAITING: usize = 200;
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Step::Saved);
    let first = open(&database, one_lane(), gate.hooks());
    let elsewhere_database = Database::connect(database.owner_options().clone(), 8).await.expect("a pool");
    let elsewhere = open(&elsewhere_database, one_lane(), Hooks::default());
    let account = account_with(&elsewhere, "101.00").await.expect("an account");
    // The client's very first order brings its revenue account, which others wait for until it is committed.
    let very_first = elsewhere.submit(order("very-first", account, "1.00"), None).await;
    assert_eq!(status(&very_first.answered), Some(201));
    let asks = order("k", account, "100.00");
    let running = tokio::spawn({
        let (desk, asks) = (first.clone(), asks.clone());
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;

    let asked = Arc::new(AtomicUsize::new(0));
    let mut waiting = JoinSet::new();
    for task in 0..WAITING {
        let desk = if task % 2 == 0 { first.clone() } else { elsewhere.clone() };
        let (asks, asked) = (asks.clone(), asked.clone());
        waiting.spawn(async move {
            asked.fetch_add(1, Ordering::SeqCst);
            desk.submit(asks, Some(DEADLINE)).await
        });
    }
    until("everybody has asked", async || asked.load(Ordering::SeqCst) == WAITING).await;
    let mut observer = connection(database.owner_options()).await;
    let asked_at: DateTime<Utc> =
        sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut observer).await.expect("a time");
    until("the poller has asked since", async || polled_since(&mut observer, asked_at).await).await;

    assert!(waiting.try_join_next().is_none(), "nobody is answered while the first runs");
    assert_eq!(connections_of(&mut observer, "onefold desk").await, 2, "one for each lane");
    assert_eq!(connections_of(&mut observer, "onefold reads").await, 1, "one for the poller");

    // Nor do they keep others from theirs.
    let other = account_with(&elsewhere, "1.00").await.expect("an account");
    let served = soon("another order", elsewhere.submit(order("other", other, "1.00"), None)).await;
    assert_eq!(status(&served.answered), Some(201));

    gate.open();
    let first_answer = soon("the first", running).await.expect("it lives");
    for reply in soon("those who wait", waiting.join_all()).await {
        assert_eq!(reply.answered, Answered::Replayed(answer(&first_answer).clone()));
        assert!(reply.waited);
    }
    assert_eq!(audit(database.owner_options()).await.orders, 3);
}

async fn polled_since(observer: &mut PgConnection, since: DateTime<Utc>) -> bool {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'onefold reads'
                          AND query_start > $1)",
    )
    .bind(since)
    .fetch_one(observer)
    .await
    .expect("when the poller asked")
}

async fn record(desk: &Desk, key: &str) -> idempotency::Record {
    match desk.look_up(&name(key)).await.expect("the database answers") {
        LookedUp::Finished(record) => *record,
        other => panic!("{key} has a record, not {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_that_may_be_retried_counts_its_attempts_and_ends_completed() {
    let database = new_service_database().await.expect("a database");
    let settings = Settings { failed: FailedPolicy::Retry, ..one_lane() };
    let desks = [0; 2].map(|_| open(&database, settings.clone(), Hooks::default()));
    let account = account_with(&desks[0], "99.00").await.expect("an account");
    let asks = order("k", account, "100.00");

    let mut first_seen_at = None;
    for attempt in 1..=3 {
        let answered = desks[attempt % 2].submit(asks.clone(), None).await.answered;
        assert!(matches!(&answered, Answered::Ran(answer) if answer.status == 402), "{answered:?}");
        let record = record(&desks[0], "k").await;
        assert_eq!((record.status, usize::try_from(record.attempts)), (RecordStatus::Failed, Ok(attempt)));
        assert_eq!(*first_seen_at.get_or_insert(record.first_seen_at), record.first_seen_at);
    }
    assert_eq!(
        desks[0].submit(order("k", account, "1.00"), None).await.answered,
        Answered::Reused,
        "a refused key is still that request's"
    );

    assert_eq!(status(&desks[0].submit(deposit("d", account, "1.00"), None).await.answered), Some(201));
    one_ran(&ask_at_once(&desks, 40, &asks, None).await);
    let completed = record(&desks[0], "k").await;
    assert_eq!((completed.status, completed.attempts), (RecordStatus::Completed, 4));
    assert_eq!(Some(completed.first_seen_at), first_seen_at);
    for desk in &desks {
        let again = desk.submit(asks.clone(), None).await.answered;
        assert_eq!(again, Answered::Replayed(completed.answer.clone()));
    }
    let books = audit(database.owner_options()).await;
    assert_eq!(books.orders, 1);
}

#[tokio::test]
async fn a_key_is_forgotten_when_its_record_is_deleted_and_the_order_number_still_stops_it() {
    let database = new_service_database().await.expect("a database");
    register_client(&database).await;
    let clock = ManualClock::at_present();
    let settings = one_lane();
    let retention = settings.retention;
    let desk = open_at(&database, settings, Hooks::default(), Arc::new(clock.clone()));
    let account = account_with(&desk, "100.00").await.expect("an account");
    let asks = order_numbered("k", account, "40.00", "number-1");
    let first = desk.submit(asks.clone(), None).await.answered;
    assert_eq!(status(&first), Some(201));

    clock.advance(retention - Duration::from_secs(1));
    let round = housekeeping::once(&database, &clock).await.expect("a round");
    assert_eq!(round.records_deleted, 0, "a record is kept for its retention");
    clock.advance(Duration::from_secs(2));
    let replayed = desk.submit(asks.clone(), None).await.answered;
    assert_eq!(
        replayed,
        Answered::Replayed(answer(&first).clone()),
        "an expired record that is there counts"
    );

    let round = housekeeping::once(&database, &clock).await.expect("a round");
    assert_eq!(round.records_deleted, 3, "the account's, the deposit's and the order's");
    assert_eq!(desk.look_up(&name("k")).await.expect("the database answers"), LookedUp::Unknown);
    let late = desk.submit(asks.clone(), None).await.answered;
    assert!(matches!(&late, Answered::Ran(answer) if answer.status == 409), "{late:?}");
    let problem = body(&late).expect("a problem");
    assert_eq!(problem["type"], "/problems/duplicate-order-no");
    assert_eq!(problem["existing_id"], body(&first).expect("an order")["id"]);
    assert_eq!(desk.submit(asks, None).await.answered, Answered::Replayed(answer(&late).clone()));

    // The same of a movement and its reference, whose record has been forgotten too.
    let mut again = deposit("late-deposit", account, "60.00");
    if let Command::Move { reference, .. } = &mut again.command {
        *reference = first_deposit_reference(&database).await;
    }
    let late = desk.submit(again, None).await.answered;
    assert_eq!(body(&late).expect("a problem")["type"], "/problems/duplicate-reference");
    assert_eq!(audit(database.owner_options()).await.order_payments, 1);
}

async fn first_deposit_reference(database: &Database) -> String {
    sqlx::query_scalar("SELECT reference FROM movements WHERE kind = 'deposit' ORDER BY created_at LIMIT 1")
        .fetch_one(database.pool())
        .await
        .expect("a deposit")
}

/// Adds records of [`client`] that expire at a time, in one statement.
async fn add_records(database: &Database, prefix: &str, count: i32, expires_at: DateTime<Utc>) {
    sqlx::query(
        "INSERT INTO idempotency_records
         SELECT $1, $2 || n, 'POST /v1/tests', decode(repeat('00', 32), 'hex'), 1, 'failed', 1, NULL,
                404, 'application/json', NULL, '{}', $4, $4, $4
         FROM generate_series(1, $3) n",
    )
    .bind(client())
    .bind(prefix)
    .bind(count)
    .bind(expires_at)
    .execute(&mut connection(database.owner_options()).await)
    .await
    .expect("records");
}

/// The year 2100, when everything has expired.
fn far_future() -> DateTime<Utc> {
    DateTime::from_timestamp(4_102_444_800, 0).expect("a time")
}

async fn records_of(database: &Database, prefix: &str) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM idempotency_records WHERE starts_with(key, $1)")
        .bind(prefix)
        .fetch_one(database.pool())
        .await
        .expect("a count")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleaners_work_beside_each_other_and_beside_orders_and_lose_nothing() {
    let database = new_service_database().await.expect("a database");
    register_client(&database).await;
    let clock = ManualClock::at_present();
    let desk = open(&database, Settings::default(), Hooks::default());
    let account = account_with(&desk, "300.00").await.expect("an account");
    add_records(&database, "old-", 5_000, clock.now()).await;
    add_records(&database, "young-", 1_000, clock.now() + Duration::from_millis(1)).await;

    let orders = async {
        let mut answers = Vec::new();
        for number in 0..300 {
            answers.push(desk.submit(order(&format!("o-{number}"), account, "1.00"), None).await.answered);
        }
        answers
    };
    let (one, other, answers) = soon("all of them", async {
        tokio::join!(housekeeping::once(&database, &clock), housekeeping::once(&database, &clock), orders)
    })
    .await;
    let deleted = one.expect("a round").records_deleted + other.expect("a round").records_deleted;
    assert_eq!(deleted, 5_000, "each expired record is deleted once");
    assert_eq!((records_of(&database, "old-").await, records_of(&database, "young-").await), (0, 1_000));
    assert!(answers.iter().all(|answered| matches!(answered, Answered::Ran(answer) if answer.status == 201)));
    assert_eq!(audit(database.owner_options()).await.orders, 300);
}

#[tokio::test]
async fn a_cleaner_deletes_no_more_than_its_batch_and_blocks_nobody_meanwhile() {
    let database = new_service_database().await.expect("a database");
    register_client(&database).await;
    let desk = open(&database, one_lane(), Hooks::default());
    let account = account_with(&desk, "100.00").await.expect("an account");
    let asks = order("k", account, "1.00");
    let first = desk.submit(asks.clone(), None).await.answered;
    let now = desk::SystemClock.now();
    add_records(&database, "old-", 2_000, now).await;

    // The plan that PostgreSQL makes when it believes that the table is all but empty, as it is after a clean-up.
    let planned_for_few = ["hashjoin", "mergejoin", "material", "hashagg", "sort"]
        .map(|method| (format!("enable_{method}"), "off"));
    let options = database.service_options().clone().options(planned_for_few);
    let mut slow = PgConnection::connect_with(&options).await.expect("a connection");
    let mut transaction = slow.begin().await.expect("a transaction");
    let deleted = store::delete_expired(&mut *transaction, client(), now, 500).await;
    assert_eq!(
        deleted.expect("a batch"),
        500,
        "a batch has its bound, whatever the planner knows of the table"
    );
    let deleted =
        store::delete_expired(&mut *transaction, client(), far_future(), 2_000).await.expect("a batch");
    assert_eq!(deleted, 1_503, "the other old ones, the account's, the deposit's and that of k");

    let second = store::delete_expired(database.pool(), client(), far_future(), 500);
    assert_eq!(
        soon("the second cleaner", second).await.expect("a batch"),
        0,
        "it passes over the first's rows"
    );
    let replayed = soon("a replay", desk.submit(asks, None)).await.answered;
    assert_eq!(replayed, Answered::Replayed(answer(&first).clone()), "what is not deleted yet counts");
    let paid = soon("an order", desk.submit(order("k2", account, "1.00"), None)).await.answered;
    assert_eq!(status(&paid), Some(201));
    transaction.rollback().await.expect("a rollback");
    assert_eq!(records_of(&database, "old-").await, 2_000);
    audit(database.owner_options()).await;
}

#[tokio::test]
async fn a_record_deleted_while_its_refusal_is_tried_again_is_begun_anew() {
    let database = new_service_database().await.expect("a database");
    let settings = Settings { failed: FailedPolicy::Retry, ..one_lane() };
    let preparing = open(&database, settings.clone(), Hooks::default());
    let account = account_with(&preparing, "1.00").await.expect("an account");
    let asks = request(
        "k",
        Command::PlaceOrder {
            account_id: account,
            client_order_no: "n".to_owned(),
            amount: cny("2.00"),
            items: Vec::new(),
            payment: PaymentTerms::Balance,
        },
    );
    assert_eq!(status(&preparing.submit(asks.clone(), None).await.answered), Some(402));

    let gate = Gate::after(Step::Decided);
    let desk = open(&database, settings, gate.hooks());
    let again = tokio::spawn({
        let desk = desk.clone();
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;
    let deleted = store::delete_expired(database.pool(), client(), far_future(), 500).await.expect("a batch");
    assert_eq!(deleted, 3, "the account's, the deposit's and the refusal's");
    gate.open();
    assert_eq!(status(&soon("the second try", again).await.expect("it lives")), Some(402));
    assert_eq!(gate.tries(), 2);
    assert_eq!(record(&desk, "k").await.attempts, 1, "the first attempt is forgotten");
    drain(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_of_a_finished_request_at_once_are_all_replayed_whatever_else_comes_under_its_key()
-> anyhow::Result<()> {
    let database = new_service_database().await?;
    // Nothing is remembered, so that every repeat goes to the database for its record.
    let settings = Settings { remembered_bytes: 0, ..Settings::default() };
    let desk = open(&database, settings, Hooks::default());
    let account = account_with(&desk, "100.00").await?;
    let first = order("finished", account, "10.00");
    let ran = desk.submit(first.clone(), None).await.answered;
    let changed = order("finished", account, "11.00");

    let barrier = Arc::new(Barrier::new(200));
    let mut asking = JoinSet::new();
    for task in 0..200 {
        let same = task % 2 == 0;
        let asks = if same { first.clone() } else { changed.clone() };
        let (desk, barrier) = (desk.clone(), barrier.clone());
        asking.spawn(async move {
            barrier.wait().await;
            (same, desk.submit(asks, None).await.answered)
        });
    }
    for (same, answered) in soon("all repeats", asking.join_all()).await {
        if same {
            assert_eq!(answered, Answered::Replayed(answer(&ran).clone()));
        } else {
            assert_eq!(answered, Answered::Reused);
        }
    }
    drain(&desk).await;
    assert_eq!(audit(database.owner_options()).await.orders, 1);
    Ok(())
}

#[tokio::test]
async fn a_repeat_is_never_called_a_reuse_while_a_reuse_before_it_waits() -> anyhow::Result<()> {
    let database = new_service_database().await?;
    let settings = Settings { remembered_bytes: 0, ..one_lane() };
    let preparing = open(&database, settings.clone(), Hooks::default());
    let account = account_with(&preparing, "100.00").await?;
    let first = order("finished", account, "10.00");
    let ran = preparing.submit(first.clone(), None).await.answered;

    let gate = Gate::after(Step::Begun);
    let desk = open(&database, settings, gate.hooks());
    let reuse = tokio::spawn({
        let (desk, changed) = (desk.clone(), order("finished", account, "11.00"));
        async move { desk.submit(changed, None).await.answered }
    });
    gate.reached().await;
    let early = soon("the repeat", desk.submit(first.clone(), None)).await.answered;
    assert_eq!(early, Answered::InProgress, "nobody has looked for the record yet");
    gate.open();
    assert_eq!(soon("the reuse", reuse).await?, Answered::Reused);
    let late = soon("the repeat", desk.submit(first, None)).await.answered;
    assert_eq!(late, Answered::Replayed(answer(&ran).clone()));
    Ok(())
}
