//! How many requests somebody may send: a token bucket for each client, off unless configured, and one for each address
//! that callbacks come from.

use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::ClientId;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::{HeaderName, HeaderValue, header};

use crate::problem::{Problem, Slug};

/// The header that tells the policy (the IETF's draft on RateLimit header fields).
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The header that tells what is left.
pub const REMAINING: HeaderName = HeaderName::from_static("ratelimit");

/// After how many checks the buckets that are full again are forgotten.
const CHECKS_BETWEEN_SWEEPS: u64 = 4_096;

/// A bucket for each of those that are counted: it holds as many requests as one second allows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RateLimit<K: Clone + Hash + Eq = ClientId> {
    /// What each of them is called.
    whose: &'static str,
    per_second: NonZeroU32,
    buckets: Arc<DefaultKeyedRateLimiter<K>>,
    checks: Arc<AtomicU64>,
}

impl RateLimit {
    /// Allows each client so many requests a second.
    pub fn of_clients(per_second: NonZeroU32) -> Self {
        Self::new("client", per_second)
    }
}

impl RateLimit<IpAddr> {
    /// Allows each address so many requests a second.
    pub fn of_addresses(per_second: NonZeroU32) -> Self {
        Self::new("address", per_second)
    }
}

impl<K: Clone + Hash + Eq> RateLimit<K> {
    fn new(whose: &'static str, per_second: NonZeroU32) -> Self {
        let buckets = Arc::new(RateLimiter::keyed(Quota::per_second(per_second)));
        Self { whose, per_second, buckets, checks: Arc::default() }
    }

    /// Takes one request out of its bucket.
    ///
    /// # Errors
    ///
    /// `rate-limited`, with the time after which there is one again.
    pub fn take(&self, who: K) -> Result<(), Problem> {
        // A full bucket is as good as none, so the memory holds only those of the last second or so, and of as many
        // checks.
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_BETWEEN_SWEEPS == CHECKS_BETWEEN_SWEEPS - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&who).map_err(|not_until| {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            // Whole seconds, rounded up: less would invite a request that is refused again.
            self.refusal(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
        })
    }

    fn refusal(&self, wait_s: u64) -> Problem {
        let value = |text: String| HeaderValue::from_str(&text).expect("digits and ASCII");
        let detail = format!("the {} may send {} requests a second", self.whose, self.per_second);
        Problem::new(Slug::RateLimited, detail)
            .header(header::RETRY_AFTER, HeaderValue::from(wait_s.max(1)))
            .header(POLICY, value(format!("\"{}\";q={};w=1", self.whose, self.per_second)))
            .header(REMAINING, value(format!("\"{}\";r=0;t={}", self.whose, wait_s.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_client_that_has_emptied_its_bucket_is_told_when_to_come_back_and_another_is_not() {
        let limit = RateLimit::of_clients(NonZeroU32::new(2).unwrap());
        let (busy, quiet) = (ClientId(Uuid::nil()), ClientId(Uuid::max()));
        assert!(limit.take(busy).is_ok() && limit.take(busy).is_ok());
        let refusal = limit.take(busy).unwrap_err();
        assert_eq!(refusal.slug, Slug::RateLimited);
        let names: Vec<_> = refusal.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["retry-after", "ratelimit-policy", "ratelimit"]);
        assert!(limit.take(quiet).is_ok());
    }
}
