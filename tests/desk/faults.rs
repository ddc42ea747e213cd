//! The database goes, the queue fills, callers leave, a rule panics: everybody is told what is true.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use desk::schema::Database;
use desk::{Answered, Command, Hooks, LookedUp, Settings, Step};
use futures::future::join_all;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, currency, deposit, name, open, order, request, status};
use rand::Rng;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::gate::Gate;
use crate::observe::{
    DEADLINE, as_owner, connection, connections_of, drain, end_the_lanes_connections, one_lane, soon, until,
};

#[tokio::test]
async fn a_connection_that_ends_at_any_step_is_not_noticed_by_the_caller() {
    let database = new_service_database().await.expect("a database");
    let mut observer = connection(database.owner_options()).await;
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "600.00").await.expect("an account");
    drain(&preparing).await;

    for (step, tries) in [
        (Step::Begun, 2),
        (Step::Claimed, 2),
        (Step::Loaded, 2),
        (Step::Decided, 2),
        // The commit is sent into a connection that has ended: the desk asks what became of it, and runs it.
        (Step::Saved, 2),
        (Step::Committed, 1),
    ] {
        until("the lanes before are gone", async || connections_of(&mut observer, "onefold desk").await == 0)
            .await;
        let gate = Gate::after(step);
        let desk = open(&database, one_lane(), gate.hooks());
        let submitted = tokio::spawn({
            let (desk, asks) = (desk.clone(), order(&format!("{step:?}"), account, "100.00"));
            async move { desk.submit(asks, None).await.answered }
        });
        gate.reached().await;
        assert_eq!(end_the_lanes_connections(&mut observer).await, 1);
        // What the lane does next meets a connection that has ended, not one that is ending.
        until("the connection has ended", async || connections_of(&mut observer, "onefold desk").await == 0)
            .await;
        gate.open();
        let answered = soon("the answer", submitted).await.expect("it lives");
        assert!(matches!(&answered, Answered::Ran(answer) if answer.status == 201), "{step:?}: {answered:?}");
        assert_eq!(gate.tries(), tries, "{step:?}");
        drain(&desk).await;
    }
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.order_payments), (6, 6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_end_at_any_moment_leave_one_effect_for_each_name() {
    const ORDERS: usize = 400;
    let database = new_service_database().await.expect("a database");
    let desks = [0; 2].map(|_| {
        open(&database, Settings { lanes: 2, batch_max: 4, ..Settings::default() }, Hooks::default())
    });
    let account = account_with(&desks[0], "400.00").await.expect("an account");

    let done = Arc::new(AtomicBool::new(false));
    let ending = tokio::spawn({
        let (done, owner) = (done.clone(), database.owner_options().clone());
        async move {
            let mut observer = connection(&owner).await;
            let mut ended = 0;
            while !done.load(Ordering::SeqCst) {
                // At any step, and seldom enough that some work is done in between.
                let pause_ms = rand::rng().random_range(50..250);
                sleep(Duration::from_millis(pause_ms)).await;
                ended += end_the_lanes_connections(&mut observer).await;
            }
            ended
        }
    });
    let mut asking = JoinSet::new();
    for asker in 0..8 {
        let desk = desks[asker % 2].clone();
        asking.spawn(async move {
            for number in (asker..ORDERS).step_by(8) {
                let asks = order(&format!("o-{number}"), account, "1.00");
                // What every client does: ask again under the same key until there is an answer.
                loop {
                    match desk.submit(asks.clone(), Some(DEADLINE)).await.answered {
                        Answered::Ran(answer) | Answered::Replayed(answer) => {
                            assert_eq!(answer.status, 201, "order {number}: no money has gone astray");
                            break;
                        }
                        Answered::Unavailable | Answered::OutcomeUnknown | Answered::Contended => {}
                        other => panic!("order {number} is told {other:?}"),
                    }
                }
            }
        });
    }
    soon("all orders", asking.join_all()).await;
    done.store(true, Ordering::SeqCst);
    let ended = soon("the end of it", ending).await.expect("it lives");
    assert!(ended > 4, "connections were ended: {ended}");
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.order_payments), (400, 400));
}

