//! RabbitMQ, from version 3.10, over AMQP 0-9-1.
//!
//! Events go to the durable topic exchange `onefold`, under a routing key of the client and the type without `onefold.`, such
//! as `0191….order.paid.v1`. Each consumer has a durable queue `onefold.CONSUMER` with all of them; whoever wants some
//! binds a queue of its own. A batch counts as accepted when the server has confirmed each event, which it does when a quorum
//! of the queue's nodes has it on disk; an event that no queue takes is none that is accepted.
//!
//! **Repeats.** RabbitMQ does not know that an event comes again. The message id is the event's, for consumers to know it by.
//!
//! **Order.** One subscription of a queue is active at a time, and the others wait to take over (`x-single-active-consumer`).
//! It has many events in hand, and of each thing one, by `turns`. What it has not acknowledged when it dies goes back to its
//! place in the queue.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use lapin::message::Delivery as Delivered;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::uri::AMQPUri;
use lapin::{
    Acker, BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer, ExchangeKind,
};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::AddressError;
use super::turns::{Accept, Held, Told, Turns};
use super::waves::waves;
use crate::Message;
use crate::broker::{Broker, BrokerFault, Delivery, Subscription};
use crate::message::CONTENT_TYPE;

const NAME: &str = "rabbitmq";

/// The exchange that events are published to.
pub const EXCHANGE: &str = "onefold";

/// What the names of the consumers' queues begin with.
const QUEUE: &str = "onefold.";

/// How many events a subscription has in memory at most.
const IN_HAND_MAX: u16 = 256;

/// How long the server may take to connect and to make what is missing.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// How often an event may come back to its queue: as often as it likes, in a number that all versions understand.
const DELIVERIES_MAX: i64 = 1_000_000_000;

/// The code of a connection that ends as it should.
const CLOSED_WELL: u16 = 200;

/// The delivery mode of what is written to disk.
const PERSISTENT: u8 = 2;

/// A RabbitMQ server, or a cluster behind one address.
pub struct RabbitMq {
    uri: AMQPUri,
    consumers: Vec<String>,
    publishing: Mutex<Option<Publishing>>,
}

/// What publishing goes over. After any fault it is made anew.
struct Publishing {
    channel: Channel,
    // Dropped with the rest, it closes.
    _connection: Connection,
}

impl RabbitMq {
    /// The server of this URL. These consumers have their queues before the first event is published.
    ///
    /// # Errors
    ///
    /// A URL that cannot be read.
    pub fn at(url: &str, consumers: &[&str]) -> Result<Self, AddressError> {
        let shape = "amqp://USER:PASSWORD@HOST:5672/VHOST";
        let uri =
            url.parse().map_err(|_| AddressError::Malformed("it is no URL of RabbitMQ".to_owned(), shape))?;
        let consumers = consumers.iter().map(|&consumer| consumer.to_owned()).collect();
        Ok(Self { uri, consumers, publishing: Mutex::new(None) })
    }

    async fn connection(&self) -> Result<Connection, BrokerFault> {
        let properties = ConnectionProperties::default().with_connection_name("onefold".into());
        let connecting = Connection::connect_uri(self.uri.clone(), properties);
        in_time(connecting).await
    }

    async fn publishing(&self) -> Result<Publishing, BrokerFault> {
        let connection = self.connection().await?;
        declare_exchange(&connection).await?;
        for consumer in &self.consumers {
            declare_queue(&connection, consumer).await?;
        }
        let channel = in_time(connection.create_channel()).await?;
        in_time(channel.confirm_select(ConfirmSelectOptions::default())).await?;
        Ok(Publishing { channel, _connection: connection })
    }
}

