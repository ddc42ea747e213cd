//! Turns: of what must stay in order one event is in hand, and the next when it is done with. For brokers that deliver many
//! events ahead and do not know which belong together.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use crate::Message;
use crate::broker::{Acknowledge, BrokerFault, Delivery};

/// How long an event is held for its next attempt. RabbitMQ takes the connection of whoever holds one for half an hour, and
/// Kafka the partitions of whoever takes nothing for five minutes.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// How a server is told that an event is done with.
pub(super) trait Accept: Send + Sync + 'static {
    /// Tells it.
    fn accept(self) -> impl Future<Output = Result<(), BrokerFault>> + Send;
}

/// An event that the server has delivered and that is not acknowledged.
pub(super) struct Held<A> {
    pub(super) message: Message,
    pub(super) attempt: u32,
    /// Whose turn it is: events of one turn stay in order.
    pub(super) turn: String,
    pub(super) accept: A,
}

/// What became of an event in hand. Each that is held is told of once at a time, so no more of these wait than are held.
pub(super) enum Told<A> {
    /// It is done with: the next one of its turn.
    Done(String),
    /// It is to be delivered again.
    Again(Held<A>),
}

/// Who waits for whom.
pub(super) struct Turns<A> {
    /// By turn that has an event in hand: the events behind that.
    waiting: HashMap<String, VecDeque<Held<A>>>,
}

impl<A> Default for Turns<A> {
    fn default() -> Self {
        Self { waiting: HashMap::new() }
    }
}

impl<A> Turns<A> {
    /// An event has arrived; answered if it is its turn.
    pub(super) fn arrived(&mut self, held: Held<A>) -> Option<Held<A>> {
        match self.waiting.get_mut(&held.turn) {
            Some(behind) => {
                behind.push_back(held);
                None
            }
            None => {
                self.waiting.insert(held.turn.clone(), VecDeque::new());
                Some(held)
            }
        }
    }

    /// What a consumer told; answers whose turn it is then.
    pub(super) fn told(&mut self, told: Told<A>) -> Option<Held<A>> {
        match told {
            Told::Again(held) => Some(held),
            Told::Done(turn) => {
                let next = self.waiting.get_mut(&turn)?.pop_front();
                if next.is_none() {
                    self.waiting.remove(&turn);
                }
                next
            }
        }
    }

    /// How many events wait for their turn behind the one in hand.
    #[cfg(feature = "kafka")]
    pub(super) fn behind(&self, turn: &str) -> usize {
        self.waiting.get(turn).map_or(0, VecDeque::len)
    }
}

impl<A: Accept> Held<A> {
    /// Hands it to a consumer.
    pub(super) fn delivery(self, tell: UnboundedSender<Told<A>>) -> Delivery {
        let (message, attempt) = (self.message.clone(), self.attempt);
        Delivery::new(message, attempt, Box::new(AtConsumer { held: Some(self), tell }))
    }
}

impl<A> Held<A> {
    fn again(self) -> Self {
        Self { attempt: self.attempt.saturating_add(1), ..self }
    }
}

/// An event that a consumer has in hand.
struct AtConsumer<A> {
    /// Nothing as soon as the consumer has said what became of it.
    held: Option<Held<A>>,
    tell: UnboundedSender<Told<A>>,
}

#[async_trait]
impl<A: Accept> Acknowledge for AtConsumer<A> {
    async fn ack(mut self: Box<Self>) -> Result<(), BrokerFault> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let accepted = held.accept.accept().await;
        // The subscription may have ended.
        let _ = self.tell.send(Told::Done(held.turn));
        accepted
    }

    async fn retry_after(mut self: Box<Self>, pause: Duration) -> Result<(), BrokerFault> {
        if let Some(held) = self.held.take() {
            let tell = self.tell.clone();
            tokio::spawn(async move {
                sleep(pause.min(PAUSE_MAX)).await;
                let _ = tell.send(Told::Again(held.again()));
            });
        }
        Ok(())
    }
}

impl<A> Drop for AtConsumer<A> {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and its connection with it.
        if let (Some(held), Ok(_)) = (self.held.take(), Handle::try_current()) {
            let _ = self.tell.send(Told::Again(held.again()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::message;

    struct Nobody;

    impl Accept for Nobody {
        async fn accept(self) -> Result<(), BrokerFault> {
            Ok(())
        }
    }

    fn held(subject: &str, sequence: i64) -> Held<Nobody> {
        Held { message: message(subject, sequence), attempt: 1, turn: subject.to_owned(), accept: Nobody }
    }

    fn told(held: Option<Held<Nobody>>) -> Option<(i64, u32)> {
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
