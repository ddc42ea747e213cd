//! Which database errors mean what. They are told apart by SQLSTATE, never by text.
//!
//! None of them is ever an answer: only a committed row that was read justifies a refusal.

use std::time::Duration;

/// What went wrong with an attempt at a batch.
#[derive(Debug)]
pub enum Fault {
    /// Another transaction was faster, or is in the way. Nothing happened; begin anew.
    Conflict(Conflict),
    /// PostgreSQL's shared lock table is full: the batch must be smaller.
    OutOfLocks,
    /// A command brought something that the database cannot take.
    Command(sqlx::Error),
    /// The connection is gone, before the commit was sent. Nothing happened.
    Lost(sqlx::Error),
    /// The connection is gone, or gave no clear answer, after the commit was sent: it happened, or it did not.
    Unknown(sqlx::Error),
    /// There is no connection to be had.
    NoConnection(sqlx::Error),
}

/// How two transactions got into each other's way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Conflict {
    /// A row no longer has the version it was read with.
    VersionMoved,
    /// A unique key was taken since it was looked for (23505).
    KeyTaken,
    /// PostgreSQL could not put the transactions in order (40001).
    Serialization,
    /// Two transactions waited for each other (40P01).
    Deadlock,
    /// A lock was not to be had in time (55P03), or a statement took too long (57014).
    TimedOut,
}

impl Conflict {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::VersionMoved, Self::KeyTaken, Self::Serialization, Self::Deadlock, Self::TimedOut];

    /// The word for it in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VersionMoved => "version_moved",
            Self::KeyTaken => "key_taken",
            Self::Serialization => "serialization",
            Self::Deadlock => "deadlock",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What an error in the middle of a transaction means.
pub fn judge(error: sqlx::Error) -> Fault {
    let Some(state) = sqlstate(&error) else {
        return if is_about_a_value(&error) { Fault::Command(error) } else { Fault::Lost(error) };
    };
    match state.as_str() {
        "23505" => Fault::Conflict(Conflict::KeyTaken),
        "40001" => Fault::Conflict(Conflict::Serialization),
        "40P01" => Fault::Conflict(Conflict::Deadlock),
        "55P03" | "57014" => Fault::Conflict(Conflict::TimedOut),
        "53200" => Fault::OutOfLocks,
        _ if ends_the_session(&state) => Fault::Lost(error),
        _ => Fault::Command(error),
    }
}

/// What an error in answer to COMMIT means. Only where PostgreSQL says that it rolled back is it certain that
/// nothing happened.
pub fn judge_commit(error: sqlx::Error) -> Fault {
    match sqlstate(&error).as_deref() {
        Some("40001") => Fault::Conflict(Conflict::Serialization),
        Some("40P01") => Fault::Conflict(Conflict::Deadlock),
        Some("23505") => Fault::Conflict(Conflict::KeyTaken),
        Some(state) if state.starts_with("23") => Fault::Command(error),
        _ => Fault::Unknown(error),
    }
}

/// The error for a server that gave no answer in time. The connection must not be used again.
pub fn no_answer(limit: Duration) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        format!("the database gave no answer within {} ms", limit.as_millis()),
    ))
}

fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|fault| fault.code()).map(|code| code.into_owned())
}

/// Class 08: connection exceptions. 57P01–57P05: the server shuts down, crashed, is starting, or ended the
/// session; 25P02 and 25P03: the session or its transaction is no longer usable. 53300 and class 58: no room, or
/// the system under the server failed.
fn ends_the_session(state: &str) -> bool {
    state.starts_with("08")
        || state.starts_with("57P")
        || state.starts_with("25P")
        || state.starts_with("58")
        || state.starts_with("53")
}

fn is_about_a_value(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Encode(_)
            | sqlx::Error::Decode(_)
            | sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::RowNotFound
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::TypeNotFound { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_breaks_before_the_commit_means_nothing_happened() {
        let broken = sqlx::Error::Io(std::io::ErrorKind::BrokenPipe.into());
        assert!(matches!(judge(broken), Fault::Lost(_)));
    }

    #[test]
    fn a_connection_that_breaks_during_the_commit_means_nobody_knows() {
        let broken = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(matches!(judge_commit(broken), Fault::Unknown(_)));
    }

    #[test]
    fn a_row_that_cannot_be_read_is_the_fault_of_one_command() {
        assert!(matches!(judge(sqlx::Error::RowNotFound), Fault::Command(_)));
    }
}
