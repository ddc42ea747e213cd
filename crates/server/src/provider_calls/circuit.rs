//! When a provider that does not answer is left alone.
//!
//! After some failures in a row nothing is asked for a while, twice as long each time; then one request at a time, until
//! one succeeds. So an outage costs neither the provider nor us a request for each payment, and payments keep their turns.

use chrono::{DateTime, TimeDelta, Utc};

/// So many failures in a row open the circuit.
const FAILURES_MAX: u32 = 5;

/// For how long it is open at first.
const OPEN_FOR: TimeDelta = TimeDelta::seconds(5);

/// For how long at most.
const OPEN_FOR_MAX: TimeDelta = TimeDelta::minutes(5);

/// What is known of how a provider answers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Circuit {
    /// Failures in a row, while it was closed or tried.
    failures: u32,
    open_until: Option<DateTime<Utc>>,
}

impl Circuit {
    /// How many requests may be under way now, of `max` in good times.
    pub fn allowance(&self, now: DateTime<Utc>, max: usize) -> usize {
        match self.open_until {
            None => max,
            Some(until) if now < until => 0,
            Some(_) => 1.min(max),
        }
    }

    /// Notes an answer; `true` if it closes the circuit.
    pub fn succeeded(&mut self) -> bool {
        let was_open = self.open_until.is_some();
        *self = Self::default();
        was_open
    }

    /// Notes a failure; answers for how long the circuit is open if this opens it.
    pub fn failed(&mut self, now: DateTime<Utc>) -> Option<TimeDelta> {
        // Requests that were under way when it opened say nothing new.
        if self.allowance(now, 1) == 0 {
            return None;
        }
        self.failures = self.failures.saturating_add(1);
        let times = self.failures.checked_sub(FAILURES_MAX)?;
        let open_for = (OPEN_FOR * (1 << times.min(16))).min(OPEN_FOR_MAX);
        self.open_until = Some(now + open_for);
        Some(open_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_some_failures_in_a_row_and_ever_longer_and_closes_with_an_answer() {
        let mut circuit = Circuit::default();
        let mut now = DateTime::UNIX_EPOCH;
        for _ in 1..FAILURES_MAX {
            assert_eq!(circuit.failed(now), None);
            assert_eq!(circuit.allowance(now, 8), 8);
        }
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            let open_for = TimeDelta::seconds(seconds);
            assert_eq!(circuit.failed(now), Some(open_for));
            assert_eq!(circuit.failed(now), None, "what was under way says nothing new");
            assert_eq!(circuit.allowance(now, 8), 0);
            now += open_for;
            assert_eq!(circuit.allowance(now, 8), 1, "one request tries");
        }
        assert!(circuit.succeeded());
        assert_eq!(circuit.allowance(now, 8), 8);
        assert!(!circuit.succeeded());
    }

    #[test]
    fn failures_that_are_not_in_a_row_do_not_open_it() {
        let mut circuit = Circuit::default();
        for _ in 0..3 * FAILURES_MAX {
            assert_eq!(circuit.failed(DateTime::UNIX_EPOCH), None);
            circuit.succeeded();
        }
    }
}
