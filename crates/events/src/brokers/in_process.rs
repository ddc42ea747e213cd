//! No broker: the relay hands events to the consumers of its own process.
//!
//! What it publishes counts as accepted when every consumer has acknowledged it. So the outbox is the durable log: an
//! event whose consumers have not all committed its effect is not marked as published, and after a restart any server's
//! relay hands it over again. Nothing else has to be written down about who is how far.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::sleep;

use crate::Message;
use crate::broker::{Acknowledge, Broker, BrokerFault, Delivery, Subscription};

const NAME: &str = "in-process";

/// How many events wait for a consumer at most; the relay waits when there are more.
const QUEUE_MAX: usize = 256;

/// The pause before an event that was dropped without a word is handed over again.
const DROPPED_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// The broker that is none.
#[derive(Debug)]
pub struct InProcess {
    queues: BTreeMap<String, Queue>,
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<Handed>,
    receiver: Arc<Mutex<mpsc::Receiver<Handed>>>,
    handed: Arc<AtomicU64>,
}

impl Queue {
    /// Hands an event over; what is answered tells when it is done with, or was dropped.
    async fn hand(&self, message: &Message, attempt: u32) -> Result<oneshot::Receiver<()>, BrokerFault> {
        let (done, was_done) = oneshot::channel();
        let _counted = Counted::among(&self.handed);
        let handed = Handed { message: message.clone(), attempt, done, _counted };
        self.sender.send(handed).await.map_err(|_| BrokerFault::new(NAME, "it is closed"))?;
        Ok(was_done)
    }
}

/// An event on its way to a consumer. When `done` is dropped, the relay learns that it was not taken.
#[derive(Debug)]
struct Handed {
    message: Message,
    attempt: u32,
    done: oneshot::Sender<()>,
    _counted: Counted,
}

/// One of the events that are on their way, for as long as it is there.
#[derive(Debug)]
struct Counted(Arc<AtomicU64>);

impl Counted {
    fn among(handed: &Arc<AtomicU64>) -> Self {
        handed.fetch_add(1, Ordering::Relaxed);
        Self(handed.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InProcess {
    /// A broker for these consumers: each must acknowledge an event before it counts as published.
    pub fn new<'c>(consumers: impl IntoIterator<Item = &'c str>) -> Self {
        let queue = |consumer: &str| {
            let (sender, receiver) = mpsc::channel(QUEUE_MAX);
            let (receiver, handed) = (Arc::new(Mutex::new(receiver)), Arc::default());
            (consumer.to_owned(), Queue { sender, receiver, handed })
        };
        Self { queues: consumers.into_iter().map(queue).collect() }
    }

    fn queue_of(&self, consumer: &str) -> Result<&Queue, BrokerFault> {
        let queue = self.queues.get(consumer);
        queue.ok_or_else(|| BrokerFault::new(NAME, format!("there is no consumer named {consumer}")))
    }
}

#[async_trait]
impl Broker for InProcess {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        let mut handed = Vec::with_capacity(messages.len() * self.queues.len());
        for message in messages {
            for queue in self.queues.values() {
                handed.push((message, queue, queue.hand(message, 1).await?));
            }
        }
        for (message, queue, mut was_done) in handed {
            let mut attempt = 1;
            // Whoever drops one has it again, and only that one: the others of the batch are taken or in hand.
            while was_done.await.is_err() {
                sleep(DROPPED_AGAIN_AFTER).await;
                attempt += 1;
                was_done = queue.hand(message, attempt).await?;
            }
        }
        Ok(())
    }

    async fn subscribe(&self, consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        let queue = self.queue_of(consumer)?;
        Ok(Box::new(Taking { receiver: queue.receiver.clone(), again: queue.sender.clone() }))
    }

    /// Those that are on their way: a batch at most. The others wait in the outbox, for they are not published yet.
    async fn waiting(&self, consumer: &str) -> Result<u64, BrokerFault> {
        Ok(self.queue_of(consumer)?.handed.load(Ordering::Relaxed))
    }

    fn has_listeners(&self) -> bool {
        !self.queues.is_empty()
    }
}

/// A consumer that takes from its queue.
struct Taking {
    receiver: Arc<Mutex<mpsc::Receiver<Handed>>>,
    again: mpsc::Sender<Handed>,
}

#[async_trait]
impl Subscription for Taking {
    async fn next(&mut self) -> Result<Delivery, BrokerFault> {
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
    }
}

/// An event that a consumer has in hand.
struct AtConsumer {
    handed: Handed,
    again: mpsc::Sender<Handed>,
}

#[async_trait]
impl Acknowledge for AtConsumer {
    async fn ack(self: Box<Self>) -> Result<(), BrokerFault> {
        // The relay that handed it over may have ended: then it is handed over again, by another.
        let _ = self.handed.done.send(());
        Ok(())
    }

    async fn retry_after(self: Box<Self>, pause: Duration) -> Result<(), BrokerFault> {
        let Self { handed, again } = *self;
        let handed = Handed { attempt: handed.attempt.saturating_add(1), ..handed };
        // Apart from whoever asks: a queue that is full is emptied by the same consumer.
        tokio::spawn(async move {
            sleep(pause).await;
            let _ = again.send(handed).await;
        });
        Ok(())
    }
}
