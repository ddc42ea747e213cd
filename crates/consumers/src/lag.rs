//! How far a consumer is behind, for whoever watches it.
//!
//! Two numbers tell it. How many events wait, the broker knows, and is asked now and then. How old the oldest of them is, no
//! broker can say alike; but the oldest are in hand, somewhere, wherever a consumer takes events at all. So each process tells
//! the age of the oldest that it has in hand itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use events::{Broker, EventId};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::taking::{Came, Consumer};

/// Between two questions to the broker: as often as Prometheus usually asks.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// An event that is to be delivered again counts as in hand until so long after it was due: by then it is, here or in another
/// process.
const COMES_WITHIN: TimeDelta = TimeDelta::seconds(20);

/// Of how many events it is known when they were made. At the door there are few; but those that are to come again stay in the
/// list until they do, or until their time is over, and a consumer that everything fails at sends each of them back.
const IN_HAND_MAX: usize = 4_096;

/// What became of an event that was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was taken, now or before.
    Taken,
    /// It is to come again.
    Again,
    /// It was set aside.
    SetAside,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Taken, Self::Again, Self::SetAside];

    /// The word for it among the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Again => "again",
            Self::SetAside => "set_aside",
        }
    }
}

impl From<&Came> for Outcome {
    fn from(came: &Came) -> Self {
        match came {
            Came::Taken => Self::Taken,
            Came::Later(_) => Self::Again,
            Came::Never(..) => Self::SetAside,
        }
    }
}

/// What is known of a consumer in this process.
#[derive(Debug)]
pub struct Lag {
    consumer: Consumer,
    waiting: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    in_hand: Mutex<HashMap<EventId, InHand>>,
    subscribed: AtomicBool,
    broker_away: AtomicBool,
}

/// An event that was delivered and is not done with.
#[derive(Clone, Copy, Debug)]
struct InHand {
    made_at: DateTime<Utc>,
    /// Until when it counts as in hand, if it is to be delivered again, here or elsewhere.
    until: Option<DateTime<Utc>>,
}

impl Lag {
    /// Nothing is known yet.
    pub fn of(consumer: Consumer) -> Self {
        Self {
            consumer,
            waiting: AtomicU64::default(),
            outcomes: Default::default(),
            in_hand: Mutex::default(),
            subscribed: AtomicBool::default(),
            broker_away: AtomicBool::default(),
        }
    }

    /// Whose lag it is.
    pub fn consumer(&self) -> Consumer {
        self.consumer
    }

    /// Whether the broker has refused or not answered what this consumer asked of it last: known within some seconds. Nothing is
    /// lost: what is not acknowledged is delivered again.
    pub fn broker_is_away(&self) -> bool {
        self.broker_away.load(Ordering::Relaxed)
    }

    /// Notes whether the consumer has a subscription.
    pub(crate) fn subscribed(&self, subscribed: bool) {
        self.subscribed.store(subscribed, Ordering::Relaxed);
        self.broker_away.store(!subscribed, Ordering::Relaxed);
    }

