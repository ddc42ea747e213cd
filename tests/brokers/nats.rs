//! NATS with JetStream.

use std::time::Duration;

use anyhow::Context;
use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, StorageType};
use events::Message;
use events::brokers::nats::STREAM;
use onefold_tests::nats_server::NatsServer;
use uuid::Uuid;

use crate::consumers;
use crate::promises::{self, Mortal, event, next, served};
use crate::spectator::{Spectator, until};

impl Mortal for NatsServer {
    async fn kill(&mut self) -> anyhow::Result<()> {
        self.kill().await
    }

    async fn start_again(&mut self) -> anyhow::Result<()> {
        self.start_again().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_order_is_kept_while_servers_and_nats_are_killed() -> anyhow::Result<()> {
    let mut nats = NatsServer::start().await?;
    promises::nothing_is_lost_and_order_is_kept(&nats.url(), &mut nats).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_equal_the_books_while_consumers_and_nats_are_killed() -> anyhow::Result<()> {
    let mut nats = NatsServer::start().await?;
    let url = nats.url();
    let bring = async |messages: &[Message]| {
        // It makes the stream, and the server knows the ids of these from then on.
        promises::broker(&url)?.publish(messages).await?;
        let context = jetstream::new(async_nats::connect(&url).await?);
        // Without an id the server takes what it has for something new; and to any partition, where it may come first.
        for (number, message) in messages.iter().enumerate() {
            let partition = number as u32 % events::brokers::nats::PARTITIONS;
            let subject = format!("{STREAM}.{partition}.{}.again", message.client_id.0);
            context.publish(subject, message.body.clone()).await?.await?;
        }
        Ok(())
    };
    consumers::totals_equal_the_books_and_each_webhook_is_due_once(&url, &mut nats, bring).await
}

#[tokio::test]
async fn what_commits_late_arrives_over_nats() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    promises::what_commits_late_arrives(&nats.url()).await
}

#[tokio::test]
async fn what_is_tried_again_is_not_overtaken_on_nats() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    promises::what_is_tried_again_is_not_overtaken(&nats.url()).await
}

#[tokio::test]
async fn what_a_dead_consumer_had_in_hand_goes_to_another_on_nats() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    promises::what_a_dead_consumer_had_in_hand_goes_to_another(&nats.url()).await
}

#[tokio::test]
async fn what_waits_for_a_consumer_is_counted_on_nats() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    promises::what_waits_for_a_consumer_is_counted(&nats.url()).await
}

#[tokio::test]
async fn what_is_published_again_inside_the_window_is_stored_once() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    let spectator = Spectator::start(promises::broker(&nats.url())?).await?;
    let (_program, outbox, ..) = served(&nats.url()).await?;
    outbox.has_arrived(&spectator.seen).await?;
    let (before, deliveries) = (stored(&nats).await?, spectator.seen.deliveries());
    assert!(before > 0, "the demo data is told of");

    // As after a server that died between the broker's answer and its own note, only with all of them.
    assert!(outbox.begin_anew().await? > 0);
    outbox.has_arrived(&spectator.seen).await?;
    assert_eq!((stored(&nats).await?, spectator.seen.deliveries()), (before, deliveries));
    Ok(())
}

#[tokio::test]
async fn what_is_published_again_after_the_window_arrives_again_under_its_id() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    let window = Duration::from_millis(200);
    // Whoever runs NATS may have made the stream, and it is left as it is.
    let stream = Config {
        name: STREAM.to_owned(),
        subjects: vec![format!("{STREAM}.>")],
        storage: StorageType::File,
        duplicate_window: window,
        ..Config::default()
    };
    jetstream::new(async_nats::connect(nats.url()).await?).create_stream(stream).await?;
    let broker = promises::broker(&nats.url())?;
    let spectator = Spectator::start(broker.clone()).await?;
    let message = event(Uuid::new_v4(), 1);
    let messages = [message.clone()];
    let again = async || {
        broker.publish(&messages).await?;
        Ok(spectator.seen.deliveries() >= 2)
    };
    until(|| "the window does not end".to_owned(), again).await?;
    assert_eq!(spectator.seen.ids(), [message.id.0].into());
    Ok(())
}

#[tokio::test]
async fn the_window_does_not_hold_back_what_a_consumer_wants_again() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    let broker = promises::broker(&nats.url())?;
    let mut subscription = broker.subscribe("forgetful").await?;
    let message = event(Uuid::new_v4(), 1);
    broker.publish(std::slice::from_ref(&message)).await?;
    next(&mut *subscription).await?.retry_after(Duration::ZERO).await?;
    // Published again as well, which the server drops: it is the consumer's own word that brings the event back.
    broker.publish(std::slice::from_ref(&message)).await?;
    let again = next(&mut *subscription).await?;
    assert_eq!((again.message.clone(), again.attempt), (message, 2));
    again.ack().await?;
    assert_eq!(stored(&nats).await?, 1);
    Ok(())
}

#[tokio::test]
async fn what_is_no_event_is_passed_over() -> anyhow::Result<()> {
    let nats = NatsServer::start().await?;
    let broker = promises::broker(&nats.url())?;
    let mut subscription = broker.subscribe("careful").await?;
    let message = event(Uuid::new_v4(), 1);
    // To all partitions, and so to that of the event.
    let client = async_nats::connect(nats.url()).await?;
    for partition in 0..events::brokers::nats::PARTITIONS {
        let subject = format!("{STREAM}.{partition}.somebody");
        jetstream::new(client.clone()).publish(subject, "no event".into()).await?.await?;
    }
    broker.publish(std::slice::from_ref(&message)).await?;
    assert_eq!(next(&mut *subscription).await?.message, message);
    Ok(())
}

/// How many messages the stream has.
async fn stored(nats: &NatsServer) -> anyhow::Result<u64> {
    let client = async_nats::connect(nats.url()).await?;
    let mut stream = jetstream::new(client).get_stream(STREAM).await.context("there is a stream")?;
    Ok(stream.info().await?.state.messages)
}
