//! Token buckets, one for each of those that are counted, in bounded memory.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use crate::allowance::Share;

/// After how many checks the buckets that are full again are forgotten.
const CHECKS_BETWEEN_SWEEPS: u64 = 4_096;

/// How many buckets there may be, besides those that are made between two sweeps.
const BUCKETS_MAX: usize = 100_000;

type Limiter<K> = RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// A bucket for each of those that are counted: it holds as much as one window allows. Cheap to clone.
///
/// A full bucket is as good as none, so memory holds only those that were used in the last window or so. Should those be
/// more than 100,000, all further checks share one bucket until they are fewer: whoever can pretend to be many is limited
/// as one.
#[derive(Clone, Debug)]
pub struct Buckets<K: Clone + Hash + Eq> {
    policy: &'static str,
    quota: NonZeroU32,
    window: Duration,
    limiter: Arc<Limiter<Option<K>>>,
    checks: Arc<AtomicU64>,
    full: Arc<AtomicBool>,
    buckets_max: usize,
}

impl<K: Clone + Hash + Eq> Buckets<K> {
    /// Allows each so many a second.
    pub fn per_second(policy: &'static str, quota: NonZeroU32) -> Self {
        Self::new(policy, quota, Duration::from_secs(1), Quota::per_second(quota))
    }

    /// Allows each so many a minute.
    pub fn per_minute(policy: &'static str, quota: NonZeroU32) -> Self {
        Self::new(policy, quota, Duration::from_secs(60), Quota::per_minute(quota))
    }

    fn new(policy: &'static str, quota: NonZeroU32, window: Duration, of_each: Quota) -> Self {
        let limiter = RateLimiter::dashmap(of_each).with_middleware();
        Self {
            policy,
            quota,
            window,
            limiter: Arc::new(limiter),
            checks: Arc::default(),
            full: Arc::default(),
            buckets_max: BUCKETS_MAX,
        }
    }

    /// Takes one out of somebody's bucket, and says what is left.
    ///
    /// # Errors
    ///
    /// If the bucket is empty; the share then tells when there is one again.
    pub fn take(&self, who: K) -> Result<Share, Share> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_BETWEEN_SWEEPS == CHECKS_BETWEEN_SWEEPS - 1 {
            self.sweep();
        }
        let bucket = (!self.full.load(Ordering::Relaxed)).then_some(who);
        match self.limiter.check_key(&bucket) {
            Ok(state) => {
                let left = state.remaining_burst_capacity();
                let used = u64::from(self.quota.get().saturating_sub(left));
                let until_full = (used * self.window.as_secs()).div_ceil(u64::from(self.quota.get()));
                Ok(self.share(left, until_full))
            }
            Err(not_until) => {
                let wait = not_until.wait_time_from(DefaultClock::default().now());
                Err(self.share(0, wait.as_secs() + u64::from(wait.subsec_nanos() > 0)))
            }
        }
    }

    fn sweep(&self) {
        self.limiter.retain_recent();
        self.full.store(self.limiter.len() >= self.buckets_max, Ordering::Relaxed);
    }

    fn share(&self, left: u32, reset_s: u64) -> Share {
        let window_s = u32::try_from(self.window.as_secs()).expect("a window of a minute at most");
        Share { policy: self.policy, quota: self.quota.get(), window_s, left, reset_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    #[test]
    fn what_is_left_becomes_less_until_nothing_is_and_it_is_told_when_there_is_some_again() {
        let buckets = Buckets::per_minute("attempts", some(3));
        let shares: Vec<_> = (0..3).map(|_| buckets.take("a").unwrap().left).collect();
        assert_eq!(shares, [2, 1, 0]);
        let empty = buckets.take("a").unwrap_err();
        assert_eq!((empty.left, empty.quota, empty.window_s), (0, 3, 60));
        assert!((19..=20).contains(&empty.reset_s), "a third of a minute, and not {} s", empty.reset_s);
        assert_eq!(buckets.take("b").unwrap().left, 2);
    }

    #[test]
    fn memory_is_bounded_and_the_many_then_share_one_bucket() {
        let buckets = Buckets { buckets_max: 10_000, ..Buckets::per_minute("attempts", some(1)) };
        let mut refused = 0_u64;
        for who in 0..100_000 {
            refused += u64::from(buckets.take(who).is_err());
        }
        let bound = 10_000 + usize::try_from(CHECKS_BETWEEN_SWEEPS).unwrap() + 1;
        assert!(buckets.limiter.len() <= bound, "there are {} buckets", buckets.limiter.len());
        assert!(refused > 80_000, "only {refused} were refused");
    }
}
