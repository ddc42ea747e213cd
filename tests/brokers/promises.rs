//! What every broker promises, whichever it is.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use client::ClientId;
use desk::{Clock, SystemClock};
use events::message::Pending;
use events::{Broker, Delivery, EventId, Message, Subscription};
use futures::stream::{self, StreamExt, TryStreamExt};
use onefold_tests::cluster::cluster;
use onefold_tests::database::{audit, new_database};
use onefold_tests::http::{ALICE, Caller, Exchange, order_body};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::program::Program;
use crate::spectator::{DEADLINE, Spectator, until};
use crate::written::Outbox;

/// How many orders are placed, and then captured and refunded: each is told of three times.
const ORDERS: usize = 300;

/// How many are under way at a time.
const AT_ONCE: usize = 16;

/// A broker that can be killed, and started again with what it had.
pub trait Mortal {
    /// Kills it.
    async fn kill(&mut self) -> anyhow::Result<()>;
    /// Starts it again.
    async fn start_again(&mut self) -> anyhow::Result<()>;
}

/// The broker of this URL.
pub fn broker(url: &str) -> anyhow::Result<Arc<dyn Broker>> {
    let week = Duration::from_secs(7 * 24 * 3600);
    Ok(url.parse::<events::brokers::Address>()?.broker(&[], week)?)
}

/// A database with a server on it, whose relay publishes to the broker of this URL.
pub async fn served(url: &str) -> anyhow::Result<(Program, Outbox, String, PgConnectOptions)> {
    let database = new_database().await?;
    let database_url = cluster().await?.database_url(database.get_database().context("it has a name")?);
    let program = Program::start(&database_url, url).await?;
    Ok((program, Outbox::open(&database).await?, database_url, database))
}

/// Two servers, one of which is killed while it publishes, and a broker that is killed and comes back: every event that is
/// written arrives, and of each thing in order.
pub async fn nothing_is_lost_and_order_is_kept(url: &str, mortal: &mut impl Mortal) -> anyhow::Result<()> {
    let spectator = Spectator::start(broker(url)?).await?;
    let (one, outbox, database_url, database) = served(url).await?;
    // The demo's events have ids of long ago, and are deleted as soon as the relay thinks of it.
    let of_demo = outbox.ids().await?;
    let other = Program::start(&database_url, url).await?;
    let callers = [one.demo(), other.demo()];
    let load = tokio::spawn(async move { lives(&callers).await });

    let written = |least: usize| {
        let outbox = &outbox;
        async move {
            let enough = async || Ok(outbox.ids().await?.len() >= least);
            until(|| format!("{least} events are not written"), enough).await
        }
    };
    written(ORDERS / 2).await?;
    one.kill().await?;
    let one = Program::start(&database_url, url).await?;
    written(ORDERS).await?;
    mortal.kill().await?;
    // What had reached the spectator's process before the kill is still handed out, and what the broker had confirmed noted.
    let seen = spectator.seen.deliveries_when_still().await;
    let published = outbox.published().await?;
    written(ORDERS * 2).await?;
    ensure!(outbox.waiting().await? > 0, "nothing waits for the broker that is away");
    ensure!(outbox.published().await? <= published, "something is published while the broker is away");
    ensure!(spectator.seen.deliveries() == seen, "something is delivered while the broker is away");
    mortal.start_again().await?;

    load.await??;
    outbox.has_arrived(&spectator.seen).await?;
    let written = outbox.ids().await?;
    let seen = spectator.seen.ids();
    let others: Vec<_> = seen.difference(&written).filter(|id| !of_demo.contains(id)).collect();
    ensure!(others.is_empty(), "events arrive that were not written: {others:?}");
    let delivered = spectator.seen.first_deliveries();
    for (thing, sequences) in outbox.things().await? {
        assert_eq!(delivered.get(&thing), Some(&sequences), "{thing}");
    }
    drop((one, other));
    assert_eq!(audit(&database).await.orders, i64::try_from(ORDERS)?);
    Ok(())
}

