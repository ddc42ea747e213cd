//! A clock that tests move.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound, Utc};
use desk::{Clock, SystemClock};

/// A clock that stands still until it is moved. All clones are one clock.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<DateTime<Utc>>>);

impl ManualClock {
    /// A clock that shows the present time.
    pub fn at_present() -> Self {
        Self(Arc::new(Mutex::new(SystemClock.now())))
    }

    /// A clock that shows this time.
    pub fn at(time: DateTime<Utc>) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trunc_subsecs(6)
    }
}
