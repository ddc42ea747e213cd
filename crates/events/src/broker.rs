//! What carries events from the relay to consumers.

use std::time::Duration;

use futures::future::BoxFuture;

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
pub trait Broker: Send + Sync {
    /// Publishes events, in this order, and returns when the broker has accepted all of them durably. After an error some
    /// may have been: whoever publishes does it again.
    fn publish<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), BrokerFault>>;

    /// What a consumer has not acknowledged yet, and whatever is published from now on. The consumer's place outlives the
    /// subscription, the process and the broker. Several subscriptions of one consumer share its events.
    fn subscribe<'a>(
        &'a self,
        consumer: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Subscription>, BrokerFault>>;
}

/// A consumer's events, as they come.
pub trait Subscription: Send {
    /// The next one, as soon as there is one. An error ends the subscription; what was delivered and not acknowledged is
    /// delivered again to another.
    fn next(&mut self) -> BoxFuture<'_, Result<Delivery, BrokerFault>>;
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
pub trait Acknowledge: Send + Sync {
    /// The event is done with, and not delivered again.
    fn ack(self: Box<Self>) -> BoxFuture<'static, Result<(), BrokerFault>>;

    /// The event is delivered again after this pause.
    fn retry_after(self: Box<Self>, pause: Duration) -> BoxFuture<'static, Result<(), BrokerFault>>;
}

impl Delivery {
    /// An event that is delivered for the `attempt`th time.
    pub fn new(message: Message, attempt: u32, acknowledge: Box<dyn Acknowledge>) -> Self {
        Self { message, attempt, acknowledge }
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
