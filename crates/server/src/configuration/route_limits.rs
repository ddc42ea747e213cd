//! `[requests_per_second]`: how often a client may ask for single routes.

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::routes::{self, Access};

/// Beyond this it is no limit, and could not be counted.
const REQUESTS_PER_SECOND_MAX: u32 = 1_000_000;

/// How many requests a client may make per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub struct RequestsPerSecond(pub NonZeroU32);

impl TryFrom<u32> for RequestsPerSecond {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        let positive = NonZeroU32::new(number).filter(|number| number.get() <= REQUESTS_PER_SECOND_MAX);
        positive.map(Self).ok_or_else(|| {
            format!("a route may be asked for 1 to {REQUESTS_PER_SECOND_MAX} times a second, and not {number} times")
        })
    }
}

/// The routes that can be limited, such as `POST /v1/orders`: those that a client asks for.
pub fn routes() -> impl Iterator<Item = String> {
    let asked_by_clients = |route: &routes::Route| matches!(route.access, Access::Scope(_));
    routes::table()
        .into_iter()
        .filter(asked_by_clients)
        .map(|route| format!("{} {}", route.method, route.path))
}
