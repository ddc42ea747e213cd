//! Kafka, through librdkafka; only where the service is built with the feature `kafka`.
//!
//! Events go to the topic `onefold`, which whoever runs Kafka has made, or which Kafka makes itself where it is allowed to. The
//! key of one is what it happened to, so that all events of a thing are in one partition. It counts as accepted when all replicas
//! that are in sync have it (`acks=all`, idempotent producer).
//!
//! **Repeats.** Kafka knows what a producer sends again, and not what another one does. The header `id` is the event's, for
//! consumers to know it by.
//!
//! **Order.** A consumer is a consumer group, and of each partition it has one event in hand, the next when that is done with:
//! what is committed is always the place of the first event that is not.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, StreamConsumer};
use rdkafka::error::KafkaResult;
use rdkafka::message::{BorrowedMessage, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::spawn_blocking;

use super::AddressError;
use super::turns::{Accept, Held, Told, Turns};
use super::waves::waves;
use crate::Message;
use crate::broker::{Broker, BrokerFault, Delivery, Subscription};
use crate::message::CONTENT_TYPE;

const NAME: &str = "kafka";

/// The topic that events are published to.
pub const TOPIC: &str = "onefold";

/// How long a cluster may take to accept an event, in milliseconds, all tries together.
const ACCEPTED_WITHIN_MS: &str = "5000";

/// How long a cluster may take to answer a question.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How many events of a partition wait in memory behind the one in hand, before no more are asked for.
const BEHIND_MAX: usize = 64;

/// A Kafka cluster.
pub struct Kafka {
    servers: String,
    producer: OnceCell<FutureProducer>,
}

impl Kafka {
    /// The cluster that these servers, separated by commas, belong to: `kafka://HOST:9092,HOST:9092`.
    ///
    /// # Errors
    ///
    /// No server.
    pub fn at(urls: &str) -> Result<Self, AddressError> {
        let servers: Vec<_> = urls.split(',').map(|url| url.trim().trim_start_matches("kafka://")).collect();
        if servers.iter().any(|server| server.is_empty() || server.contains(['/', '@', ' '])) {
            let what = "it names no server, or more than host and port".to_owned();
            return Err(AddressError::Malformed(what, "kafka://HOST:9092,HOST:9092"));
        }
        Ok(Self { servers: servers.join(","), producer: OnceCell::new() })
    }

    fn configuration(&self) -> ClientConfig {
        let mut configuration = ClientConfig::new();
        configuration.set("bootstrap.servers", &self.servers).set("client.id", "onefold");
        configuration
    }

    fn configuration_of(&self, consumer: &str) -> ClientConfig {
        let mut configuration = self.configuration();
        configuration
            .set("group.id", format!("onefold-{consumer}"))
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "earliest");
        configuration
    }
}

#[async_trait]
impl Broker for Kafka {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        let open = || async {
            let mut configuration = self.configuration();
            configuration.set("acks", "all").set("enable.idempotence", "true");
            configuration.set("message.timeout.ms", ACCEPTED_WITHIN_MS).set("linger.ms", "1");
            configuration.create().map_err(fault)
        };
        let producer: &FutureProducer = self.producer.get_or_try_init(open).await?;
        for wave in waves(messages) {
            let mut sent = Vec::with_capacity(wave.len());
            for message in wave {
                let id = message.id.to_string();
                let mut headers = OwnedHeaders::new()
                    .insert(Header { key: "content-type", value: Some(CONTENT_TYPE) })
                    .insert(Header { key: "id", value: Some(&id) });
                if let Some(traceparent) = &message.traceparent {
                    headers = headers.insert(Header { key: "traceparent", value: Some(traceparent) });
                }
                let record =
                    FutureRecord::to(TOPIC).key(&message.subject).payload(&message.body[..]).headers(headers);
                sent.push(producer.send_result(record).map_err(|(error, _)| fault(error))?);
            }
            for accepted in sent {
                let accepted = accepted.await.map_err(|_| fault("the producer has ended"))?;
                accepted.map_err(|(error, _)| fault(error))?;
            }
        }
        Ok(())
    }

    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        let configuration = self.configuration_of(consumer);
        let consumer: StreamConsumer = configuration.create().map_err(fault)?;
        consumer.subscribe(&[TOPIC]).map_err(fault)?;
        let (tell, told) = mpsc::unbounded_channel();
        let consumer = Arc::new(consumer);
        Ok(Box::new(Taking { consumer, turns: Turns::default(), paused: HashMap::new(), tell, told }))
    }

    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault> {
        let configuration = self.configuration_of(consumer);
        spawn_blocking(move || behind(&configuration)).await.map_err(fault)?.map_err(fault)
    }
}

