//! Kafka, as far as the library's own mock cluster is one: it speaks the protocol over sockets, and keeps nothing on disk. No real
//! broker is asked.

use std::sync::Arc;
use std::time::Duration;

use client::ClientId;
use events::brokers::Address;
use events::message::Pending;
use events::{Broker, Delivery, EventId, Message, Subscription};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

/// How long a delivery may take: a consumer group takes seconds to come together.
const DELIVERED_WITHIN: Duration = Duration::from_secs(60);

fn cluster() -> (MockCluster<'static, DefaultProducerContext>, Arc<dyn Broker>) {
    let cluster = MockCluster::new(3).expect("a mock cluster");
    cluster.create_topic("onefold", 4, 3).expect("a topic");
    let servers: Vec<_> =
        cluster.bootstrap_servers().split(',').map(|server| format!("kafka://{server}")).collect();
    let address: Address = servers.join(",").parse().expect("an address");
    let broker = address.broker(&[], Duration::ZERO).expect("a broker");
    (cluster, broker)
}

fn event(thing: Uuid, sequence: i64) -> Message {
    let pending = Pending {
        client_id: ClientId(Uuid::nil()),
        event_id: EventId(Uuid::from_u128(thing.as_u128() << 8 | u128::from(sequence.unsigned_abs()))),
        event_type: "onefold.order.paid.v1".to_owned(),
        aggregate_type: "order".to_owned(),
        aggregate_id: thing,
        sequence,
        data: "{}".to_owned(),
        occurred_at: chrono::DateTime::UNIX_EPOCH,
        traceparent: None,
        horizon: "0".to_owned(),
    };
    pending.message()
}

async fn next(subscription: &mut dyn Subscription) -> Delivery {
    timeout(DELIVERED_WITHIN, subscription.next()).await.expect("in time").expect("a delivery")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_each_thing_events_arrive_in_order() {
    let (_cluster, broker) = cluster();
    let things: Vec<Uuid> = (1..=20).map(Uuid::from_u128).collect();
    let messages: Vec<Message> =
        (1..=5).flat_map(|sequence| things.iter().map(move |thing| event(*thing, sequence))).collect();
    broker.publish(&messages).await.expect("it is accepted");
    let mut subscription = broker.subscribe("spectator").await.expect("a subscription");
    let mut seen = std::collections::BTreeMap::<String, Vec<i64>>::new();
    for _ in 0..messages.len() {
        let delivery = next(&mut *subscription).await;
        seen.entry(delivery.message.subject.clone()).or_default().push(delivery.message.sequence);
        delivery.ack().await.expect("it is done with");
    }
    assert_eq!(seen.len(), things.len());
    assert!(seen.values().all(|sequences| *sequences == [1, 2, 3, 4, 5]), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_tried_again_is_not_overtaken() {
    let (_cluster, broker) = cluster();
    let thing = Uuid::from_u128(7);
    broker.publish(&[event(thing, 1), event(thing, 2)]).await.expect("it is accepted");
    let mut subscription = broker.subscribe("patient").await.expect("a subscription");
    let first = next(&mut *subscription).await;
    assert_eq!((first.message.sequence, first.attempt), (1, 1));
    let (pause, asked) = (Duration::from_millis(300), Instant::now());
    first.retry_after(pause).await.expect("it is held");
    let again = next(&mut *subscription).await;
    assert!(asked.elapsed() >= pause);
    assert_eq!((again.message.sequence, again.attempt), (1, 2));
    again.ack().await.expect("it is done with");
    assert_eq!(next(&mut *subscription).await.message.sequence, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_consumer_had_in_hand_goes_to_another() {
    let (_cluster, broker) = cluster();
    let thing = Uuid::from_u128(7);
    broker.publish(&[event(thing, 1), event(thing, 2)]).await.expect("it is accepted");
    let mut subscription = broker.subscribe("mortal").await.expect("a subscription");
    next(&mut *subscription).await.ack().await.expect("it is done with");
    let in_hand = next(&mut *subscription).await;
    assert_eq!(in_hand.message.sequence, 2);
    drop((subscription, in_hand));
    let mut subscription = broker.subscribe("mortal").await.expect("a subscription");
    assert_eq!(next(&mut *subscription).await.message.sequence, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_away_is_a_fault_and_then_accepts() {
    let (cluster, broker) = cluster();
    for number in 1..=3 {
        cluster.broker_down(number).expect("it goes down");
    }
    let messages = [event(Uuid::from_u128(7), 1)];
    broker.publish(&messages).await.expect_err("nobody is there");
    for number in 1..=3 {
        cluster.broker_up(number).expect("it comes up");
    }
    let began = Instant::now();
    while let Err(error) = broker.publish(&messages).await {
        assert!(began.elapsed() < DELIVERED_WITHIN, "{error}");
    }
    let mut subscription = broker.subscribe("late").await.expect("a subscription");
    assert_eq!(next(&mut *subscription).await.message.id, messages[0].id);
}
