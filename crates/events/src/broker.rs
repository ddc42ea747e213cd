//! What carries events from the relay to consumers.

use std::time::Duration;

use async_trait::async_trait;

use crate::Message;

/// Why a broker could not do something. All of it may be tried again: the text says what went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{broker}: {what}")]
pub struct BrokerFault {
    /// Which kind of broker.
    pub broker: &'static str,
    /// What went wrong.
    pub what: String,
}

impl BrokerFault {
    /// A fault of this kind of broker.
    pub fn new(broker: &'static str, what: impl ToString) -> Self {
        Self { broker, what: what.to_string() }
    }
}

/// Carries events, at least once and in the order in which they are published.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Publishes events, in this order, and returns when the broker has accepted all of them durably. After an error some
    /// may have been: whoever publishes does it again.
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault>;

    /// What a consumer has not acknowledged yet, and whatever is published from now on. The consumer's place outlives the
    /// subscription, the process and the broker. Several subscriptions of one consumer share its events.
    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault>;

    /// How many events are published and not acknowledged by this consumer, which has subscribed before, here or elsewhere.
    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault>;

    /// Whether anybody can be told of an event. Where nobody can, a relay need not read any.
    fn has_listeners(&self) -> bool {
        true
    }
}

/// A consumer's events, as they come.
#[async_trait]
pub trait Subscription: Send {
    /// The next one, as soon as there is one. An error ends the subscription; what was delivered and not acknowledged is
    /// delivered again to another.
    async fn next(&mut self) -> Result<Delivery, BrokerFault>;
}

/// An event at a consumer. Dropped without a word, it is delivered again.
#[expect(missing_debug_implementations, reason = "what acknowledges has nothing to show")]
pub struct Delivery {
    /// The event.
    pub message: Message,
    /// How often it was delivered to this consumer, this time included, as far as the broker counts.
    pub attempt: u32,
    acknowledge: Box<dyn Acknowledge>,
}

/// How a broker is told what became of a delivery.
#[async_trait]
pub trait Acknowledge: Send + Sync {
    /// The event is done with, and not delivered again.
    async fn ack(self: Box<Self>) -> Result<(), BrokerFault>;

    /// The event is delivered again after this pause.
    async fn retry_after(self: Box<Self>, pause: Duration) -> Result<(), BrokerFault>;
}

impl Delivery {
    /// An event that is delivered for the `attempt`th time.
    pub fn new(message: Message, attempt: u32, acknowledge: Box<dyn Acknowledge>) -> Self {
        Self { message, attempt, acknowledge }
    }

    /// The same event, with somebody between the consumer and whoever is told what became of it.
    #[must_use]
    pub fn through(self, between: impl FnOnce(Box<dyn Acknowledge>) -> Box<dyn Acknowledge>) -> Self {
        Self { acknowledge: between(self.acknowledge), ..self }
    }

    /// The event is done with. Without an error it is not delivered again, unless the broker has lost its memory.
    pub async fn ack(self) -> Result<(), BrokerFault> {
        self.acknowledge.ack().await
    }

    /// The event is to be delivered again, after this pause.
    pub async fn retry_after(self, pause: Duration) -> Result<(), BrokerFault> {
        self.acknowledge.retry_after(pause).await
    }
}
