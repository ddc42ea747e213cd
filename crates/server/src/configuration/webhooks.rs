//! `[consumers]` and `[webhooks]`: what is done with events in this server.

use chrono::TimeDelta;
use consumers::Consumer;
use notifications::{Reach, Schedule};
use serde::{Deserialize, Serialize};
use validator::Validate;

use super::{millis, small};
use crate::pruning::Kept;
use crate::webhooks::WebhookSettings;

/// `[consumers]`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct ConsumersSection {
    /// Whether this server keeps the daily totals.
    pub read_model: bool,
    /// Whether this server has clients told of their events.
    pub notifications: bool,
    /// For how many days an event is kept that a consumer has set aside.
    #[validate(range(min = 1, max = 3_650))]
    pub set_aside_kept_days: u32,
}

/// `[webhooks]`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksSection {
    /// Whether endpoints may be on this machine or in a private network, and without TLS: for local runs and tests.
    pub local_endpoints: bool,
    /// How long an endpoint may take to answer.
    #[validate(range(min = 100, max = 60_000))]
    pub timeout_ms: u32,
    /// How often a delivery is tried.
    #[validate(range(min = 1, max = 100))]
    pub attempts_max: u32,
    /// The pause after the first attempt that failed; each one after it is four times as long.
    #[validate(range(min = 100, max = 3_600_000))]
    pub first_retry_ms: u32,
    /// The longest pause, in seconds.
    #[validate(range(min = 1, max = 86_400))]
    pub longest_retry_s: u32,
    /// For how many days what was delivered is kept, to be delivered once more if need be.
    #[validate(range(min = 1, max = 3_650))]
    pub kept_days: u32,
    /// For how many days what was given up is kept.
    #[validate(range(min = 1, max = 3_650))]
    pub dead_kept_days: u32,
}

impl Default for ConsumersSection {
    fn default() -> Self {
        let Kept { set_aside, .. } = Kept::default();
        Self { read_model: true, notifications: true, set_aside_kept_days: small(set_aside.num_days()) }
    }
}

impl Default for WebhooksSection {
    fn default() -> Self {
        let WebhookSettings { reach, timeout, schedule, deliver: _, pause: _ } = WebhookSettings::default();
        let Kept { delivered, dead, set_aside: _ } = Kept::default();
        Self {
            local_endpoints: reach == Reach::Anywhere,
            timeout_ms: small(timeout.as_millis()),
            attempts_max: schedule.attempts_max,
            first_retry_ms: small(schedule.first.num_milliseconds()),
            longest_retry_s: small(schedule.longest.num_seconds()),
            kept_days: small(delivered.num_days()),
            dead_kept_days: small(dead.num_days()),
        }
    }
}

impl ConsumersSection {
    /// The consumers that this server has.
    pub fn enabled(&self) -> Vec<Consumer> {
        let is_enabled = |consumer: &Consumer| match consumer {
            Consumer::ReadModel => self.read_model,
            Consumer::Notifications => self.notifications,
        };
        Consumer::ALL.into_iter().filter(is_enabled).collect()
    }
}

impl WebhooksSection {
    /// How far endpoints may be away.
    pub fn reach(&self) -> Reach {
        if self.local_endpoints { Reach::Anywhere } else { Reach::Public }
    }

    /// How endpoints are delivered to.
    pub fn settings(&self) -> WebhookSettings {
        WebhookSettings {
            reach: self.reach(),
            timeout: millis(self.timeout_ms),
            schedule: Schedule {
                first: TimeDelta::milliseconds(self.first_retry_ms.into()),
                longest: TimeDelta::seconds(self.longest_retry_s.into()),
                attempts_max: self.attempts_max,
            },
            ..WebhookSettings::default()
        }
    }
}
