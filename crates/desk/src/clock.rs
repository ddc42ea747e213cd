//! The clock: the one place that asks the machine for the time.

use chrono::{DateTime, SubsecRound, Utc};

/// Tells the time. A port, so that tests can move it.
pub trait Clock: Send + Sync + 'static {
    /// The time, with no more digits than the database keeps (microseconds).
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the edge where the time comes in")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now().trunc_subsecs(6)
    }
}
