//! NATS with JetStream, from version 2.9.
//!
//! Events are kept in the stream `onefold`, which is made where it is absent. The subject of one is
//! `onefold.PARTITION.CLIENT.` and its type without `onefold.`, so that whoever wants some subscribes to such as
//! `onefold.*.CLIENT.order.>`.
//!
//! **Repeats.** The event's id is the message's (`Nats-Msg-Id`), and the server drops what comes again within two minutes.
//! That saves deliveries and nothing else depends on it: what comes later is stored again, and consumers know it by its id.
//!
//! **Order.** A durable consumer of JetStream hands a message out again after its successors, unless it hands out one at a
//! time. So a consumer of events is one of those for each partition: one event in hand of each, in whichever process, and none
//! overtakes another of its thing. One that is to be tried again later holds up its partition for so long.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::consumer::pull::Config as Pull;
use async_nats::jetstream::consumer::{AckPolicy, Consumer};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::{AckKind, PublishMessage};
use async_nats::jetstream::stream::{Config as StreamConfig, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, ServerAddr};
use async_trait::async_trait;
use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::{BoxStream, select_all};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::AddressError;
use super::waves::waves;
use crate::Message;
use crate::broker::{Acknowledge, Broker, BrokerFault, Delivery, Subscription};
use crate::message::CONTENT_TYPE;

const NAME: &str = "nats";

/// The stream that has the events.
pub const STREAM: &str = "onefold";

/// How many events of one consumer can be in hand at once. Changing it lets events that are published before and after the change
/// overtake each other, and asks for new durable consumers.
pub const PARTITIONS: u32 = 32;

/// How long the server knows the ids of what it has stored.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// After so long an event that is in hand is handed to another: its consumer has died.
const ACK_WAIT: Duration = Duration::from_secs(10);

/// How long the server may take to connect, or to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Between two signs of life of a subscription that has nothing to deliver; two that fail to come end it.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// A NATS server, or several that are one cluster.
pub struct Nats {
    servers: Vec<ServerAddr>,
    retention: Duration,
    client: OnceCell<Client>,
    /// Whether the stream was seen to be there.
    has_stream: AtomicBool,
}

impl Nats {
    /// The servers of these URLs, which commas separate. A stream that is made keeps events for `retention`.
    ///
    /// # Errors
    ///
    /// A URL that cannot be read.
    pub fn at(urls: &str, retention: Duration) -> Result<Self, AddressError> {
        let server = |url: &str| {
            let shape = "nats://USER:PASSWORD@HOST:4222, several with commas between";
            url.trim().parse().map_err(|_| AddressError::Malformed("it is no URL of NATS".to_owned(), shape))
        };
        let servers = urls.split(',').map(server).collect::<Result<_, _>>()?;
        Ok(Self { servers, retention, client: OnceCell::new(), has_stream: AtomicBool::new(false) })
    }

    /// The connection is made once and then makes itself again, in the background and for ever.
    async fn context(&self) -> Result<Context, BrokerFault> {
        let connect = || async {
            let options = ConnectOptions::new().name("onefold").connection_timeout(ANSWER_WITHIN);
            options.connect(&self.servers[..]).await.map_err(fault)
        };
        let client = self.client.get_or_try_init(connect).await?;
        // What is sent without a connection is kept in memory and sent some time, when another relay may be further.
        if client.connection_state() != State::Connected {
            return Err(fault("the connection is lost, and is being made again"));
        }
        Ok(jetstream::context::ContextBuilder::new()
            .timeout(ANSWER_WITHIN)
            .ack_timeout(ANSWER_WITHIN)
            .build(client.clone()))
    }

    async fn stream(&self, context: &Context) -> Result<Stream, BrokerFault> {
        let configuration = StreamConfig {
            name: STREAM.to_owned(),
            description: Some("What happens in Onefold".to_owned()),
            subjects: vec![format!("{STREAM}.>")],
            storage: StorageType::File,
            max_age: self.retention,
            duplicate_window: DUPLICATE_WINDOW,
            ..StreamConfig::default()
        };
        context.get_or_create_stream(configuration).await.map_err(fault)
    }
}

