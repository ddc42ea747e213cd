//! What is counted and timed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::caller::Trouble;
use crate::pace::Window;

/// The longest latency that is told apart from longer ones.
const LATENCY_MAX: Duration = Duration::from_secs(600);

/// Digits of a latency that are kept.
const DIGITS: u8 = 3;

/// Contradictions that are told in full; the others are only counted.
const CONTRADICTIONS_TOLD: usize = 20;

/// What one thread has seen.
#[derive(Debug)]
pub struct Tally {
    window: Window,
    /// Final answers to orders.
    pub orders: Timed,
    /// Replays.
    pub replays: Timed,
    /// Requests that were sent again on purpose.
    pub duplicates: Duplicates,
    /// Answers other than success, by their problem's slug.
    pub problems: BTreeMap<String, u64>,
    /// Faults of connections, by their kind.
    pub faults: BTreeMap<String, u64>,
    /// Answers that contradict the contract.
    pub contradictions: Contradictions,
}

/// Answers of one kind, over the window.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Latencies, in microseconds, of what was due in the window.
    pub latency_us: Histogram<u64>,
    /// How many were answered in the window.
    pub answered: u64,
    /// How many were answered, warm-up included.
    pub answered_in_all: u64,
}

/// Requests that were sent again on purpose, and what they were told.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Duplicates {
    /// Sent on a second connection at the same time.
    pub concurrent: u64,
    /// Sent again after the answer.
    pub afterwards: u64,
    /// Answered like the first.
    pub replayed: u64,
    /// Told that the first is still running.
    pub in_progress: u64,
}

/// Answers that contradict the contract.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Contradictions {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub told: Vec<String>,
}

impl Contradictions {
    /// Notes one.
    pub fn note(&mut self, what: String) {
        self.count += 1;
        if self.told.len() < CONTRADICTIONS_TOLD {
            self.told.push(what);
        }
    }
}

impl Timed {
    fn new() -> Self {
        let longest = u64::try_from(LATENCY_MAX.as_micros()).unwrap_or(u64::MAX);
        let latency_us =
            Histogram::new_with_bounds(1, longest, DIGITS).expect("the bounds are in order, the digits few");
        Self { latency_us, answered: 0, answered_in_all: 0 }
    }

    fn note(&mut self, window: &Window, due_at: Instant, answered_at: Instant) {
        self.answered_in_all += 1;
        if window.measures(answered_at) {
            self.answered += 1;
        }
        if window.measures(due_at) {
            let latency = answered_at.duration_since(due_at).as_micros();
            self.latency_us.saturating_record(u64::try_from(latency).unwrap_or(u64::MAX));
        }
    }

    fn add(&mut self, other: &Self) {
        self.latency_us.add(&other.latency_us).expect("they have the same bounds");
        self.answered += other.answered;
        self.answered_in_all += other.answered_in_all;
    }
}

impl Tally {
    /// Nothing yet.
    pub fn new(window: Window) -> Self {
        Self {
            window,
            orders: Timed::new(),
            replays: Timed::new(),
            duplicates: Duplicates::default(),
            problems: BTreeMap::new(),
            faults: BTreeMap::new(),
            contradictions: Contradictions::default(),
        }
    }

    /// Counts an order that has its answer now.
    pub fn order(&mut self, due_at: Instant) {
        self.orders.note(&self.window, due_at, Instant::now());
    }

    /// Counts a replay that has its answer now.
    pub fn replay(&mut self, due_at: Instant) {
        self.replays.note(&self.window, due_at, Instant::now());
    }

    /// Counts something other than success.
    pub fn trouble(&mut self, trouble: Trouble<'_>) {
        let counts = match trouble {
            Trouble::Problem(_) | Trouble::Status(_) => &mut self.problems,
            Trouble::Fault(_) => &mut self.faults,
        };
        *counts.entry(trouble.to_string()).or_default() += 1;
    }

    /// Adds what another thread has seen.
    pub fn add(&mut self, other: Self) {
        self.orders.add(&other.orders);
        self.replays.add(&other.replays);
        self.duplicates.concurrent += other.duplicates.concurrent;
        self.duplicates.afterwards += other.duplicates.afterwards;
        self.duplicates.replayed += other.duplicates.replayed;
        self.duplicates.in_progress += other.duplicates.in_progress;
        for (slug, count) in other.problems {
            *self.problems.entry(slug).or_default() += count;
        }
        for (kind, count) in other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        let Contradictions { count, told } = other.contradictions;
        self.contradictions.count += count;
        let room = CONTRADICTIONS_TOLD.saturating_sub(self.contradictions.told.len());
        self.contradictions.told.extend(told.into_iter().take(room));
    }
}

/// Counts that can be watched while the threads count.
#[derive(Debug, Default)]
pub struct Live {
    /// Orders that have their final answer.
    pub orders: AtomicU64,
    /// Replays.
    pub replays: AtomicU64,
    /// Answers other than success, and faults.
    pub troubles: AtomicU64,
}

impl Live {
    /// Counts one more.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Fault;

    #[test]
    fn trouble_is_counted_by_its_word_and_added_up() {
        let window = Window::beginning_now(Duration::ZERO, Duration::from_secs(9));
        let (mut one, mut other) = (Tally::new(window), Tally::new(window));
        one.trouble(Trouble::Problem("overloaded"));
        other.trouble(Trouble::Problem("overloaded"));
        other.trouble(Trouble::Status(502));
        other.trouble(Trouble::Fault(Fault::Closed));
        one.add(other);
        assert_eq!(
            Vec::from_iter(one.problems),
            [("overloaded".to_owned(), 2), ("status 502".to_owned(), 1)]
        );
        assert_eq!(Vec::from_iter(one.faults), [("closed".to_owned(), 1)]);
    }

    #[test]
    fn an_answer_in_the_warm_up_is_counted_in_all_and_not_measured() {
        let window = Window::beginning_now(Duration::from_secs(60), Duration::from_secs(9));
        let mut tally = Tally::new(window);
        tally.order(window.begins_at);
        assert_eq!((tally.orders.answered_in_all, tally.orders.answered), (1, 0));
        assert_eq!(tally.orders.latency_us.len(), 0);
    }
}
