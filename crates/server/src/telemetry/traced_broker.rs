//! A broker whose publishing and deliveries are spans of the traces that their events belong to.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use events::{Acknowledge, Broker, BrokerFault, Delivery, Message, Subscription};
use tracing::Span;

use super::traces;

/// The broker, with a span for each event that it is given, and one for each that it delivers, until that is acknowledged.
/// Whatever a consumer does about an event is then a part of the latter.
#[expect(missing_debug_implementations, reason = "the broker has nothing to show")]
pub struct TracedBroker(pub Arc<dyn Broker>);

#[async_trait]
impl Broker for TracedBroker {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        let spans = messages.iter().map(traces::of_publishing);
        let spans: Vec<Span> = spans.filter(|span| !span.is_disabled()).collect();
        let published = self.0.publish(messages).await;
        if published.is_err() {
            spans.iter().for_each(traces::failed);
        }
        published
    }

    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        let subscription = self.0.subscribe(consumer).await?;
        Ok(Box::new(TracedSubscription { subscription, consumer: consumer.to_owned() }))
    }

    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault> {
        self.0.waiting(consumer).await
    }

    fn has_listeners(&self) -> bool {
        self.0.has_listeners()
    }
}

struct TracedSubscription {
    subscription: Box<dyn Subscription>,
    consumer: String,
}

#[async_trait]
impl Subscription for TracedSubscription {
    async fn next(&mut self) -> Result<Delivery, BrokerFault> {
        let mut delivery = self.subscription.next().await?;
        let span = traces::of_consuming(&self.consumer, &delivery.message);
        if span.is_disabled() {
            return Ok(delivery);
        }
        // What the consumer causes, such as a webhook, is a part of its own span.
        delivery.message.traceparent = span.in_scope(traces::traceparent);
        Ok(delivery.through(|acknowledge| Box::new(AtConsumer { acknowledge, span })))
    }
}

/// An event that a consumer has in hand. The span ends with it.
struct AtConsumer {
    acknowledge: Box<dyn Acknowledge>,
    span: Span,
}

#[async_trait]
impl Acknowledge for AtConsumer {
    async fn ack(self: Box<Self>) -> Result<(), BrokerFault> {
        traces::consumed(&self.span, "acknowledged");
        self.acknowledge.ack().await
    }

    async fn retry_after(self: Box<Self>, pause: Duration) -> Result<(), BrokerFault> {
        traces::consumed(&self.span, "again");
        traces::failed(&self.span);
        self.acknowledge.retry_after(pause).await
    }
}
