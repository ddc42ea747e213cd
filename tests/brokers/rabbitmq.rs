//! RabbitMQ.

use std::time::Duration;

use events::Message;
use events::brokers::rabbitmq::EXCHANGE;
use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use onefold_tests::rabbitmq_server::{RabbitMqServer, Turn};
use uuid::Uuid;

use crate::consumers;
use crate::promises::{self, Mortal, event, next, served};
use crate::spectator::Spectator;

impl Mortal for RabbitMqServer {
    async fn kill(&mut self) -> anyhow::Result<()> {
        self.kill().await
    }

    async fn start_again(&mut self) -> anyhow::Result<()> {
        self.start_again().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_and_order_is_kept_while_servers_and_rabbitmq_are_killed() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    let url = turn.node().new_url()?;
    promises::nothing_is_lost_and_order_is_kept(&url, turn.node()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_equal_the_books_while_consumers_and_rabbitmq_are_killed() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    let url = turn.node().new_url()?;
    // It knows no ids: what is published again is delivered again.
    let bring = async |messages: &[Message]| Ok(promises::broker(&url)?.publish(messages).await?);
    consumers::totals_equal_the_books_and_each_webhook_is_due_once(&url, turn.node(), bring).await
}

#[tokio::test]
async fn what_commits_late_arrives_over_rabbitmq() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    promises::what_commits_late_arrives(&turn.node().new_url()?).await
}

#[tokio::test]
async fn what_is_tried_again_is_not_overtaken_on_rabbitmq() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    promises::what_is_tried_again_is_not_overtaken(&turn.node().new_url()?).await
}

#[tokio::test]
async fn what_a_dead_consumer_had_in_hand_goes_to_another_on_rabbitmq() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    promises::what_a_dead_consumer_had_in_hand_goes_to_another(&turn.node().new_url()?).await
}

#[tokio::test]
async fn what_waits_for_a_consumer_is_counted_on_rabbitmq() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    promises::what_waits_for_a_consumer_is_counted(&turn.node().new_url()?).await
}

#[tokio::test]
async fn what_is_published_again_arrives_again_under_its_id() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    let url = turn.node().new_url()?;
    let spectator = Spectator::start(promises::broker(&url)?).await?;
    let (_program, outbox, ..) = served(&url).await?;
    outbox.has_arrived(&spectator.seen).await?;
    let (seen, deliveries) = (spectator.seen.ids(), spectator.seen.deliveries());

    let again = outbox.begin_anew().await?;
    outbox.has_arrived(&spectator.seen).await?;
    crate::spectator::until(
        || format!("{} deliveries after {deliveries} and {again}", spectator.seen.deliveries()),
        async || Ok(spectator.seen.deliveries() >= deliveries + again),
    )
    .await?;
    assert_eq!(spectator.seen.ids(), seen);
    Ok(())
}

#[tokio::test]
async fn what_no_queue_takes_counts_as_not_accepted() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    let broker = promises::broker(&turn.node().new_url()?)?;
    let message = event(Uuid::new_v4(), 1);
    let refused = broker.publish(std::slice::from_ref(&message)).await.expect_err("nobody takes it");
    assert!(refused.to_string().contains("no queue takes"), "{refused}");

    let mut subscription = broker.subscribe("at last").await?;
    broker.publish(std::slice::from_ref(&message)).await?;
    let delivery = next(&mut *subscription).await?;
    assert_eq!(delivery.message, message);
    delivery.ack().await?;
    Ok(())
}

#[tokio::test]
async fn what_is_no_event_is_passed_over() -> anyhow::Result<()> {
    let mut turn = Turn::take().await?;
    let url = turn.node().new_url()?;
    let broker = promises::broker(&url)?;
    let mut subscription = broker.subscribe("careful").await?;
    let connection = Connection::connect(&url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let options = BasicPublishOptions::default();
    let properties = BasicProperties::default();
    channel.basic_publish(EXCHANGE.into(), "x".into(), options, b"no event", properties).await?.await?;
    let message = event(Uuid::new_v4(), 1);
    broker.publish(std::slice::from_ref(&message)).await?;
    let delivery = next(&mut *subscription).await?;
    assert_eq!(delivery.message, message);
    // Without a word it comes back.
    drop(delivery);
    let again = next(&mut *subscription).await?;
    assert_eq!((again.message.clone(), again.attempt), (message, 2));
    again.retry_after(Duration::ZERO).await?;
    Ok(())
}