async fn refuse_connections(database: &Database, refuse: bool) {
    let name = database.owner_options().get_database().expect("a name").to_owned();
    // From another database: this one is about to be closed.
    let elsewhere = database.owner_options().clone().database("postgres");
    let mut administrator = connection(&elsewhere).await;
    for statement in [
        format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {}", !refuse),
        format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND {refuse}"
        ),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut administrator).await.expect("a setting");
    }
}

#[tokio::test]
async fn a_database_that_is_away_is_told_in_time_and_served_again_when_it_is_back() {
    let database = new_service_database().await.expect("a database");
    let settings = Settings { reconnect_wait: Duration::from_millis(300), ..one_lane() };
    let gate = Gate::after(Step::Claimed);
    let desk = open(&database, settings.clone(), Hooks::default());
    let interrupted = open(&database, settings, gate.hooks());
    let account = account_with(&desk, "100.00").await.expect("an account");
    let in_the_middle = tokio::spawn({
        let (desk, asks) = (interrupted.clone(), order("middle", account, "10.00"));
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;

    refuse_connections(&database, true).await;
    gate.open();
    let began = Instant::now();
    let told = soon("an answer", desk.submit(order("k", account, "10.00"), None)).await.answered;
    assert_eq!(told, Answered::Unavailable);
    assert!(began.elapsed() < Duration::from_secs(5), "within its time: {:?}", began.elapsed());
    assert_eq!(soon("the other", in_the_middle).await.expect("it lives"), Answered::Unavailable);
    // It is known to be away: nobody else waits for as long again.
    let crowd = join_all((0..100).map(|n| {
        let desk = desk.clone();
        async move { desk.submit(order(&format!("c-{n}"), account, "10.00"), None).await.answered }
    }));
    let began = Instant::now();
    assert!(soon("a crowd", crowd).await.iter().all(|told| *told == Answered::Unavailable));
    assert!(began.elapsed() < Duration::from_secs(2), "told at once: {:?}", began.elapsed());

    refuse_connections(&database, false).await;
    for (desk, key) in [(&desk, "k"), (&interrupted, "middle")] {
        // Whoever comes right after a failed attempt to connect is told so without another.
        until("the database is known to be back", async || {
            let told = soon("an answer", desk.submit(order(key, account, "10.00"), None)).await.answered;
            assert!(
                matches!(&told, Answered::Ran(answer) if answer.status == 201)
                    || told == Answered::Unavailable,
                "{told:?}"
            );
            told != Answered::Unavailable
        })
        .await;
    }
    assert_eq!(audit(database.owner_options()).await.orders, 2, "nothing happened while it was away");
}

#[tokio::test]
async fn a_full_queue_is_told_at_once() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Step::Begun);
    let desk = open(&database, Settings { queue_max: 2, batch_max: 1, ..one_lane() }, gate.hooks());
    let opening =
        |key: &str| request(key, Command::OpenAccount { owner: key.to_owned(), currency: currency("CNY") });
    let running = tokio::spawn({
        let (desk, asks) = (desk.clone(), opening("running"));
        async move { desk.submit(asks, None).await.answered }
    });
    gate.reached().await;
    let mut queued = join_all(["q-1", "q-2"].map(|key| desk.submit(opening(key), None)));
    assert!(futures::poll!(&mut queued).is_pending());

    for wait in [None, Some(DEADLINE)] {
        let refused = soon("an answer", desk.submit(opening("late"), wait)).await.answered;
        assert_eq!(refused, Answered::Overloaded);
    }
    gate.open();
    assert_eq!(status(&soon("the first", running).await.expect("it lives")), Some(201));
    for reply in soon("the queue", queued).await {
        assert_eq!(status(&reply.answered), Some(201));
    }
    let late = soon("the late one", desk.submit(opening("late"), None)).await.answered;
    assert!(matches!(&late, Answered::Ran(answer) if answer.status == 201), "it had not run: {late:?}");
    assert_eq!(audit(database.owner_options()).await.records, 4);
}

