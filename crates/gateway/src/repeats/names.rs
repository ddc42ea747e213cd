//! The names that Redis may know something of.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use fastbloom::AtomicBloomFilter;

/// How often a name may be taken for a known one though it is not, while there are no more than expected. Each costs a
/// look-up that finds nothing.
const FALSE_POSITIVES: f64 = 0.01;

/// A Bloom filter of the names that were noted in the last while, here or at another server. What it does not hold was
/// not noted; what it seems to hold may not have been.
///
/// A Bloom filter forgets nothing, so there are two: each takes names for as long as an answer is kept in Redis, then
/// the other one is emptied and goes on. A name is found for at least that time, and for twice that at most.
pub struct Names {
    filters: [AtomicBloomFilter; 2],
    current: AtomicUsize,
    turned_at: Mutex<Instant>,
    kept: Duration,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Names {
    /// Room for about so many names in the time for which each is kept.
    pub fn new(names_max: usize, kept: Duration) -> Self {
        let filter = || AtomicBloomFilter::with_false_pos(FALSE_POSITIVES).expected_items(names_max.max(1));
        Self {
            filters: [filter(), filter()],
            current: AtomicUsize::new(0),
            turned_at: Mutex::new(Instant::now()),
            kept,
        }
    }

    /// For how long a name is found at least.
    pub fn kept(&self) -> Duration {
        self.kept
    }

    /// Notes a name by its hash, and answers whether it may have been noted before.
    pub fn note(&self, hash: u64) -> bool {
        self.turn_if_due(Instant::now());
        let current = self.current.load(Ordering::Relaxed);
        let known_before = self.filters[1 - current].contains_hash(hash);
        self.filters[current].insert_hash(hash) || known_before
    }

    fn turn_if_due(&self, now: Instant) {
        // Whoever finds it taken goes on: somebody is turning.
        let mut turned_at = match self.turned_at.try_lock() {
            Ok(turned_at) => turned_at,
            Err(TryLockError::Poisoned(turned_at)) => turned_at.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if now.saturating_duration_since(*turned_at) >= self.kept {
            let next = 1 - self.current.load(Ordering::Relaxed);
            self.filters[next].clear();
            self.current.store(next, Ordering::Relaxed);
            *turned_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Duration = Duration::from_secs(60);

    #[test]
    fn a_name_is_known_when_it_comes_again_and_until_its_time_is_over() {
        let names = Names::new(1_000, KEPT);
        let begun = Instant::now();
        assert!(!names.note(7));
        assert!(names.note(7));
        names.turn_if_due(begun + KEPT * 2);
        assert!(names.filters[1 - names.current.load(Ordering::Relaxed)].contains_hash(7));
        names.turn_if_due(begun + KEPT * 4);
        assert!(!names.note(7), "two turns later");
    }

    #[test]
    fn a_name_that_is_new_is_seldom_taken_for_a_known_one() {
        let names = Names::new(10_000, KEPT);
        let taken_for_known = (0..10_000_u64).filter(|name| names.note(spread(*name))).count();
        assert!(taken_for_known < 200, "{taken_for_known} of 10,000");
    }

    /// As hashes are.
    fn spread(number: u64) -> u64 {
        number
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}
