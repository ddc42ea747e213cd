//! A backlog of what is due, and the sweeper that works it off.

use std::sync::Arc;
use std::time::Duration;

use desk::sweeper::{self, Round, SweepSettings};
use desk::{Command, Hooks};
use futures::future::join_all;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::{audit, new_service_database};
use onefold_tests::desks::{account_with, client, cny, open_at, request, status};

use crate::observe::{one_lane, register_client};

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
