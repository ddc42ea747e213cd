//! Which problem it is when something could not be looked up.

use super::{Problem, Slug};

/// The problem of a look-up that failed, which is logged here, once, with its cause.
pub fn read_failed(error: &sqlx::Error) -> Problem {
    if is_away(error) {
        tracing::warn!(error = %error, "the database cannot be reached");
        return Problem::new(Slug::Unavailable, "the database cannot be reached; nothing was done");
    }
    tracing::error!(error = %error, "a look-up in the database failed");
    Problem::new(Slug::Internal, "the server made a mistake, which is logged under the id of this request")
}

/// Whether the database is away, or has no means left to answer, rather than being asked something wrong.
pub fn is_away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // Class 08: connection exception; 53: insufficient resources; 57: operator intervention.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| ["08", "53", "57"].iter().any(|class| code.starts_with(class)))
        }
        _ => false,
    }
}
