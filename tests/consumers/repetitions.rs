//! Events that are delivered again, late, out of order, at once, after a restart, or that nobody can read.

use std::time::Duration;

use anyhow::Context;
use client::ClientId;
use consumers::{Came, Consumer, Reason};
use events::Message;
use futures::future::join_all;
use onefold_tests::desks::client;
use rand::seq::SliceRandom;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::stage::{RETENTION, Stage, message};

const READ_MODEL: Consumer = Consumer::ReadModel;

fn noon() -> chrono::DateTime<chrono::Utc> {
    "2026-01-31T12:00:00Z".parse().expect("a time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_in_any_order_and_any_number_come_to_what_the_books_say() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    for round in 0..4 {
        stage.live(round).await?;
    }
    let mut deliveries = stage.events().await?;
    deliveries.extend(deliveries.clone());
    deliveries.extend(deliveries.clone());
    deliveries.shuffle(&mut rand::rng());
    for some in deliveries.chunks(64) {
        let came = join_all(some.iter().map(|message| stage.take(READ_MODEL, message))).await;
        assert!(came.iter().all(|came| *came == Came::Taken), "{came:?}");
    }
    let totals = stage.totals_of_books().await?;
    let lines = totals.keys().filter(|(_, currency, _)| currency == "CNY").count();
    assert_eq!(lines, 8, "every line has something: {totals:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_comes_again_to_a_process_that_was_started_anew_is_counted_once() -> anyhow::Result<()>
{
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    let events = stage.events().await?;
    for message in &events {
        assert_eq!(stage.take(READ_MODEL, message).await, Came::Taken);
    }
    let before = stage.totals_of_books().await?;
    stage.desk.drain().await;
    let again = Stage::on(stage.database.clone(), stage.clock.clone())?;
    for message in events.iter().rev() {
        assert_eq!(again.take(READ_MODEL, message).await, Came::Taken);
    }
    assert_eq!(again.totals_of_books().await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_that_take_the_same_events_at_once_count_them_once() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    for round in 0..2 {
        stage.live(round).await?;
    }
    let other = Stage::on(stage.database.clone(), stage.clock.clone())?;
    let events = stage.events().await?;
    let (one, two) = (
        join_all(events.iter().map(|message| stage.take(READ_MODEL, message))),
        join_all(events.iter().map(|message| other.take(READ_MODEL, message))),
    );
    let (one, two) = tokio::join!(one, two);
    for (message, came) in events.iter().chain(&events).zip(one.into_iter().chain(two)) {
        // Whoever lost every race is delivered again.
        if matches!(came, Came::Later(_)) {
            assert_eq!(stage.take(READ_MODEL, message).await, Came::Taken);
        } else {
            assert_eq!(came, Came::Taken);
        }
    }
    stage.totals_of_books().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_older_than_the_records_has_its_day_computed_from_the_books() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    let events = stage.events().await?;
    let (counted, late) = events.split_at(events.len() / 2);
    for message in counted {
        assert_eq!(stage.take(READ_MODEL, message).await, Came::Taken);
    }
    // Some of them were counted, and their records are gone. Who can tell which?
    stage.clock.advance(RETENTION + Duration::from_secs(3_600));
    sqlx::query("DELETE FROM idempotency_records").execute(stage.database.pool()).await?;
    for message in late.iter().chain(counted) {
        assert_eq!(stage.take(READ_MODEL, message).await, Came::Taken);
    }
    stage.totals_of_books().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_which_the_books_have_nothing_is_rebuilt_once() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    stage.clock.advance(RETENTION + Duration::from_secs(3_600));
    let told = |id: u128| {
        let body = r#"{"time":"2026-01-20T12:00:00Z","data":{"currency":"JPY","amount":"100"}}"#.to_owned();
        let event_type = "onefold.movement.deposited.v1".to_owned();
        message(client(), Uuid::from_u128(id), event_type, "movement/1".to_owned(), 1, body)
    };
    let day = "2026-01-20".parse()?;
    let yen = money::Currency::from_code("JPY")?;
    let pool = stage.database.pool();
    assert_eq!(stage.take(READ_MODEL, &told(1)).await, Came::Taken);
    assert!(
        reports::store::is_rebuilt(pool, client(), day, yen).await?,
        "the next one would rebuild it again"
    );
    let versions = "SELECT max(version) FROM daily_totals WHERE day = $1";
    assert_eq!(stage.take(READ_MODEL, &told(2)).await, Came::Taken);
    let rebuilt: i64 = sqlx::query_scalar(versions).bind(day).fetch_one(pool).await?;
    assert_eq!(rebuilt, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_event_of_a_rebuilt_day_does_not_wait_for_a_rebuild() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    let events = stage.events().await?;
    stage.clock.advance(RETENTION + Duration::from_secs(3_600));
    for message in &events {
        assert_eq!(stage.take(READ_MODEL, message).await, Came::Taken);
    }
    // A long rebuild, that of an earlier day: it waits for a table that somebody else holds.
    let mut holder = PgConnection::connect_with(stage.database.owner_options()).await?;
    let mut holding = holder.begin().await?;
    sqlx::query("LOCK TABLE order_versions IN ACCESS EXCLUSIVE MODE").execute(&mut *holding).await?;
    let body = r#"{"time":"2026-01-20T12:00:00Z","data":{"currency":"CNY","amount":"1.00"}}"#.to_owned();
    let event_type = "onefold.movement.deposited.v1".to_owned();
    let earlier = message(client(), Uuid::from_u128(7), event_type, "movement/1".to_owned(), 1, body);
    let rebuild = async { anyhow::Ok(stage.take(READ_MODEL, &earlier).await) };
    let others = async {
        let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'order_versions'::regclass AND NOT granted)";
        while !sqlx::query_scalar::<_, bool>(waits).fetch_one(stage.database.pool()).await? {}
        let again = stage.take(READ_MODEL, &earlier).await;
        assert!(matches!(again, Came::Later(_)), "it would take the place of another event: {again:?}");
        let came = join_all(events.iter().map(|message| stage.take(READ_MODEL, message))).await;
        assert!(came.iter().all(|came| *came == Came::Taken), "{came:?}");
        holding.rollback().await?;
        anyhow::Ok(())
    };
    let both = async { tokio::try_join!(rebuild, others) };
    let (came, ()) = tokio::time::timeout(Duration::from_secs(20), both).await??;
    assert_eq!(came, Came::Taken);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_to_processes_that_were_killed_are_no_failures() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    let events = stage.events().await?;
    let is_deposit = |message: &&Message| message.event_type == "onefold.movement.deposited.v1";
    let deposit = events.iter().find(is_deposit).context("a deposit")?;
    let mut owner = PgConnection::connect_with(stage.database.owner_options()).await?;
    sqlx::query("ALTER TABLE daily_totals RENAME COLUMN amount TO amount_away").execute(&mut owner).await?;
    // It was delivered to many, none of which has told what became of it.
    let many = 100;
    for failures in 1..5 {
        let came = stage.consuming.take(READ_MODEL, deposit, many).await;
        assert!(matches!(came, Came::Later(_)), "after {failures} failures: {came:?}");
    }
    let came = stage.consuming.take(READ_MODEL, deposit, many).await;
    assert!(matches!(came, Came::Never(Reason::Failed, _)), "{came:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poisoned_event_is_set_aside_with_its_reason_and_taken_when_it_is_mended() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    stage.live(0).await?;
    let mut events = stage.events().await?;
    let place = events
        .iter()
        .position(|message| message.event_type == "onefold.movement.deposited.v1")
        .expect("a deposit");
    let whole = events[place].clone();
    let spoilt = String::from_utf8_lossy(&whole.body).replace("100.00", "1OO.00");
    events[place].body = spoilt.into_bytes().into();
    for message in &events {
        match stage.take(READ_MODEL, message).await {
            Came::Taken => {}
            Came::Never(reason, detail) => {
                assert_eq!((message.id, reason), (whole.id, Reason::Unreadable), "{detail}");
                stage.consuming.set_aside(READ_MODEL, message, (reason, detail)).await?;
            }
            later @ Came::Later(_) => panic!("{later:?}"),
        }
    }
    let pool = stage.database.pool();
    let waiting = consumers::store::waiting(pool, client(), "read-model", Uuid::nil(), 10).await?;
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].event_id, waiting[0].reason.as_str()), (whole.id.0, "unreadable"));
    let counted = async || consumers::store::waiting_by_consumer(pool, &[client()]).await;
    assert_eq!(counted().await?, [("read-model".to_owned(), 1)]);
    assert!(stage.totals_of_books().await.is_err(), "one deposit is missing");

    assert_eq!(stage.take(READ_MODEL, &whole).await, Came::Taken);
    consumers::store::taken(pool, client(), "read-model", whole.id.0, noon()).await?;
    stage.totals_of_books().await?;
    assert!(consumers::store::waiting(pool, client(), "read-model", Uuid::nil(), 10).await?.is_empty());
    assert!(counted().await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_content_under_a_known_id_is_not_counted() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    let told = |amount: &str| {
        let body =
            format!(r#"{{"time":"2026-01-31T11:59:59Z","data":{{"currency":"CNY","amount":"{amount}"}}}}"#);
        let event_type = "onefold.movement.deposited.v1".to_owned();
        message(ClientId(Uuid::max()), Uuid::max(), event_type, "movement/1".to_owned(), 1, body)
    };
    assert_eq!(stage.take(READ_MODEL, &told("1.00")).await, Came::Taken);
    let other = stage.take(READ_MODEL, &told("2.00")).await;
    assert!(matches!(other, Came::Never(Reason::OtherContent, _)), "{other:?}");
    let largest = told("1.00");
    assert_eq!(stage.take(READ_MODEL, &largest).await, Came::Taken, "the same again");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sum_that_no_amount_can_hold_is_refused_and_leaves_the_total_as_it_is() -> anyhow::Result<()> {
    let stage = Stage::at(noon()).await?;
    let told = |id: u128, amount: &str| {
        let body =
            format!(r#"{{"time":"2026-01-31T11:59:59Z","data":{{"currency":"CNY","amount":"{amount}"}}}}"#);
        let event_type = "onefold.movement.deposited.v1".to_owned();
        message(ClientId(Uuid::max()), Uuid::from_u128(id), event_type, "movement/1".to_owned(), 1, body)
    };
    assert_eq!(stage.take(READ_MODEL, &told(1, "999999999999999999.99")).await, Came::Taken);
    let refused = stage.take(READ_MODEL, &told(2, "0.01")).await;
    assert!(matches!(refused, Came::Never(Reason::Refused, _)), "{refused:?}");
    Ok(())
}
