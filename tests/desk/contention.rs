//! Many want the same rows: everybody gets an answer, and the books say that it was the right one.

use std::time::Duration;

use account::{AccountId, Parties};
use desk::schema::Database;
use desk::{Answered, Command, Desk, Hooks, LookedUp, Request, Settings, Step};
use futures::future::join_all;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, cny, currency, deposit, name, open, order, request, status};
use onefold_tests::own_cluster::OwnCluster;
use rand::Rng;
use sqlx::Connection;

use crate::gate::Gate;
use crate::observe::{connection, drain, one_lane, soon};

fn four_lanes() -> Settings {
    Settings { lanes: 4, ..Settings::default() }
}

async fn available(database: &Database, account: AccountId) -> String {
    let found =
        account::store::accounts::find(database.pool(), onefold_tests::desks::client(), account).await;
    found.expect("the database answers").expect("the account is there").available.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_account_pays_until_its_money_is_gone_and_not_once_more() {
    const ORDERS: usize = 2_000;
    let database = new_service_database().await.expect("a database");
    let desks = [0; 2].map(|_| open(&database, four_lanes(), Hooks::default()));
    let hot = account_with(&desks[0], "600.00").await.expect("an account");
    let mut cold = Vec::new();
    for _ in 0..4 {
        cold.push(account_with(&desks[1], "250.00").await.expect("an account"));
    }

    // Every other order is for the hot account, and each account's orders meet at both desks.
    let orders: Vec<(usize, AccountId)> = (0..ORDERS)
        .map(|number| (number, if number % 2 == 0 { hot } else { cold[number / 2 % cold.len()] }))
        .collect();
    let answers = soon(
        "all orders",
        join_all(orders.iter().map(|(number, account)| {
            let desk = desks[number / 2 / cold.len() % 2].clone();
            let asks = order(&format!("o-{number}"), *account, "1.00");
            tokio::spawn(async move { desk.submit(asks, None).await.answered })
        })),
    )
    .await;

    let mut paid_by_hot = 0;
    for ((number, account), answered) in orders.iter().zip(answers) {
        let answered = answered.expect("a task");
        match &answered {
            Answered::Ran(answer) if answer.status == 201 => paid_by_hot += usize::from(*account == hot),
            Answered::Ran(answer) if answer.status == 402 => {
                assert_eq!(*account, hot, "order {number}: only the hot account runs out of money");
            }
            other => panic!("order {number} is told {other:?}"),
        }
    }
    assert_eq!(paid_by_hot, 600, "as many as there is money for");
    for account in [&[hot][..], &cold].concat() {
        assert_eq!(available(&database, account).await, "0.00");
    }
    assert_eq!(audit(database.owner_options()).await.orders, 1_600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_in_all_directions_meet_no_deadlock_that_anybody_is_told_of() {
    const ACCOUNTS: usize = 5;
    const TRANSFERS: usize = 600;
    let database = new_service_database().await.expect("a database");
    let desks = [0; 2].map(|_| open(&database, four_lanes(), Hooks::default()));
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        accounts.push(account_with(&desks[0], "30.00").await.expect("an account"));
    }
    let transfers = (0..TRANSFERS).map(|number| {
        let (from, distance) = {
            let mut random = rand::rng();
            (random.random_range(0..ACCOUNTS), random.random_range(1..ACCOUNTS))
        };
        let parties = Parties::Transfer { from: accounts[from], to: accounts[(from + distance) % ACCOUNTS] };
        let key = format!("t-{number}");
        let moving = Command::Move { parties, amount: cny("7.00"), reference: key.clone() };
        let (desk, asks) = (desks[number % 2].clone(), request(&key, moving));
        tokio::spawn(async move { desk.submit(asks, None).await.answered })
    });
    let mut moved = 0;
    for answered in soon("all transfers", join_all(transfers)).await {
        match status(&answered.expect("a task")) {
            Some(201) => moved += 1,
            Some(402) => {}
            other => panic!("a transfer succeeds or is refused for want of money, and is not told {other:?}"),
        }
    }
    assert!(moved > 5, "money moves");
    let books = audit(database.owner_options()).await;
    assert_eq!(books.entries, 5 + moved);
    let total: String = sqlx::query_scalar("SELECT sum(available)::text FROM accounts")
        .fetch_one(database.pool())
        .await
        .expect("a sum");
    assert_eq!(total, "150.0000", "money is conserved");
}

#[tokio::test]
async fn contention_that_does_not_end_is_told_after_bounded_tries_and_leaves_nothing() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Step::Begun);
    gate.open();
    let settings = Settings { tries_max: 4, lock_timeout: Duration::from_millis(40), ..one_lane() };
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "100.00").await.expect("an account");
    let desk = open(&database, settings, gate.hooks());

    let mut holder = connection(database.owner_options()).await;
    let mut holding = holder.begin().await.expect("a transaction");
    sqlx::query("SELECT FROM accounts WHERE account_id = $1 FOR UPDATE")
        .bind(account.0)
        .execute(&mut *holding)
        .await
        .expect("the row is held");
    let before = audit(database.owner_options()).await;
    let asks = order("k", account, "100.00");
    let told = soon("an answer", desk.submit(asks.clone(), None)).await.answered;
    assert_eq!(told, Answered::Contended);
    assert_eq!(gate.tries(), 4);
    assert_eq!(audit(database.owner_options()).await, before, "nothing is stored");
    assert_eq!(desk.look_up(&name("k")).await.expect("the database answers"), LookedUp::Unknown);

    holding.rollback().await.expect("the row is let go");
    let ran = desk.submit(asks, None).await.answered;
    assert!(matches!(&ran, Answered::Ran(answer) if answer.status == 201), "{ran:?}");
    assert_eq!(audit(database.owner_options()).await.orders, 1);
}