#[async_trait]
impl Broker for RabbitMq {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        let mut idle = self.publishing.lock().await;
        // Taken out, so that a fault, or whoever loses patience, leaves none behind with half a batch on its way.
        let publishing = match idle.take().filter(|publishing| publishing.channel.status().connected()) {
            Some(publishing) => publishing,
            None => self.publishing().await?,
        };
        for wave in waves(messages) {
            let mut sent = Vec::with_capacity(wave.len());
            for message in wave {
                sent.push(send(&publishing.channel, message).await?);
            }
            for confirmed in sent {
                match confirmed.await.map_err(fault)? {
                    Confirmation::Ack(None) => {}
                    Confirmation::Ack(Some(returned)) => {
                        return Err(fault(format!(
                            "no queue takes {} from the exchange {EXCHANGE}; bind one, or start a consumer",
                            returned.delivery.routing_key
                        )));
                    }
                    Confirmation::Nack(_) => return Err(fault("the server could not keep an event")),
                    Confirmation::NotRequested => return Err(fault("the server does not confirm")),
                }
            }
        }
        *idle = Some(publishing);
        Ok(())
    }

    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        let connection = self.connection().await?;
        declare_exchange(&connection).await?;
        declare_queue(&connection, consumer).await?;
        let channel = in_time(connection.create_channel()).await?;
        in_time(channel.basic_qos(IN_HAND_MAX, BasicQosOptions::default())).await?;
        let queue = queue_of(consumer);
        let consuming = channel.basic_consume(
            queue,
            ShortString::default(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        let deliveries = in_time(consuming).await?;
        let (tell, told) = mpsc::unbounded_channel();
        let open = Some((connection, deliveries));
        Ok(Box::new(Taking { open, turns: Turns::default(), tell, told }))
    }

    /// Those that are in the queue. What the active subscription has in hand is not among them: 256 at most.
    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault> {
        let connection = self.connection().await?;
        let channel = in_time(connection.create_channel()).await?;
        let looking = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
        let queue =
            in_time(channel.queue_declare(queue_of(consumer), looking, FieldTable::default())).await?;
        in_time(connection.close(CLOSED_WELL, "done".into())).await?;
        Ok(queue.message_count().into())
    }
}

async fn declare_exchange(connection: &Connection) -> Result<(), BrokerFault> {
    let channel = in_time(connection.create_channel()).await?;
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let declaring =
        channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, options, FieldTable::default());
    in_time(declaring).await
}

/// Makes a consumer's queue, or finds it: of the best kind that the server has. A quorum queue gives up an event that has come
/// back too often, by default after 20 times from version 4 on, so it is told to be patient. It cannot be told to have no
/// limit: what says so to version 4 makes version 3 give up whatever comes back once.
async fn declare_queue(connection: &Connection, consumer: &str) -> Result<(), BrokerFault> {
    let quorum = [
        ("x-queue-type", AMQPValue::LongString("quorum".into())),
        ("x-delivery-limit", AMQPValue::LongLongInt(DELIVERIES_MAX)),
    ];
    let mut refused = None;
    for arguments in [&quorum[..], &[]] {
        let mut table = FieldTable::default();
        table.insert("x-single-active-consumer".into(), AMQPValue::Boolean(true));
        for (name, value) in arguments {
            table.insert((*name).into(), value.clone());
        }
        // A refusal closes the channel.
        let channel = in_time(connection.create_channel()).await?;
        match in_time(channel.queue_declare(queue_of(consumer), QueueDeclareOptions::durable(), table)).await
        {
            Ok(_) => {
                let everything = channel.queue_bind(
                    queue_of(consumer),
                    EXCHANGE.into(),
                    "#".into(),
                    QueueBindOptions::default(),
                    FieldTable::default(),
                );
                return in_time(everything).await;
            }
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.expect("two kinds were tried"))
}

async fn send(channel: &Channel, message: &Message) -> Result<lapin::PublisherConfirm, BrokerFault> {
    let event_type = message.event_type.strip_prefix("onefold.").unwrap_or(&message.event_type);
    let routing_key = format!("{}.{event_type}", message.client_id.0);
    let mut properties = BasicProperties::default()
        .with_app_id("onefold".into())
        .with_content_type(CONTENT_TYPE.into())
        .with_delivery_mode(PERSISTENT)
        .with_message_id(message.id.to_string().into())
        .with_type(message.event_type.as_str().into());
    if let Some(traceparent) = &message.traceparent {
        let mut headers = FieldTable::default();
        headers.insert("traceparent".into(), AMQPValue::LongString(traceparent.as_str().into()));
        properties = properties.with_headers(headers);
    }
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let publishing =
        channel.basic_publish(EXCHANGE.into(), routing_key.into(), options, &message.body, properties);
    publishing.await.map_err(fault)
}

fn queue_of(consumer: &str) -> ShortString {
    format!("{QUEUE}{consumer}").into()
}

async fn in_time<T>(work: impl Future<Output = lapin::Result<T>>) -> Result<T, BrokerFault> {
    let seconds = ANSWER_WITHIN.as_secs();
    timeout(ANSWER_WITHIN, work)
        .await
        .map_err(|_| fault(format!("no answer within {seconds} s")))?
        .map_err(fault)
}

fn fault(what: impl ToString) -> BrokerFault {
    BrokerFault::new(NAME, what)
}

impl fmt::Debug for RabbitMq {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RabbitMq").field("host", &self.uri.authority.host).finish_non_exhaustive()
    }
}

