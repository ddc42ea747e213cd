//! What a request has left of its limits, and the header fields that tell it: `RateLimit-Policy` and `RateLimit` of the
//! IETF's draft on RateLimit header fields for HTTP (draft-ietf-httpapi-ratelimit-headers), lists of structured fields
//! (RFC 9651).

use std::fmt::Write;

use http::{HeaderName, HeaderValue};

/// The header that tells how much is allowed in which time.
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The header that tells what is left.
pub const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// One limit, and what is left of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The limit's name: letters and hyphens.
    pub policy: &'static str,
    /// How many are allowed in a window.
    pub quota: u32,
    /// The window, in seconds.
    pub window_s: u32,
    /// How many are left now.
    pub left: u32,
    /// In how many seconds there is one again, if none is left; else until all are there again.
    pub reset_s: u64,
}

/// The limits that a request has been counted against.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allowance {
    shares: Vec<Share>,
}

impl Allowance {
    /// Adds one more limit.
    pub fn add(&mut self, share: Share) {
        self.shares.push(share);
    }

    /// The two header fields; none, if nothing is limited.
    pub fn headers(&self) -> Option<[(HeaderName, HeaderValue); 2]> {
        if self.shares.is_empty() {
            return None;
        }
        let list = |item: fn(&mut String, &Share) -> std::fmt::Result| {
            let mut text = String::new();
            for share in &self.shares {
                let separator = if text.is_empty() { "" } else { ", " };
                text.push_str(separator);
                item(&mut text, share).expect("writing to a string does not fail");
            }
            HeaderValue::from_str(&text).expect("names, digits and ASCII")
        };
        let policy =
            list(|text, share| write!(text, "\"{}\";q={};w={}", share.policy, share.quota, share.window_s));
        let left =
            list(|text, share| write!(text, "\"{}\";r={};t={}", share.policy, share.left, share.reset_s));
        Some([(POLICY, policy), (LEFT, left)])
    }
}

/// A limit that has nothing left for this request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// The one that has nothing left.
    pub share: Share,
    /// All that the request was counted against, this one included.
    pub allowance: Allowance,
}

impl Exceeded {
    /// The limit of a request that was counted against no other.
    pub fn alone(share: Share) -> Self {
        let mut allowance = Allowance::default();
        allowance.add(share);
        Self { share, allowance }
    }

    /// After how many seconds it is worth asking again: 1 at least, and rounded up, as less would invite a request that is
    /// refused again.
    pub fn retry_after_s(&self) -> u64 {
        self.share.reset_s.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(policy: &'static str, left: u32, reset_s: u64) -> Share {
        Share { policy, quota: 100, window_s: 1, left, reset_s }
    }

    #[test]
    fn the_fields_are_lists_of_an_item_for_each_limit() {
        let mut allowance = Allowance::default();
        assert!(allowance.headers().is_none());
        allowance.add(share("client", 99, 1));
        allowance.add(share("route", 0, 2));
        let [(_, policy), (_, left)] = allowance.headers().unwrap();
        assert_eq!(policy, r#""client";q=100;w=1, "route";q=100;w=1"#);
        assert_eq!(left, r#""client";r=99;t=1, "route";r=0;t=2"#);
    }

    #[test]
    fn nobody_is_told_to_come_back_at_once() {
        let exceeded = Exceeded { share: share("client", 0, 0), allowance: Allowance::default() };
        assert_eq!(exceeded.retry_after_s(), 1);
    }
}
