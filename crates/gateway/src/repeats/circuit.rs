//! Leaving a Redis alone that does not answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many failures one after the other open the circuit.
const FAILURES_MAX: u32 = 3;

/// For how long it then stays open, before one try is made.
const OPEN_FOR: Duration = Duration::from_secs(1);

/// Open after three failures in a row: for a second nothing is tried, then one try decides.
#[derive(Debug, Default)]
pub struct Circuit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// While it is open: when the next try may be made.
    next_try_at: Option<Instant>,
}

impl Circuit {
    /// Whether to try. Of those who ask when it is time for a try, one is let through; its success closes the circuit,
    /// and without one the next try is a second later.
    pub fn admits(&self, now: Instant) -> bool {
        let mut state = self.state();
        match state.next_try_at {
            None => true,
            Some(at) if now < at => false,
            Some(_) => {
                state.next_try_at = Some(now + OPEN_FOR);
                true
            }
        }
    }

    /// Whether nothing would be tried now, or only one.
    pub fn is_open(&self) -> bool {
        self.state().next_try_at.is_some()
    }

    /// A try went well.
    pub fn note_success(&self) {
        *self.state() = State::default();
    }

    /// A try failed. Answers whether that has opened the circuit.
    pub fn note_failure(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        let opens = state.failures == FAILURES_MAX;
        if state.failures >= FAILURES_MAX {
            state.next_try_at = Some(now + OPEN_FOR);
        }
        opens
    }

    /// A panic leaves it as good as it was: it is changed by single assignments.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_and_one_try_a_second_is_let_through() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for opens in [false, false, true] {
            assert!(circuit.admits(now));
            assert_eq!(circuit.note_failure(now), opens);
        }
        assert!(!circuit.admits(now) && circuit.is_open());
        let later = now + OPEN_FOR;
        assert!(circuit.admits(later));
        assert!(!circuit.admits(later), "a second try at the same time");
        circuit.note_success();
        assert!(circuit.admits(later) && !circuit.is_open());
    }

    #[test]
    fn a_success_between_failures_keeps_it_closed() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for _ in 0..10 {
            circuit.note_failure(now);
            circuit.note_failure(now);
            circuit.note_success();
        }
        assert!(circuit.admits(now));
    }

    #[test]
    fn a_try_that_never_ends_is_followed_by_another() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for _ in 0..FAILURES_MAX {
            circuit.note_failure(now);
        }
        assert!(circuit.admits(now + OPEN_FOR));
        assert!(circuit.admits(now + OPEN_FOR + OPEN_FOR));
    }
}