#[tokio::test]
async fn a_drained_desk_has_answered_everybody_it_took_and_takes_no_more() {
    let database = new_service_database().await.expect("a database");
    let gate = Gate::after(Step::Saved);
    let elsewhere_gate = Gate::after(Step::Claimed);
    let elsewhere = open(&database, one_lane(), elsewhere_gate.hooks());
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "100.00").await.expect("an account");
    let desk = open(&database, one_lane(), gate.hooks());

    let elsewhere_runs = tokio::spawn({
        let (desk, asks) = (elsewhere.clone(), order("elsewhere", account, "1.00"));
        async move { desk.submit(asks, None).await.answered }
    });
    elsewhere_gate.reached().await;
    // Three that the desk took, one of them running, and one that waits for another process.
    let mut taken = join_all((0..3).map(|n| desk.submit(order(&format!("o-{n}"), account, "1.00"), None)));
    assert!(futures::poll!(&mut taken).is_pending());
    gate.reached().await;
    let waiter = {
        let (desk, asks) = (preparing.clone(), order("elsewhere", account, "1.00"));
        tokio::spawn(async move { desk.submit(asks, Some(DEADLINE)).await.answered })
    };
    let mut observer = connection(database.owner_options()).await;
    until("somebody waits", async || connections_of(&mut observer, "onefold reads").await > 0).await;

    let mut draining = Box::pin(desk.drain());
    assert!(futures::poll!(&mut draining).is_pending(), "there is somebody to answer");
    for wait in [None, Some(DEADLINE)] {
        let late = soon("a refusal", desk.submit(order("late", account, "1.00"), wait)).await;
        assert_eq!(late.answered, Answered::Unavailable, "while it is being drained");
    }
    gate.open();
    let ((), answers) = soon("the drain", async { tokio::join!(draining, taken) }).await;
    for reply in answers {
        assert_eq!(status(&reply.answered), Some(201));
    }
    let late = soon("a refusal", desk.submit(order("late", account, "1.00"), None)).await;
    assert_eq!(late.answered, Answered::Unavailable, "and afterwards");

    // Whoever waits for another process is not kept waiting by a desk that closes.
    let began = Instant::now();
    drain(&preparing).await;
    assert_eq!(soon("the waiter", waiter).await.expect("it lives"), Answered::InProgress);
    assert!(began.elapsed() < DEADLINE / 4, "told at once: {:?}", began.elapsed());
    elsewhere_gate.open();
    assert_eq!(status(&soon("the other process", elsewhere_runs).await.expect("it lives")), Some(201));
    assert_eq!(audit(database.owner_options()).await.orders, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_callers_who_leave_at_any_moment_hurt_nobody() {
    const LEAVING: usize = 1_000;
    let database = new_service_database().await.expect("a database");
    let desk = open(&database, Settings::default(), Hooks::default());
    let account = account_with(&desk, "2000.00").await.expect("an account");

    let leaving = (0..LEAVING).map(|number| {
        let patience = Duration::from_micros(rand::rng().random_range(0..5_000));
        let (desk, asks) = (desk.clone(), order(&format!("left-{number}"), account, "1.00"));
        tokio::spawn(async move {
            if let Ok(reply) = timeout(patience, desk.submit(asks, None)).await {
                assert_eq!(status(&reply.answered), Some(201));
            }
        })
    });
    for left in soon("everybody to leave", join_all(leaving)).await {
        left.expect("a task");
    }
    let good = (0..1_000).map(|number| {
        let (desk, asks) = (desk.clone(), order(&format!("good-{number}"), account, "1.00"));
        tokio::spawn(async move { desk.submit(asks, None).await.answered })
    });
    for answered in soon("the good ones", join_all(good)).await {
        assert_eq!(status(&answered.expect("a task")), Some(201));
    }
    drain(&desk).await;

    // Whoever was taken ran, whoever was not did not, and nobody runs still.
    let mut ran = 0;
    for number in 0..LEAVING {
        match desk.look_up(&name(&format!("left-{number}"))).await.expect("the database answers") {
            LookedUp::Finished(record) => {
                assert_eq!(record.answer.status, 201);
                ran += 1;
            }
            LookedUp::Unknown => {}
            LookedUp::InProgress { .. } => panic!("left-{number} is still in flight"),
        }
    }
    assert!(ran > 0, "some of those who left had been taken");
    assert_eq!(audit(database.owner_options()).await.orders, 1_000 + ran);
    let mut observer = connection(database.owner_options()).await;
    let open_transactions = async || {
        sqlx::query_scalar::<_, i64>(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
        )
        .fetch_one(&mut observer)
        .await
        .expect("a count")
            == 0
    };
    until("no transaction is open", open_transactions).await;
}

/// Hooks that panic once after this step.
fn panic_once_after(at: Step) -> Hooks {
    let panicked = Arc::new(AtomicBool::new(false));
    Hooks::pausing(move |step| {
        let panicked = panicked.clone();
        async move {
            assert!(step != at || panicked.swap(true, Ordering::SeqCst), "a mistake after {step:?}");
        }
    })
}

#[tokio::test]
async fn a_lane_survives_a_panic_and_says_what_is_true_of_it() {
    let database = new_service_database().await.expect("a database");
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "600.00").await.expect("an account");
    for step in Step::ALL {
        let desk = open(&database, one_lane(), panic_once_after(step));
        let asks = order(&format!("{step:?}"), account, "100.00");
        let told = soon("an answer", desk.submit(asks.clone(), None)).await.answered;
        let again = soon("a second answer", desk.submit(asks, Some(DEADLINE))).await.answered;
        if step == Step::Committed {
            assert_eq!(told, Answered::OutcomeUnknown, "nobody may say that nothing happened");
            assert!(matches!(&again, Answered::Replayed(answer) if answer.status == 201), "{again:?}");
        } else {
            assert_eq!(told, Answered::Failed, "after {step:?}");
            assert!(matches!(&again, Answered::Ran(answer) if answer.status == 201), "{step:?}: {again:?}");
        }
        drain(&desk).await;
    }
    assert_eq!(audit(database.owner_options()).await.orders, 6);
}

