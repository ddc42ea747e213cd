//! A backlog of what is due, and the sweeper that works it off.

use std::sync::Arc;
use std::time::Duration;

use desk::sweeper::{self, Round, SweepSettings};
use desk::{Command, Hooks};
use futures::future::join_all;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, client, cny, open_at, request, status};

use crate::observe::{connection, one_lane, register_client};

/// As many commands as one round of the sweeper submits for a client and a kind of thing that is due.
const ROUND: usize = 1_000;

#[tokio::test]
async fn a_round_that_leaves_something_due_says_so_and_the_one_after_it_finds_the_rest() {
    let database = new_service_database().await.expect("a database");
    register_client(&database).await;
    let clock = ManualClock::at_present();
    let desk = open_at(&database, one_lane(), Hooks::default(), Arc::new(clock.clone()));
    let account = account_with(&desk, "5000.00").await.expect("an account");
    let placing = (0..ROUND + 1).map(|number| {
        let hold = Command::PlaceHold {
            account_id: account,
            amount: cny("1.00"),
            reference: format!("h-{number}"),
            expires_in_s: Some(60),
        };
        desk.submit(request(&format!("h-{number}"), hold), None)
    });
    for reply in join_all(placing).await {
        assert_eq!(status(&reply.answered), Some(201));
    }
    let sweep =
        async || sweeper::once(&desk, &database, SweepSettings::default(), &clock).await.expect("a round");
    assert_eq!(sweep().await, Round { swept: 0, more: false }, "nothing is due yet");
    clock.advance(Duration::from_secs(60));
    assert_eq!(sweep().await, Round { swept: ROUND, more: true });
    assert_eq!(sweep().await, Round { swept: 1, more: false });
    assert_eq!(sweep().await, Round { swept: 0, more: false });
    let found = account::store::accounts::find(database.pool(), client(), account).await;
    let found = found.expect("the database answers").expect("the account is there");
    assert_eq!((found.available, found.held), (cny("5000.00"), cny("0.00")));
    audit(database.owner_options()).await;
}

/// What each of these statements counts, in the end.
const COUNTED: [(&str, i64); 3] = [
    ("SELECT count(*) FROM holds WHERE status = 'expired' AND version = 2", HOLDS),
    ("SELECT count(*) FROM journal_entries WHERE kind = 'hold_expiry'", HOLDS),
    ("SELECT count(*) FROM outbox_events WHERE event_type = 'onefold.hold.expired.v1'", HOLDS),
];

/// How many holds four sweepers find due.
const HOLDS: i64 = 250;

#[tokio::test(flavor = "multi_thread")]
async fn several_sweepers_at_once_expire_each_hold_once_and_none_of_them_fails() {
    let database = new_service_database().await.expect("a database");
    register_client(&database).await;
    let clock = ManualClock::at_present();
    let desks = [(); 4]
        .map(|()| open_at(&database, desk::Settings::default(), Hooks::default(), Arc::new(clock.clone())));
    let mut accounts = Vec::new();
    for _ in 0..5 {
        accounts.push(account_with(&desks[0], "1000.00").await.expect("an account"));
    }
    let placing = (0..HOLDS).zip(accounts.iter().cycle()).map(|(number, account)| {
        let hold = Command::PlaceHold {
            account_id: *account,
            amount: cny("1.00"),
            reference: format!("h-{number}"),
            expires_in_s: Some(60),
        };
        desks[0].submit(request(&format!("h-{number}"), hold), None)
    });
    for reply in join_all(placing).await {
        assert_eq!(status(&reply.answered), Some(201));
    }
    clock.advance(Duration::from_secs(60));
    let mut observer = connection(database.owner_options()).await;
    let sweeping = desks.iter().map(|desk| sweeper::once(desk, &database, SweepSettings::default(), &clock));
    let mut swept: usize =
        join_all(sweeping).await.into_iter().map(|round| round.expect("a round").swept).sum();
    // A round gives up what another one is at; who comes later finds what is left.
    loop {
        let round = sweeper::once(&desks[0], &database, SweepSettings::default(), &clock).await;
        match round.expect("a round").swept {
            0 => break,
            more => swept += more,
        }
    }
    assert_eq!(i64::try_from(swept), Ok(HOLDS), "each name ran once");
    for (sql, expected) in COUNTED {
        let count: i64 = sqlx::query_scalar(sql).fetch_one(&mut observer).await.expect("a count");
        assert_eq!(count, expected, "{sql}");
    }
    for account in accounts {
        let found = account::store::accounts::find(database.pool(), client(), account).await;
        let found = found.expect("the database answers").expect("the account is there");
        assert_eq!((found.available, found.held), (cny("1000.00"), cny("0.00")));
    }
    audit(database.owner_options()).await;
}
