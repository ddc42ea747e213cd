//! The time.

use chrono::{DateTime, Utc};

/// The time now. A signature is of the moment at which it is sent, so this is read once for each attempt.
#[expect(clippy::disallowed_methods, reason = "a provider is an edge: its clock is nobody's argument")]
pub fn now() -> DateTime<Utc> {
    Utc::now()
}