/// A transaction that began first, with an older event, commits after one with a younger event: both arrive.
pub async fn what_commits_late_arrives(url: &str) -> anyhow::Result<()> {
    let spectator = Spectator::start(broker(url)?).await?;
    let (program, outbox, ..) = served(url).await?;
    let (one, other) = (Uuid::new_v4(), Uuid::new_v4());
    let (older, younger) = (one.min(other), one.max(other));
    let mut late = outbox.database.begin().await?;
    Outbox::write(&mut *late, older, Uuid::new_v4(), 1).await?;
    Outbox::write(&outbox.database, younger, Uuid::new_v4(), 1).await?;
    ensure!(!outbox.ids().await?.contains(&older), "it is committed already");
    // The server's own event wakes the relay, which then finds the younger one.
    let (path, key) = ("/v1/accounts", "account-while-late");
    let account = json!({ "owner": "carol", "currency": "CNY" });
    ensure!(program.demo().post(path, key, &account).await?.status == 201);
    late.commit().await?;
    outbox.has_arrived(&spectator.seen).await?;
    ensure!(spectator.seen.ids().is_superset(&[older, younger].into()));
    Ok(())
}

/// An event that is to be tried again later holds up those of its thing, and not others; each delivery counts.
pub async fn what_is_tried_again_is_not_overtaken(url: &str) -> anyhow::Result<()> {
    let broker = broker(url)?;
    let mut subscription = broker.subscribe("patient").await?;
    let held_up = Uuid::new_v4();
    // Its neighbour is in another partition, where there are any.
    let other = Uuid::from_u128(held_up.as_u128() ^ 1);
    let messages = [event(held_up, 1), event(held_up, 2), event(other, 1), event(other, 2)];
    broker.publish(&messages).await?;

    let pause = Duration::from_millis(700);
    let mut told: Vec<(String, i64, u32)> = Vec::new();
    let mut tried_at = None;
    while told.len() < messages.len() + 1 {
        let delivery = next(&mut *subscription).await?;
        let message = &delivery.message;
        told.push((message.subject.clone(), message.sequence, delivery.attempt));
        if message.subject == messages[0].subject && message.sequence == 1 && delivery.attempt == 1 {
            tried_at = Some(Instant::now());
            delivery.retry_after(pause).await?;
        } else {
            if message.subject == messages[0].subject {
                let since = tried_at.context("it was tried before")?.elapsed();
                ensure!(since >= pause, "{} is delivered {since:?} after the attempt", message.sequence);
            }
            delivery.ack().await?;
        }
    }
    let of = |thing: &Message| -> Vec<(i64, u32)> {
        let its = told.iter().filter(|(subject, ..)| *subject == thing.subject);
        its.map(|(_, sequence, attempt)| (*sequence, *attempt)).collect()
    };
    assert_eq!(of(&messages[0]), [(1, 1), (1, 2), (2, 1)]);
    assert_eq!(of(&messages[2]), [(1, 1), (2, 1)]);
    let last_two: Vec<_> = told[3..].iter().map(|(subject, ..)| subject).collect();
    assert_eq!(last_two, [&messages[0].subject, &messages[0].subject], "another thing is held up");
    Ok(())
}

/// What a consumer has in hand when it dies is delivered to another, before what comes after it; and what it has acknowledged
/// is not.
pub async fn what_a_dead_consumer_had_in_hand_goes_to_another(url: &str) -> anyhow::Result<()> {
    let broker_of_one = broker(url)?;
    let mut subscription = broker_of_one.subscribe("mortal").await?;
    let thing = Uuid::new_v4();
    broker_of_one.publish(&[event(thing, 1), event(thing, 2), event(thing, 3)]).await?;
    next(&mut *subscription).await?.ack().await?;
    let in_hand = next(&mut *subscription).await?;
    assert_eq!(in_hand.message.sequence, 2);
    drop((subscription, in_hand, broker_of_one));

    let broker_of_other = broker(url)?;
    let mut subscription = broker_of_other.subscribe("mortal").await?;
    for sequence in [2, 3] {
        let delivery = next(&mut *subscription).await.with_context(|| format!("event {sequence}"))?;
        assert_eq!(delivery.message.sequence, sequence);
        delivery.ack().await?;
    }
    Ok(())
}

