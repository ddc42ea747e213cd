//! Why a run could not be.

use std::io;

use crate::plan::Target;

/// Why a run ended without a report. What goes wrong under load is no error but a part of the report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The threads of the generator could not be started.
    #[error("cannot start the generator's threads")]
    Threads(#[source] io::Error),
    /// What was to be done before the load could not be done.
    #[error("what was to be done before the load ({command}) ended with {how}")]
    BeforeLoad {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// The target's host has no address.
    #[error("cannot find the address of {target}")]
    Unresolved {
        /// Where the load was to go.
        target: Target,
        /// What the resolver says.
        source: io::Error,
    },
    /// Something that the run needs before or after the load was answered otherwise than it must be.
    #[error("{what}: the server answers {status}{}{body}", if body.is_empty() { "" } else { ": " })]
    Answered {
        /// What was asked for.
        what: &'static str,
        /// The status of the answer.
        status: u16,
        /// Its body, or the beginning of it.
        body: String,
    },
    /// Something that the run needs before or after the load got no final answer.
    #[error("{what}: no answer from {target} ({last})")]
    Unanswered {
        /// What was asked for.
        what: &'static str,
        /// Where.
        target: Target,
        /// The last trouble.
        last: String,
    },
    /// A body that is not what the contract says.
    #[error("{what}: the answer cannot be read")]
    Unreadable {
        /// What was asked for.
        what: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The database of the audit could not be asked.
    #[error("the audit cannot ask the database")]
    Database(#[from] sqlx::Error),
}
