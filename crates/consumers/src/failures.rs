//! How often the service has failed at an event.
//!
//! A broker counts deliveries, and those of a process that was killed in the middle are among them: five restarts in a row would
//! set a good event aside. So each process counts for itself how often the service has answered that it failed. A count that is
//! lost with its process is begun anew, and costs an event that is truly poisoned a few deliveries more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use events::EventId;

use crate::taking::Consumer;

/// Of how many events at a time it is counted. One more, and a count that is no longer believed to matter is begun anew.
const EVENTS_MAX: usize = 4_096;

/// The counts of one process. Cheap to clone; all clones are one.
#[derive(Clone, Default, Debug)]
pub struct Failures(Arc<Mutex<HashMap<(Consumer, EventId), u32>>>);

impl Failures {
    /// Counts a failure; answers how many there were, this one included.
    pub(crate) fn count(&self, consumer: Consumer, event: EventId) -> u32 {
        let mut counts = self.counts();
        if counts.len() >= EVENTS_MAX && !counts.contains_key(&(consumer, event)) {
            // The one that has failed least has the least to lose.
            let least = counts.iter().min_by_key(|(_, failures)| **failures).map(|(key, _)| *key);
            least.map(|least| counts.remove(&least));
        }
        let failures = counts.entry((consumer, event)).or_default();
        *failures = failures.saturating_add(1);
        *failures
    }

    /// The event is done with.
    pub(crate) fn forget(&self, consumer: Consumer, event: EventId) {
        self.counts().remove(&(consumer, event));
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<(Consumer, EventId), u32>> {
        // A panic while it is held leaves counts that are as good as they were.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const CONSUMER: Consumer = Consumer::ReadModel;

    fn event(number: usize) -> EventId {
        EventId(Uuid::from_u128(number as u128))
    }

    #[test]
    fn failures_are_counted_by_consumer_and_event_until_it_is_done_with() {
        let failures = Failures::default();
        assert_eq!([1, 2].map(|_| failures.count(CONSUMER, event(1))), [1, 2]);
        assert_eq!(failures.count(CONSUMER, event(2)), 1);
        assert_eq!(failures.count(Consumer::Notifications, event(1)), 1);
        failures.forget(CONSUMER, event(1));
        assert_eq!(failures.count(CONSUMER, event(1)), 1);
    }

    #[test]
    fn events_that_fail_once_each_do_not_fill_the_memory() {
        let failures = Failures::default();
        assert_eq!([1, 2].map(|_| failures.count(CONSUMER, event(0))), [1, 2]);
        for number in 1..2 * EVENTS_MAX {
            failures.count(CONSUMER, event(number));
        }
        assert_eq!(failures.counts().len(), EVENTS_MAX);
        assert_eq!(failures.count(CONSUMER, event(0)), 3, "what fails again and again is not forgotten");
    }
}