    /// How many events are published and not acknowledged, as the broker said some seconds ago.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many deliveries came to this.
    pub fn deliveries(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// The age of the oldest event that this process has in hand; zero if it has none.
    pub fn oldest_age(&self, now: DateTime<Utc>) -> Duration {
        let mut in_hand = self.in_hand();
        in_hand.retain(|_, event| event.until.is_none_or(|until| now < until));
        let oldest = in_hand.values().map(|event| event.made_at).min();
        oldest.and_then(|made_at| (now - made_at).to_std().ok()).unwrap_or_default()
    }

    /// Notes that an event was delivered.
    pub(crate) fn delivered(&self, event: EventId, now: DateTime<Utc>) {
        let came = InHand { made_at: made_at(event).unwrap_or(now), until: None };
        let mut in_hand = self.in_hand();
        if in_hand.len() >= IN_HAND_MAX {
            make_room(&mut in_hand, now);
        }
        in_hand.entry(event).or_insert(came).until = None;
    }

    /// Notes what became of it.
    pub(crate) fn came(&self, event: EventId, came: &Came, now: DateTime<Utc>) {
        self.outcomes[Outcome::from(came) as usize].fetch_add(1, Ordering::Relaxed);
        let mut in_hand = self.in_hand();
        match came {
            Came::Later(pause) => {
                if let Some(event) = in_hand.get_mut(&event) {
                    event.until = Some(now + *pause + COMES_WITHIN);
                }
            }
            Came::Taken | Came::Never(..) => drop(in_hand.remove(&event)),
        }
    }

    fn in_hand(&self) -> MutexGuard<'_, HashMap<EventId, InHand>> {
        // A panic while it is held leaves a list that is as good as it was.
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever asks for the age forgets what has stayed away; but nobody need ask. The youngest of those that are to come again has
/// the least to say about the age of the oldest.
fn make_room(in_hand: &mut HashMap<EventId, InHand>, now: DateTime<Utc>) {
    in_hand.retain(|_, event| event.until.is_none_or(|until| now < until));
    if in_hand.len() >= IN_HAND_MAX {
        let to_come = in_hand.iter().filter(|(_, event)| event.until.is_some());
        let youngest = to_come.max_by_key(|(_, event)| event.made_at).map(|(event, _)| *event);
        youngest.map(|youngest| in_hand.remove(&youngest));
    }
}

/// When an event was made: its id begins with that, unless it is an id of another kind.
fn made_at(event: EventId) -> Option<DateTime<Utc>> {
    let (seconds, nanos) = event.0.get_timestamp()?.to_unix();
    DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)
}

/// Asks the broker now and then how many events wait for the consumer, until `stop`. While it does not answer, the last count
/// stands.
pub async fn count(lag: Arc<Lag>, broker: Arc<dyn Broker>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        // Of a consumer that has never subscribed a broker knows nothing, and is well all the same.
        let subscribed = lag.subscribed.load(Ordering::Relaxed);
        match broker.waiting(lag.consumer.name()).await {
            Ok(waiting) => {
                lag.waiting.store(waiting, Ordering::Relaxed);
                lag.broker_away.store(false, Ordering::Relaxed);
            }
            Err(error) => {
                if subscribed {
                    lag.broker_away.store(true, Ordering::Relaxed);
                }
                tracing::debug!(consumer = lag.consumer.name(), %error, "the broker does not say how many events wait");
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(COUNT_EVERY) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::{NoContext, Timestamp, Uuid};

    use super::*;
    use crate::Reason;

    const AGAIN_IN: Duration = Duration::from_secs(30);

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time")
    }

    fn made(at: DateTime<Utc>) -> EventId {
        EventId(Uuid::new_v7(Timestamp::from_unix(NoContext, at.timestamp().unsigned_abs(), 0)))
    }

    #[test]
    fn the_oldest_event_in_hand_tells_the_age_until_it_is_done_with() {
        let lag = Lag::of(Consumer::ReadModel);
        assert_eq!(lag.oldest_age(at(0)), Duration::ZERO);
        let (old, young) = (made(at(-60)), made(at(-5)));
        lag.delivered(young, at(0));
        lag.delivered(old, at(0));
        assert_eq!(lag.oldest_age(at(3)), Duration::from_secs(63));
        lag.came(old, &Came::Taken, at(3));
        assert_eq!(lag.oldest_age(at(3)), Duration::from_secs(8));
        lag.came(young, &Came::Never(Reason::Unreadable, "no".to_owned()), at(3));
        assert_eq!(lag.oldest_age(at(3)), Duration::ZERO);
        assert_eq!(Outcome::ALL.map(|outcome| lag.deliveries(outcome)), [1, 0, 1]);
    }

    #[test]
    fn an_event_that_comes_again_and_again_grows_old_and_is_forgotten_when_it_stays_away() {
        let lag = Lag::of(Consumer::ReadModel);
        let event = made(at(-60));
        for round in 0..3 {
            lag.delivered(event, at(round * 30));
            lag.came(event, &Came::Later(AGAIN_IN), at(round * 30));
        }
        assert_eq!(lag.oldest_age(at(90)), Duration::from_secs(150));
        assert_eq!(lag.oldest_age(at(110)), Duration::ZERO, "another process has it by now");
        assert_eq!(lag.deliveries(Outcome::Again), 3);
    }

    #[test]
    fn events_that_all_come_again_do_not_fill_the_memory_though_nobody_asks_for_the_age() {
        let lag = Lag::of(Consumer::ReadModel);
        let oldest = made(at(-60));
        let others = (0..2 * IN_HAND_MAX).map(|_| made(at(-5)));
        for event in std::iter::once(oldest).chain(others) {
            lag.delivered(event, at(0));
            lag.came(event, &Came::Later(AGAIN_IN), at(0));
        }
        assert_eq!(lag.in_hand().len(), IN_HAND_MAX);
        assert_eq!(lag.oldest_age(at(1)), Duration::from_secs(61));
    }

    #[test]
    fn an_event_whose_id_tells_no_time_is_as_old_as_it_is_known() {
        let lag = Lag::of(Consumer::ReadModel);
        lag.delivered(EventId(Uuid::from_u128(7)), at(0));
        assert_eq!(lag.oldest_age(at(2)), Duration::from_secs(2));
        assert_eq!(lag.oldest_age(at(-2)), Duration::ZERO, "clocks differ");
    }
}