/// Holds a desk's only lane with one order, queues these behind it, so that they make one batch, and lets go.
async fn as_one_batch(desk: &Desk, gate: &Gate, first: Request, batch: Vec<Request>) -> Vec<Answered> {
    let leading = tokio::spawn({
        let desk = desk.clone();
        async move { desk.submit(first, None).await.answered }
    });
    gate.reached().await;
    // Each is queued when it is first polled, and they are polled in this order.
    let mut queued = join_all(batch.into_iter().map(|asks| desk.submit(asks, None)));
    assert!(futures::poll!(&mut queued).is_pending());
    gate.open();
    assert_eq!(status(&soon("the first", leading).await.expect("it lives")), Some(201));
    soon("the batch", queued).await.into_iter().map(|reply| reply.answered).collect()
}

#[tokio::test]
async fn a_command_that_the_database_refuses_fails_alone() {
    for bad_owner in ["o".repeat(65), "a\0b".to_owned()] {
        let database = new_service_database().await.expect("a database");
        let gate = Gate::after(Step::Begun);
        let preparing = open(&database, one_lane(), Hooks::default());
        let account = account_with(&preparing, "1.00").await.expect("an account");
        let desk = open(&database, one_lane(), gate.hooks());
        let bad = Command::OpenAccount { owner: bad_owner, currency: currency("CNY") };

        // The order needs the deposit before it: a batch that falls apart keeps its order.
        let batch = vec![
            deposit("d", account, "99.00"),
            request("bad", bad),
            order("o", account, "99.00"),
            deposit("d2", account, "5.00"),
        ];
        let answers = as_one_batch(&desk, &gate, order("first", account, "1.00"), batch).await;
        assert_eq!(answers[1], Answered::Failed);
        for (place, answered) in answers.iter().enumerate().filter(|(place, _)| *place != 1) {
            assert!(
                matches!(answered, Answered::Ran(answer) if answer.status == 201),
                "{place}: {answered:?}"
            );
        }
        assert_eq!(gate.tries(), 6, "the first, the batch, and each of the four alone");
        assert_eq!(desk.look_up(&name("bad")).await.expect("the database answers"), LookedUp::Unknown);

        // The connection is as good as before.
        let next = desk.submit(order("next", account, "5.00"), None).await.answered;
        assert_eq!(status(&next), Some(201));
        let books = audit(database.owner_options()).await;
        assert_eq!((books.orders, books.entries), (3, 6));
        drain(&desk).await;
    }
}

#[tokio::test]
async fn a_batch_that_the_lock_table_cannot_hold_is_halved_until_it_fits() {
    const BATCH: usize = 128;
    let cluster = OwnCluster::start(&["max_locks_per_transaction = 10"]).await.expect("a cluster");
    let database = cluster.new_service_database("onefold").await.expect("a database");
    let gate = Gate::after(Step::Begun);
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "129.00").await.expect("an account");
    let desk = open(&database, one_lane(), gate.hooks());

    // The leading order opens the lane's connection and learns its statements before the table is full.
    let leading = tokio::spawn({
        let (desk, asks) = (desk.clone(), order("first", account, "1.00"));
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;
    let mut queued =
        join_all((0..BATCH).map(|number| desk.submit(order(&format!("o-{number}"), account, "1.00"), None)));
    assert!(futures::poll!(&mut queued).is_pending());
    let mut filler = connection(database.owner_options()).await;
    let full = sqlx::query("SELECT pg_advisory_lock(n) FROM generate_series(1, 1000000) n")
        .execute(&mut filler)
        .await
        .expect_err("the lock table has an end");
    assert_eq!(full.as_database_error().and_then(|error| error.code()).as_deref(), Some("53200"));
    // What the failed statement had locked stays locked; of that, room for half the batch is given back.
    sqlx::query("SELECT pg_advisory_unlock(n) FROM generate_series(1, 100) n")
        .execute(&mut filler)
        .await
        .expect("some locks are given back");
    gate.open();
    assert_eq!(status(&soon("the first", leading).await.expect("it lives")), Some(201));
    for reply in soon("the batch", queued).await {
        assert!(matches!(&reply.answered, Answered::Ran(answer) if answer.status == 201), "{reply:?}");
    }
    assert!(gate.tries() > 3, "the batch was halved: {} transactions", gate.tries());
    filler.close().await.expect("the filler goes");
    assert_eq!(audit(database.owner_options()).await.orders, 129);
    drain(&desk).await;
    drain(&preparing).await;
    cluster.stop().await.expect("the cluster stops");
}