/// How many events stand behind the places that a group has committed, in all partitions. It asks without becoming a member.
fn behind(configuration: &ClientConfig) -> KafkaResult<u64> {
    let asking: BaseConsumer = configuration.create()?;
    let mut partitions = TopicPartitionList::new();
    for topic in asking.fetch_metadata(Some(TOPIC), ANSWER_WITHIN)?.topics() {
        for partition in topic.partitions() {
            partitions.add_partition(TOPIC, partition.id());
        }
    }
    let mut behind = 0;
    for place in asking.committed_offsets(partitions, ANSWER_WITHIN)?.elements() {
        let (first, end) = asking.fetch_watermarks(TOPIC, place.partition(), ANSWER_WITHIN)?;
        let next = match place.offset() {
            Offset::Offset(next) => next.max(first),
            _ => first,
        };
        behind += u64::try_from(end - next).unwrap_or(0);
    }
    Ok(behind)
}

fn fault(what: impl ToString) -> BrokerFault {
    BrokerFault::new(NAME, what)
}

impl fmt::Debug for Kafka {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kafka").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// Where an event stands, and the group that has it.
struct Place {
    consumer: Arc<StreamConsumer>,
    partition: i32,
    offset: i64,
}

impl Accept for Place {
    async fn accept(self) -> Result<(), BrokerFault> {
        let commit = move || {
            let mut next = TopicPartitionList::new();
            next.add_partition_offset(TOPIC, self.partition, Offset::Offset(self.offset + 1))?;
            self.consumer.commit(&next, CommitMode::Sync)
        };
        spawn_blocking(commit).await.map_err(fault)?.map_err(fault)
    }
}

/// A consumer's subscription.
struct Taking {
    consumer: Arc<StreamConsumer>,
    turns: Turns<Place>,
    /// Partitions of which no more is asked for, by their turn's name.
    paused: HashMap<String, i32>,
    tell: mpsc::UnboundedSender<Told<Place>>,
    told: mpsc::UnboundedReceiver<Told<Place>>,
}

impl Taking {
    fn arrived(&mut self, held: Option<Held<Place>>) -> Result<Option<Held<Place>>, BrokerFault> {
        let Some(held) = held else { return Ok(None) };
        let (turn, partition) = (held.turn.clone(), held.accept.partition);
        let in_turn = self.turns.arrived(held);
        if self.turns.behind(&turn) >= BEHIND_MAX && !self.paused.contains_key(&turn) {
            self.consumer.pause(&one(partition)).map_err(fault)?;
            self.paused.insert(turn, partition);
        }
        Ok(in_turn)
    }

    fn told(&mut self, told: Told<Place>) -> Result<Option<Held<Place>>, BrokerFault> {
        let in_turn = self.turns.told(told);
        let ready: Vec<_> = self.paused.keys().filter(|turn| self.turns.behind(turn) == 0).cloned().collect();
        for turn in ready {
            if let Some(partition) = self.paused.remove(&turn) {
                self.consumer.resume(&one(partition)).map_err(fault)?;
            }
        }
        Ok(in_turn)
    }
}

fn one(partition: i32) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    list.add_partition(TOPIC, partition);
    list
}

/// What was delivered, if it is an event; else it is told to the log, and stands behind what is committed next.
fn held(consumer: &Arc<StreamConsumer>, delivered: &BorrowedMessage<'_>) -> Option<Held<Place>> {
    let (partition, offset) = (delivered.partition(), delivered.offset());
    let body = Bytes::copy_from_slice(delivered.payload().unwrap_or_default());
    match Message::read(body) {
        Ok(message) => {
            let accept = Place { consumer: consumer.clone(), partition, offset };
            Some(Held { message, attempt: 1, turn: partition.to_string(), accept })
        }
        Err(error) => {
            tracing::warn!(partition, offset, %error, "a message of the topic is passed over");
            None
        }
    }
}

#[async_trait]
impl Subscription for Taking {
    async fn next(&mut self) -> Result<Delivery, BrokerFault> {
        loop {
            let turn = tokio::select! {
                told = self.told.recv() => self.told(told.expect("this holds a sender"))?,
                delivered = self.consumer.recv() => {
                    let held = held(&self.consumer, &delivered.map_err(fault)?);
                    self.arrived(held)?
                }
            };
            if let Some(held) = turn {
                return Ok(held.delivery(self.tell.clone()));
            }
        }
    }
}
