//! How often a client may ask: altogether, and for single routes besides. Both are off unless configured. Each server
//! counts for itself, so that no request waits to be counted.

use std::collections::HashMap;
use std::num::NonZeroU32;

use client::ClientId;

use crate::allowance::{Allowance, Exceeded};
use crate::buckets::Buckets;

/// The limits of clients.
#[derive(Clone, Debug, Default)]
pub struct RateLimit {
    altogether: Option<Buckets<ClientId>>,
    by_route: HashMap<String, Buckets<ClientId>>,
}

impl RateLimit {
    /// Allows each client so many requests a second, and so many of each route that is named, such as `POST /v1/orders`.
    pub fn new(
        altogether: Option<NonZeroU32>,
        by_route: impl IntoIterator<Item = (String, NonZeroU32)>,
    ) -> Self {
        let by_route = by_route.into_iter();
        Self {
            altogether: altogether.map(|quota| Buckets::per_second("client", quota)),
            by_route: by_route.map(|(route, quota)| (route, Buckets::per_second("route", quota))).collect(),
        }
    }

    /// Counts a request of a client. What is refused by its route's limit has been counted against the other one: a client
    /// that does not listen uses up its own.
    ///
    /// # Errors
    ///
    /// If one of the limits has nothing left.
    pub fn take(&self, client: ClientId, route: &str) -> Result<Allowance, Box<Exceeded>> {
        let mut allowance = Allowance::default();
        for buckets in self.altogether.iter().chain(self.by_route.get(route)) {
            match buckets.take(client) {
                Ok(share) => allowance.add(share),
                Err(share) => {
                    allowance.add(share);
                    return Err(Box::new(Exceeded { share, allowance }));
                }
            }
        }
        Ok(allowance)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const BUSY: ClientId = ClientId(Uuid::nil());
    const QUIET: ClientId = ClientId(Uuid::max());

    fn limit(altogether: Option<u32>, of_orders: Option<u32>) -> RateLimit {
        let some = |count| NonZeroU32::new(count).unwrap();
        let by_route = of_orders.map(|count| ("POST /v1/orders".to_owned(), some(count)));
        RateLimit::new(altogether.map(some), by_route)
    }

    #[test]
    fn a_client_that_has_emptied_its_bucket_is_refused_and_another_is_not() {
        let limit = limit(Some(2), None);
        assert!(limit.take(BUSY, "a").is_ok() && limit.take(BUSY, "b").is_ok());
        let refused = limit.take(BUSY, "c").unwrap_err();
        assert_eq!((refused.share.policy, refused.share.quota, refused.retry_after_s()), ("client", 2, 1));
        assert!(limit.take(QUIET, "a").is_ok());
    }

    #[test]
    fn a_routes_limit_is_for_that_route_alone() {
        let limit = limit(None, Some(1));
        assert!(limit.take(BUSY, "POST /v1/orders").is_ok());
        let refused = limit.take(BUSY, "POST /v1/orders").unwrap_err();
        assert_eq!(refused.share.policy, "route");
        assert!(limit.take(BUSY, "GET /v1/orders").unwrap().headers().is_none());
        assert!(limit.take(QUIET, "POST /v1/orders").is_ok());
    }

    #[test]
    fn both_limits_are_told_of_with_the_one_that_refuses_last() {
        let limit = limit(Some(5), Some(1));
        assert!(limit.take(BUSY, "POST /v1/orders").is_ok());
        let refused = limit.take(BUSY, "POST /v1/orders").unwrap_err();
        let [_, (_, left)] = refused.allowance.headers().unwrap();
        assert!(left.to_str().unwrap().starts_with(r#""client";r=3;t=1, "route";r=0;t="#), "{left:?}");
    }
}