/// What is published and not acknowledged is counted, also while nobody takes it.
pub async fn what_waits_for_a_consumer_is_counted(url: &str) -> anyhow::Result<()> {
    let broker = broker(url)?;
    drop(broker.subscribe("late").await?);
    let messages: Vec<Message> = (0..5).map(|_| event(Uuid::new_v4(), 1)).collect();
    broker.publish(&messages).await?;
    let waits = async |count: u64| {
        let counted = async || Ok(broker.waiting("late").await? == count);
        until(|| format!("{count} events do not wait"), counted).await
    };
    waits(5).await?;
    let mut subscription = broker.subscribe("late").await?;
    for _ in &messages {
        next(&mut *subscription).await?.ack().await?;
    }
    waits(0).await
}

/// Places orders by hold, captures and refunds each; answers when all of it is done.
async fn lives(callers: &[Caller; 2]) -> anyhow::Result<()> {
    let lives = stream::iter(0..ORDERS).map(|number| life(callers, number));
    lives.buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
    Ok(())
}

async fn life(callers: &[Caller; 2], number: usize) -> anyhow::Result<()> {
    let mut body = order_body(ALICE, &format!("o-{number}"), "3.00");
    body["payment"] = json!({ "method": "hold" });
    let placed = asked(callers, "/v1/orders", &format!("p-{number}"), &body).await?;
    let order = placed.header("location").context("a placed order has a place")?.to_owned();
    asked(callers, &format!("{order}/capture"), &format!("c-{number}"), &json!({})).await?;
    let refund = json!({ "amount": "1.00", "reference": format!("r-{number}") });
    asked(callers, &format!("{order}/refunds"), &format!("r-{number}"), &refund).await?;
    Ok(())
}

/// Asks one server after the other until one has done it.
async fn asked(callers: &[Caller; 2], path: &str, key: &str, body: &Value) -> anyhow::Result<Exchange> {
    let began = Instant::now();
    for caller in callers.iter().cycle() {
        ensure!(began.elapsed() < DEADLINE, "{key} has no answer that stays");
        match caller.post(path, key, body).await {
            Ok(answer) if (200..300).contains(&answer.status) => return Ok(answer),
            Ok(answer) => {
                let passing = [Some("idempotency-in-progress"), Some("unavailable"), Some("outcome-unknown")];
                ensure!(
                    passing.contains(&answer.slug().as_deref()),
                    "{key}: {} {}",
                    answer.status,
                    String::from_utf8_lossy(&answer.bytes)
                );
                sleep(Duration::from_millis(20)).await;
            }
            // It was killed.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    unreachable!("the callers are tried for ever")
}

/// The next delivery.
pub async fn next(subscription: &mut dyn Subscription) -> anyhow::Result<Delivery> {
    Ok(timeout(DEADLINE, subscription.next()).await.context("nothing is delivered")??)
}

/// An event of a thing.
pub fn event(thing: Uuid, sequence: i64) -> Message {
    let pending = Pending {
        client_id: ClientId(Uuid::nil()),
        event_id: EventId(Uuid::new_v4()),
        event_type: "onefold.order.paid.v1".to_owned(),
        aggregate_type: "order".to_owned(),
        aggregate_id: thing,
        sequence,
        data: "{}".to_owned(),
        occurred_at: SystemClock.now(),
        traceparent: None,
        horizon: "0".to_owned(),
    };
    pending.message()
}
