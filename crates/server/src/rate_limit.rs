//! How many requests a client may send: a token bucket for each, off unless configured.

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

/// A bucket for each client: it holds as many requests as one second allows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RateLimit {
    per_second: NonZeroU32,
    buckets: Arc<DefaultKeyedRateLimiter<ClientId>>,
    checks: Arc<AtomicU64>,
}

impl RateLimit {
    /// Allows each client so many requests a second.
    pub fn new(per_second: NonZeroU32) -> Self {
        let buckets = Arc::new(RateLimiter::keyed(Quota::per_second(per_second)));
        Self { per_second, buckets, checks: Arc::default() }
    }

    /// Takes one request out of the client's bucket.
    ///
    /// # Errors
    ///
    /// `rate-limited`, with the time after which there is one again.
    pub fn take(&self, client: ClientId) -> Result<(), Problem> {
        // A full bucket is as good as none, so the memory holds only clients of the last second or so.
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_BETWEEN_SWEEPS == CHECKS_BETWEEN_SWEEPS - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&client).map_err(|not_until| {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            // Whole seconds, rounded up: less would invite a request that is refused again.
            self.refusal(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
        })
    }

    fn refusal(&self, wait_s: u64) -> Problem {
        let value = |text: String| HeaderValue::from_str(&text).expect("digits and ASCII");
        let detail = format!("the client may send {} requests a second", self.per_second);
        Problem::new(Slug::RateLimited, detail)
            .header(header::RETRY_AFTER, HeaderValue::from(wait_s.max(1)))
            .header(POLICY, value(format!("\"client\";q={};w=1", self.per_second)))
            .header(REMAINING, value(format!("\"client\";r=0;t={}", wait_s.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_client_that_has_emptied_its_bucket_is_told_when_to_come_back_and_another_is_not() {
        let limit = RateLimit::new(NonZeroU32::new(2).unwrap());
        let (busy, quiet) = (ClientId(Uuid::nil()), ClientId(Uuid::max()));
        assert!(limit.take(busy).is_ok() && limit.take(busy).is_ok());
        let refusal = limit.take(busy).unwrap_err();
        assert_eq!(refusal.slug, Slug::RateLimited);
        let names: Vec<_> = refusal.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["retry-after", "ratelimit-policy", "ratelimit"]);
        assert!(limit.take(quiet).is_ok());
    }
}
