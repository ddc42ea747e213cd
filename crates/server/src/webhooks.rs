//! Delivering webhooks: what the consumer `notifications` has written down reaches its endpoint.
//!
//! In reading order:
//!
//! - this file: what can be set;
//! - [`delivering`]: whose turn it is, and what follows from each attempt;
//! - [`sending`]: one attempt over HTTP;
//! - [`resolving`]: from a name to addresses that may be called.
//!
//! Every server delivers; turns are taken in the database. No transaction is open while an endpoint is called.

pub mod delivering;
pub mod resolving;
pub mod sending;

use std::time::Duration;

use notifications::{Reach, Schedule};

/// What can be set about delivering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookSettings {
    /// Whether endpoints are delivered to.
    pub deliver: bool,
    /// How far endpoints may be away.
    pub reach: Reach,
    /// How long an endpoint may take to answer, from connecting to the last header.
    pub timeout: Duration,
    /// When it is tried again.
    pub schedule: Schedule,
    /// The pause between two rounds in which nothing was due: so late may something due be reached.
    pub pause: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            deliver: true,
            reach: Reach::Public,
            timeout: Duration::from_secs(15),
            schedule: Schedule::default(),
            pause: Duration::from_millis(500),
        }
    }
}
