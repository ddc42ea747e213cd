//! No broker: the relay hands events to the consumers of its own process.
//!
//! What it publishes counts as accepted when every consumer has acknowledged it. So the outbox is the durable log: an
//! event whose consumers have not all committed its effect is not marked as published, and after a restart any server's
//! relay hands it over again. Nothing else has to be written down about who is how far.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::sleep;

use crate::Message;
use crate::broker::{Acknowledge, Broker, BrokerFault, Delivery, Subscription};

const NAME: &str = "in-process";

/// How many events wait for a consumer at most; the relay waits when there are more.
const QUEUE_MAX: usize = 256;

/// The broker that is none.
#[derive(Debug)]
pub struct InProcess {
    queues: BTreeMap<String, Queue>,
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<Handed>,
    receiver: Arc<Mutex<mpsc::Receiver<Handed>>>,
}

/// An event on its way to a consumer. When `done` is dropped, the relay learns that it was not taken.
#[derive(Debug)]
struct Handed {
    message: Message,
    attempt: u32,
    done: oneshot::Sender<()>,
}

impl InProcess {
    /// A broker for these consumers: each must acknowledge an event before it counts as published.
    pub fn new<'c>(consumers: impl IntoIterator<Item = &'c str>) -> Self {
        let queue = |consumer: &str| {
            let (sender, receiver) = mpsc::channel(QUEUE_MAX);
            (consumer.to_owned(), Queue { sender, receiver: Arc::new(Mutex::new(receiver)) })
        };
        Self { queues: consumers.into_iter().map(queue).collect() }
    }
}

impl Broker for InProcess {
    fn publish<'a>(&'a self, messages: &'a [Message]) -> BoxFuture<'a, Result<(), BrokerFault>> {
        Box::pin(async move {
            let mut taken = Vec::with_capacity(messages.len() * self.queues.len());
            for message in messages {
                for queue in self.queues.values() {
                    let (done, was_done) = oneshot::channel();
                    let handed = Handed { message: message.clone(), attempt: 1, done };
                    queue.sender.send(handed).await.map_err(|_| BrokerFault::new(NAME, "it is closed"))?;
                    taken.push(was_done);
                }
            }
            for was_done in taken {
                was_done.await.map_err(|_| {
                    BrokerFault::new(NAME, "a consumer has dropped an event without taking it")
                })?;
            }
            Ok(())
        })
    }

    fn subscribe<'a>(
        &'a self,
        consumer: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Subscription>, BrokerFault>> {
        Box::pin(async move {
            let queue = self
                .queues
                .get(consumer)
                .ok_or_else(|| BrokerFault::new(NAME, format!("there is no consumer named {consumer}")))?;
            let taking = Taking { receiver: queue.receiver.clone(), again: queue.sender.clone() };
            Ok(Box::new(taking) as Box<dyn Subscription>)
        })
    }
}

/// A consumer that takes from its queue.
struct Taking {
    receiver: Arc<Mutex<mpsc::Receiver<Handed>>>,
    again: mpsc::Sender<Handed>,
}

impl Subscription for Taking {
    fn next(&mut self) -> BoxFuture<'_, Result<Delivery, BrokerFault>> {
        Box::pin(async move {
            let handed = loop {
                let handed = self.receiver.lock().await.recv().await;
                let handed = handed.ok_or_else(|| BrokerFault::new(NAME, "it is closed"))?;
                // A relay that has given up waiting hands the event over again: one of them is enough.
                if !handed.done.is_closed() {
                    break handed;
                }
            };
            let (message, attempt) = (handed.message.clone(), handed.attempt);
            let at_consumer = AtConsumer { handed, again: self.again.clone() };
            Ok(Delivery::new(message, attempt, Box::new(at_consumer)))
        })
    }
}

/// An event that a consumer has in hand.
struct AtConsumer {
    handed: Handed,
    again: mpsc::Sender<Handed>,
}

impl Acknowledge for AtConsumer {
    fn ack(self: Box<Self>) -> BoxFuture<'static, Result<(), BrokerFault>> {
        // The relay that handed it over may have ended: then it is handed over again, by another.
        let _ = self.handed.done.send(());
        Box::pin(async { Ok(()) })
    }

    fn retry_after(self: Box<Self>, pause: Duration) -> BoxFuture<'static, Result<(), BrokerFault>> {
        let Self { handed, again } = *self;
        let handed = Handed { attempt: handed.attempt.saturating_add(1), ..handed };
        // Apart from whoever asks: a queue that is full is emptied by the same consumer.
        tokio::spawn(async move {
            sleep(pause).await;
            let _ = again.send(handed).await;
        });
        Box::pin(async { Ok(()) })
    }
}
