//! When a request is sent.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// The moments of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// When the load begins.
    pub begins_at: Instant,
    /// When the warm-up is over.
    pub measured_from: Instant,
    /// When the last request is sent.
    pub ends_at: Instant,
    /// When what has no answer yet is given up.
    pub gives_up_at: Instant,
}

/// How long after the end the last answers are waited for.
const SETTLE_WITHIN: Duration = Duration::from_secs(45);

impl Window {
    /// A window that begins now.
    pub fn beginning_now(warm_up: Duration, measured: Duration) -> Self {
        let begins_at = Instant::now();
        let measured_from = begins_at + warm_up;
        let ends_at = measured_from + measured;
        Self { begins_at, measured_from, ends_at, gives_up_at: ends_at + SETTLE_WITHIN }
    }

    /// Whether the moment is one that is measured.
    pub fn measures(&self, moment: Instant) -> bool {
        self.measured_from <= moment && moment < self.ends_at
    }
}

/// Says when the next request is due, to every connection of every thread.
#[derive(Debug)]
pub enum Pacer {
    /// As soon as it is asked.
    Closed(Window),
    /// When the schedule says.
    Open(Schedule),
}

impl Pacer {
    /// Waits until a request is due; answers since when it was, or `None` when the load is over.
    pub async fn due(&self) -> Option<Instant> {
        match self {
            Self::Closed(window) => Some(Instant::now()).filter(|now| *now < window.ends_at),
            Self::Open(schedule) => schedule.due().await,
        }
    }
}

/// Requests at a fixed rate. What is due while no connection is free is not left out: it is sent late, and its latency
/// counts from when it was due.
#[derive(Debug)]
pub struct Schedule {
    window: Window,
    per_second: NonZeroU32,
    /// A permit for each request that is due and not taken.
    due: Semaphore,
    taken: AtomicU64,
}

impl Schedule {
    /// A schedule for this window.
    pub fn new(window: Window, per_second: NonZeroU32) -> Self {
        Self { window, per_second, due: Semaphore::new(0), taken: AtomicU64::new(0) }
    }

    async fn due(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        Some(self.moment(self.taken.fetch_add(1, Ordering::Relaxed)))
    }

    /// When the request of that index is due.
    fn moment(&self, index: u64) -> Instant {
        let rate = u64::from(self.per_second.get());
        let part = Duration::from_nanos(index % rate * 1_000_000_000 / rate);
        self.window.begins_at + Duration::from_secs(index / rate) + part
    }

    /// Keeps the schedule until its end, then sends nobody any more; answers how many were due and never taken. It needs a
    /// thread of its own, since the runtime's timer is coarser than the latencies that are to be measured: it ticks in
    /// milliseconds.
    pub fn keep(&self) -> u64 {
        let mut due = 0;
        loop {
            let moment = self.moment(due);
            if moment >= self.window.ends_at {
                break;
            }
            match moment.checked_duration_since(Instant::now()) {
                // It may wake early; then the loop sends it to sleep again.
                Some(early) if !early.is_zero() => thread::park_timeout(early),
                _ => {
                    self.due.add_permits(1);
                    due += 1;
                }
            }
        }
        while let Some(left) =
            self.window.ends_at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            thread::park_timeout(left);
        }
        self.due.close();
        due.saturating_sub(self.taken.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_even_distances_from_the_beginning() {
        let window = Window::beginning_now(Duration::ZERO, Duration::from_secs(10));
        let schedule = Schedule::new(window, NonZeroU32::new(3).unwrap());
        let after = |index| schedule.moment(index).duration_since(window.begins_at).as_micros();
        assert_eq!([0, 1, 2, 3, 7].map(after), [0, 333_333, 666_666, 1_000_000, 2_333_333]);
    }

    #[test]
    fn what_nobody_takes_is_counted_and_nobody_is_sent_after_the_end() {
        let window = Window::beginning_now(Duration::ZERO, Duration::from_millis(20));
        let pacer = Pacer::Open(Schedule::new(window, NonZeroU32::new(1000).unwrap()));
        let Pacer::Open(schedule) = &pacer else { unreachable!("it was made so") };
        assert_eq!(schedule.keep(), 20);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(pacer.due()), None);
    }

    #[test]
    fn only_what_lies_between_warm_up_and_end_is_measured() {
        let window = Window::beginning_now(Duration::from_secs(1), Duration::from_secs(2));
        let measured = |after_ms| window.measures(window.begins_at + Duration::from_millis(after_ms));
        assert_eq!([0, 999, 1000, 2999, 3000].map(measured), [false, false, true, true, false]);
    }
}
