//! Turns: of each thing that events tell of, one event is in hand, and the next when it is done with.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures::future::BoxFuture;
use lapin::Acker;
use lapin::options::BasicAckOptions;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use super::fault;
use crate::Message;
use crate::broker::{Acknowledge, BrokerFault, Delivery};

/// How long an event is held for its next attempt. RabbitMQ takes the connection of whoever holds one for half an hour.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// An event that the server has delivered and that is not acknowledged.
pub(super) struct Held {
    pub(super) message: Message,
    pub(super) attempt: u32,
    pub(super) acker: Acker,
}

/// What became of an event in hand. Each that is held is told of once at a time, so no more of these wait than are held.
pub(super) enum Told {
    /// It is done with: the turn of this thing's next one.
    Done(String),
    /// It is to be delivered again.
    Again(Held),
}

/// Who waits for whom.
#[derive(Default)]
pub(super) struct Turns {
    /// By thing that has an event in hand: its events behind that.
    waiting: HashMap<String, VecDeque<Held>>,
}

impl Turns {
    /// An event has arrived; answered if it is its turn.
    pub(super) fn arrived(&mut self, held: Held) -> Option<Held> {
        match self.waiting.get_mut(&held.message.subject) {
            Some(behind) => {
                behind.push_back(held);
                None
            }
            None => {
                self.waiting.insert(held.message.subject.clone(), VecDeque::new());
                Some(held)
            }
        }
    }

    /// What a consumer told; answers whose turn it is then.
    pub(super) fn told(&mut self, told: Told) -> Option<Held> {
        match told {
            Told::Again(held) => Some(held),
            Told::Done(thing) => {
                let next = self.waiting.get_mut(&thing)?.pop_front();
                if next.is_none() {
                    self.waiting.remove(&thing);
                }
                next
            }
        }
    }
}

impl Held {
    /// Hands it to a consumer.
    pub(super) fn delivery(self, tell: UnboundedSender<Told>) -> Delivery {
        let (message, attempt) = (self.message.clone(), self.attempt);
        Delivery::new(message, attempt, Box::new(AtConsumer { held: Some(self), tell }))
    }

    fn again(self) -> Self {
        Self { attempt: self.attempt.saturating_add(1), ..self }
    }
}

/// An event that a consumer has in hand.
struct AtConsumer {
    /// Nothing as soon as the consumer has said what became of it.
    held: Option<Held>,
    tell: UnboundedSender<Told>,
}

impl Acknowledge for AtConsumer {
    fn ack(mut self: Box<Self>) -> BoxFuture<'static, Result<(), BrokerFault>> {
        Box::pin(async move {
            let Some(held) = self.held.take() else { return Ok(()) };
            let acknowledged = held.acker.ack(BasicAckOptions::default()).await;
            // The subscription may have ended.
            let _ = self.tell.send(Told::Done(held.message.subject));
            match acknowledged.map_err(fault)? {
                true => Ok(()),
                false => Err(fault("the connection was lost before the acknowledgement")),
            }
        })
    }

    fn retry_after(mut self: Box<Self>, pause: Duration) -> BoxFuture<'static, Result<(), BrokerFault>> {
        if let Some(held) = self.held.take() {
            let tell = self.tell.clone();
            tokio::spawn(async move {
                sleep(pause.min(PAUSE_MAX)).await;
                let _ = tell.send(Told::Again(held.again()));
            });
        }
        Box::pin(async { Ok(()) })
    }
}

impl Drop for AtConsumer {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and its connection with it.
        if let (Some(held), Ok(_)) = (self.held.take(), Handle::try_current()) {
            let _ = self.tell.send(Told::Again(held.again()));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use client::ClientId;
    use uuid::Uuid;

    use super::*;
    use crate::EventId;

    fn held(subject: &str, sequence: i64) -> Held {
        let message = Message {
            id: EventId(Uuid::nil()),
            client_id: ClientId(Uuid::nil()),
            event_type: "onefold.order.paid.v1".to_owned(),
            subject: subject.to_owned(),
            sequence,
            body: Bytes::new(),
            traceparent: None,
        };
        let delivered = lapin::message::Delivery::mock(1, "".into(), "".into(), false, Vec::new());
        Held { message, attempt: 1, acker: delivered.acker }
    }

    fn told(held: Option<Held>) -> Option<(i64, u32)> {
        held.map(|held| (held.message.sequence, held.attempt))
    }

    #[test]
    fn the_next_event_of_a_thing_waits_for_the_one_in_hand_and_those_of_others_do_not() {
        let mut turns = Turns::default();
        assert_eq!(told(turns.arrived(held("a", 1))), Some((1, 1)));
        assert_eq!(told(turns.arrived(held("a", 2))), None);
        assert_eq!(told(turns.arrived(held("a", 3))), None);
        assert_eq!(told(turns.arrived(held("b", 7))), Some((7, 1)));
        assert_eq!(told(turns.told(Told::Done("a".to_owned()))), Some((2, 1)));
        assert_eq!(told(turns.told(Told::Again(held("a", 2).again()))), Some((2, 2)));
        assert_eq!(told(turns.told(Told::Done("b".to_owned()))), None);
        assert_eq!(told(turns.told(Told::Done("a".to_owned()))), Some((3, 1)));
        assert_eq!(told(turns.told(Told::Done("a".to_owned()))), None);
        assert!(turns.waiting.is_empty(), "what is done with is forgotten");
    }

    #[tokio::test]
    async fn what_is_dropped_or_to_be_tried_again_comes_back_with_its_attempts_counted() {
        let (tell, mut told_by) = tokio::sync::mpsc::unbounded_channel();
        drop(held("a", 1).delivery(tell.clone()));
        let Some(Told::Again(again)) = told_by.recv().await else { panic!("it does not come back") };
        assert_eq!(again.attempt, 2);
        again.delivery(tell.clone()).retry_after(Duration::from_millis(1)).await.expect("it is held");
        let Some(Told::Again(again)) = told_by.recv().await else { panic!("it does not come back") };
        assert_eq!(again.attempt, 3);
        again.delivery(tell).ack().await.expect("it is done with");
        let Some(Told::Done(thing)) = told_by.recv().await else { panic!("its turn is not over") };
        assert_eq!(thing, "a");
    }
}
