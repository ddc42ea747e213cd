//! Each event at least once, and those of one thing in their order.

use std::collections::{HashMap, HashSet};
use std::slice;
use std::time::Duration;

use account::AccountId;
use anyhow::ensure;
use desk::{CaptureTerms, Clock, Command, Desk, SystemClock};
use events::{Event, EventId, Message, store};
use onefold_tests::desks::{self, account_with, body, cny, request, status};
use order::{OrderId, PaymentTerms};
use sqlx::postgres::PgArguments;
use sqlx::{Connection, PgConnection};
use tokio::time::sleep;
use uuid::Uuid;

use crate::reader::{Reader, connection, database, desk, written};

/// Writes an event of a thing, as the desk does in its transactions.
async fn write(connection: &mut PgConnection, aggregate: Uuid, sequence: i64) -> anyhow::Result<Uuid> {
    let event = Event {
        client_id: desks::client(),
        id: EventId(Uuid::new_v4()),
        event_type: "onefold.order.paid.v1",
        aggregate_type: "order",
        aggregate_id: aggregate,
        sequence,
        data: serde_json::json!({}),
        occurred_at: SystemClock.now(),
        traceparent: None,
    };
    let mut arguments = PgArguments::default();
    store::bind_inserts(&mut arguments, slice::from_ref(&event)).map_err(anyhow::Error::from_boxed)?;
    sqlx::query_with(store::INSERT, arguments).execute(connection).await?;
    Ok(event.id.0)
}

/// Whether each thing's events came in the order of their numbers, repetitions aside.
fn in_order(read: &[Message]) -> anyhow::Result<()> {
    let mut last: HashMap<&str, i64> = HashMap::new();
    let mut seen = HashSet::new();
    for message in read.iter().filter(|message| seen.insert(message.id)) {
        let before = last.insert(&message.subject, message.sequence);
        ensure!(
            before.is_none_or(|before| before <= message.sequence),
            "of {}, {} came after {before:?}",
            message.subject,
            message.sequence
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_commits_late_is_published_although_later_ones_were_there_before_it() -> anyhow::Result<()> {
    let database = database().await?;
    let (mut early, mut late) = (connection(&database).await?, connection(&database).await?);
    let desk = desk(&database);
    let reader = Reader::default();
    let relaying = reader.relay(&database, &desk);

    let mut slow = late.begin().await?;
    let first = write(&mut slow, Uuid::new_v4(), 1).await?;
    let second = write(&mut early, Uuid::new_v4(), 1).await?;
    // The relay has looked at it by then, and more than once.
    sleep(Duration::from_millis(300)).await;
    slow.commit().await?;
    let third = write(&mut early, Uuid::new_v4(), 1).await?;

    reader.has_read(&[first, second, third]).await?;
    let lag = relaying.lag.clone();
    relaying.end().await?;
    assert_eq!(reader.read().len(), 3, "each was published once");
    assert_eq!(lag.published(), 3, "and is counted once");
    Ok(())
}

#[tokio::test]
async fn a_version_is_not_published_before_the_one_that_it_rests_upon_though_its_transaction_is_older()
-> anyhow::Result<()> {
    let database = database().await?;
    let (mut one, mut two) = (connection(&database).await?, connection(&database).await?);
    let desk = desk(&database);
    let thing = Uuid::new_v4();

    // The older transaction has its number before the first version is there, and writes the second.
    let mut older = one.begin().await?;
    sqlx::query("SELECT pg_current_xact_id()::text").execute(&mut *older).await?;
    let first = write(&mut two, thing, 1).await?;
    let second = write(&mut older, thing, 2).await?;
    let reader = Reader::default();
    let relaying = reader.relay(&database, &desk);
    sleep(Duration::from_millis(300)).await;
    older.commit().await?;

    reader.has_read(&[first, second]).await?;
    relaying.end().await?;
    let order: Vec<Uuid> = reader.read().iter().map(|message| message.id.0).collect();
    assert_eq!(order, [first, second]);
    Ok(())
}

/// An order that is authorised, and captured in two parts: three events of it.
async fn live(desk: &Desk, key: &str, account: AccountId) -> anyhow::Result<()> {
    let placed = desk
        .submit(
            request(
                key,
                Command::PlaceOrder {
                    account_id: account,
                    client_order_no: key.to_owned(),
                    amount: cny("3.00"),
                    items: Vec::new(),
                    payment: PaymentTerms::Hold { expires_in_s: 3600 },
                },
            ),
            None,
        )
        .await
        .answered;
    let placed = body(&placed).ok_or_else(|| anyhow::anyhow!("{placed:?}"))?;
    let order = OrderId(placed["id"].as_str().unwrap_or_default().parse()?);
    for (part, last) in [("a", false), ("b", true)] {
        let capture = Command::CaptureOrder {
            order_id: order,
            account_id: Some(account),
            terms: CaptureTerms { amount: Some(cny("1.00")), last, reference: Some(format!("{key}-{part}")) },
        };
        let captured = desk.submit(request(&format!("{key}-{part}"), capture), None).await.answered;
        ensure!(status(&captured) == Some(200), "{captured:?}");
    }
    Ok(())
}

#[tokio::test]
async fn two_relays_publish_what_two_desks_write_once_and_in_order() -> anyhow::Result<()> {
    let database = database().await?;
    let desks = [desk(&database), desk(&database)];
    let reader = Reader::default();
    let relaying = desks.each_ref().map(|desk| reader.relay(&database, desk));
    let account = account_with(&desks[0], "100000.00").await?;
    let works = (0..200).map(|n| {
        let desk = desks[n % 2].clone();
        tokio::spawn(async move { live(&desk, &format!("o-{n}"), account).await })
    });
    for work in works.collect::<Vec<_>>() {
        work.await??;
    }
    let written = written(&database).await?;
    ensure!(written.len() >= 600, "{} events", written.len());

    reader.has_read(&written).await?;
    for relaying in relaying {
        relaying.end().await?;
    }
    let read = reader.read();
    in_order(&read)?;
    assert_eq!(read.len(), written.len(), "each was published once");
    Ok(())
}

#[tokio::test]
async fn what_a_consumer_has_dropped_is_published_again_and_nothing_is_lost() -> anyhow::Result<()> {
    let database = database().await?;
    let desk = desk(&database);
    let reader = Reader::default();
    let relaying = reader.relay_dropping(&database, &desk, 50);
    let account = account_with(&desk, "1000.00").await?;
    for n in 0..40 {
        live(&desk, &format!("o-{n}"), account).await?;
    }
    reader.has_read(&written(&database).await?).await?;
    relaying.end().await
}