impl Accept for Acker {
    async fn accept(self) -> Result<(), BrokerFault> {
        match self.ack(BasicAckOptions::default()).await.map_err(fault)? {
            true => Ok(()),
            false => Err(fault("the connection was lost before the acknowledgement")),
        }
    }
}

/// A consumer's subscription.
struct Taking {
    /// There until it is dropped.
    open: Option<(Connection, Consumer)>,
    turns: Turns<Acker>,
    tell: mpsc::UnboundedSender<Told<Acker>>,
    told: mpsc::UnboundedReceiver<Told<Acker>>,
}

impl Drop for Taking {
    fn drop(&mut self) {
        let Some((connection, deliveries)) = self.open.take() else { return };
        // Without a runtime the process is ending, and its connections with it.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            // The connection first: it gives back to the queue what was not acknowledged, which a consumer that is only
            // cancelled keeps.
            if let Err(error) = in_time(connection.close(CLOSED_WELL, "done".into())).await {
                tracing::debug!(%error, "a subscription was not closed well");
            }
            drop(deliveries);
        });
    }
}

/// What was delivered, if it is an event; else it is told to the log, and given up.
async fn held(delivered: Delivered) -> Result<Option<Held<Acker>>, BrokerFault> {
    let redelivered = u32::from(delivered.redelivered);
    let before = delivered.properties.headers().as_ref().and_then(|headers| {
        let count = headers.inner().get("x-delivery-count")?.as_long_long_int()?;
        u32::try_from(count).ok()
    });
    match Message::read(delivered.data.into()) {
        Ok(message) => {
            let attempt = before.unwrap_or(redelivered).saturating_add(1);
            let turn = message.subject.clone();
            Ok(Some(Held { message, attempt, turn, accept: delivered.acker }))
        }
        Err(error) => {
            tracing::warn!(routing_key = %delivered.routing_key, %error, "a message of the queue is passed over");
            let given_up = BasicNackOptions { requeue: false, ..BasicNackOptions::default() };
            delivered.acker.nack(given_up).await.map_err(fault)?;
            Ok(None)
        }
    }
}

#[async_trait]
impl Subscription for Taking {
    async fn next(&mut self) -> Result<Delivery, BrokerFault> {
        loop {
            let (_, deliveries) = self.open.as_mut().expect("it is not dropped");
            let turn = tokio::select! {
                told = self.told.recv() => self.turns.told(told.expect("this holds a sender")),
                delivered = deliveries.next() => {
                    let delivered = delivered.ok_or_else(|| fault("the subscription has ended"))?;
                    let held = held(delivered.map_err(fault)?).await?;
                    held.and_then(|held| self.turns.arrived(held))
                }
            };
            if let Some(held) = turn {
                return Ok(held.delivery(self.tell.clone()));
            }
        }
    }
}