#[async_trait]
impl Broker for Nats {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        let context = self.context().await?;
        if !self.has_stream.load(Ordering::Relaxed) {
            self.stream(&context).await?;
            self.has_stream.store(true, Ordering::Relaxed);
        }
        for wave in waves(messages) {
            let mut sent = Vec::with_capacity(wave.len());
            for message in wave {
                sent.push(context.send_publish(subject(message), body(message)).await.map_err(fault)?);
            }
            for acknowledged in sent {
                acknowledged.await.map_err(|error| {
                    if error.kind() == PublishErrorKind::StreamNotFound {
                        self.has_stream.store(false, Ordering::Relaxed);
                    }
                    fault(error)
                })?;
            }
        }
        Ok(())
    }

    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        let context = self.context().await?;
        let stream = self.stream(&context).await?;
        let mut partitions = Vec::new();
        for partition in 0..PARTITIONS {
            let taking = durable(&stream, consumer, partition).await?;
            let deliveries = taking.stream().heartbeat(HEARTBEAT).messages().await.map_err(fault)?;
            partitions.push(deliveries.map(|delivered| delivered.map_err(fault)).boxed());
        }
        Ok(Box::new(Taking { deliveries: select_all(partitions).boxed() }))
    }

    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault> {
        let stream = self.stream(&self.context().await?).await?;
        let asked = (0..PARTITIONS).map(|partition| stream.consumer_info(name_of(consumer, partition)));
        let partitions = try_join_all(asked).await.map_err(fault)?;
        let waiting = partitions.iter().map(|info| info.num_pending + info.num_ack_pending as u64);
        Ok(waiting.sum())
    }
}

/// The events of a partition that a consumer has not acknowledged, one at a time.
async fn durable(stream: &Stream, consumer: &str, partition: u32) -> Result<Consumer<Pull>, BrokerFault> {
    let name = name_of(consumer, partition);
    let configuration = Pull {
        durable_name: Some(name.clone()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_ack_pending: 1,
        filter_subject: format!("{STREAM}.{partition}.>"),
        ..Pull::default()
    };
    stream.get_or_create_consumer(&name, configuration).await.map_err(fault)
}

/// The name of a consumer's part that has the events of this partition.
fn name_of(consumer: &str, partition: u32) -> String {
    format!("{consumer}-{partition}")
}

/// Where an event is published, such as `onefold.7.0191….order.paid.v1`.
fn subject(message: &Message) -> String {
    let event_type = message.event_type.strip_prefix("onefold.").unwrap_or(&message.event_type);
    format!("{STREAM}.{}.{}.{event_type}", partition(&message.subject), message.client_id.0)
}

/// All events of a thing are in one partition. The numbers 31 and 0 must stay, for the same reason as [`PARTITIONS`].
fn partition(thing: &str) -> u32 {
    let hash = thing.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    hash % PARTITIONS
}

fn body(message: &Message) -> PublishMessage {
    let mut body = PublishMessage::build()
        .message_id(message.id.to_string())
        .expected_stream(STREAM)
        .header("content-type", CONTENT_TYPE)
        .payload(message.body.clone());
    if let Some(traceparent) = &message.traceparent {
        body = body.header("traceparent", traceparent.as_str());
    }
    body
}

fn fault(what: impl ToString) -> BrokerFault {
    BrokerFault::new(NAME, what)
}

impl fmt::Debug for Nats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Nats").field("servers", &self.servers.len()).finish_non_exhaustive()
    }
}

/// A consumer's subscription: all partitions at once.
struct Taking {
    deliveries: BoxStream<'static, Result<jetstream::Message, BrokerFault>>,
}

#[async_trait]
impl Subscription for Taking {
    async fn next(&mut self) -> Result<Delivery, BrokerFault> {
        loop {
            let delivered =
                self.deliveries.next().await.ok_or_else(|| fault("the subscription has ended"))??;
            match Message::read(delivered.payload.clone()) {
                Ok(message) => {
                    let delivered_before = delivered.info().map_or(1, |info| info.delivered);
                    let attempt = u32::try_from(delivered_before).unwrap_or(u32::MAX);
                    return Ok(Delivery::new(message, attempt, Box::new(AtConsumer(delivered))));
                }
                Err(error) => {
                    tracing::warn!(subject = %delivered.subject, %error, "a message of the stream is passed over");
                    delivered.ack_with(AckKind::Term).await.map_err(fault)?;
                }
            }
        }
    }
}

/// An event that a consumer has in hand. Dropped without a word, it is delivered again after [`ACK_WAIT`].
struct AtConsumer(jetstream::Message);

#[async_trait]
impl Acknowledge for AtConsumer {
    async fn ack(self: Box<Self>) -> Result<(), BrokerFault> {
        // With an answer: an acknowledgement that is lost costs a delivery.
        timeout(ANSWER_WITHIN, self.0.double_ack())
            .await
            .map_err(|_| fault("an acknowledgement was not answered"))?
            .map_err(fault)
    }

    async fn retry_after(self: Box<Self>, pause: Duration) -> Result<(), BrokerFault> {
        self.0.ack_with(AckKind::Nak(Some(pause))).await.map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::message::tests::message;

    #[test]
    fn a_subject_names_partition_client_and_type() {
        let message = message("order/00000000-0000-0000-0000-000000000003", 1);
        assert_eq!(subject(&message), "onefold.4.00000000-0000-0000-0000-000000000000.order.paid.v1");
    }

    #[test]
    fn things_spread_over_all_partitions() {
        let used: std::collections::BTreeSet<u32> =
            (0..1_000_u128).map(|number| partition(&format!("order/{}", Uuid::from_u128(number)))).collect();
        assert_eq!(used.len(), PARTITIONS as usize);
    }
}