#[tokio::test]
async fn those_who_wait_for_a_request_that_panics_run_it() {
    let database = new_service_database().await.expect("a database");
    let desk = open(&database, one_lane(), panic_once_after(Step::Loaded));
    let preparing = open(&database, one_lane(), Hooks::default());
    let account = account_with(&preparing, "100.00").await.expect("an account");
    let asks = order("k", account, "100.00");
    let asked = join_all((0..20).map(|_| desk.submit(asks.clone(), Some(DEADLINE))));
    let answers: Vec<Answered> =
        soon("all of them", asked).await.into_iter().map(|reply| reply.answered).collect();
    assert_eq!(answers[0], Answered::Failed, "the one whose batch panicked");
    assert!(answers[1..].iter().all(|answered| status(answered) == Some(201)), "{answers:?}");
    assert_eq!(audit(database.owner_options()).await.orders, 1);
}

#[tokio::test]
async fn a_statement_that_is_not_permitted_fails_and_the_lane_goes_on() {
    let database = new_service_database().await.expect("a database");
    let desk = open(&database, one_lane(), Hooks::default());
    let account = account_with(&desk, "10.00").await.expect("an account");
    as_owner(&database, "REVOKE INSERT ON orders FROM onefold_service".to_owned()).await;
    let refused = soon("an answer", desk.submit(order("k", account, "5.00"), None)).await.answered;
    assert_eq!(refused, Answered::Failed, "the database does not take the command");
    assert_eq!(status(&desk.submit(deposit("d", account, "5.00"), None).await.answered), Some(201));
    as_owner(&database, "GRANT INSERT ON orders TO onefold_service".to_owned()).await;
    let served = soon("an answer", desk.submit(order("k", account, "5.00"), None)).await.answered;
    assert_eq!(status(&served), Some(201));
    audit(database.owner_options()).await;
}
