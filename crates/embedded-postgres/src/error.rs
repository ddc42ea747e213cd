//! Why there is no PostgreSQL.

use std::io;
use std::path::{Path, PathBuf};

use crate::programs::{NewestFirst, SUPPORTED_MAJORS};

/// Why a cluster could not be found, made, started or stopped. Each message says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No PostgreSQL is installed where this crate looks.
    #[error("no PostgreSQL was found: {advice}")]
    NoPrograms {
        /// What to install on this system, or what to do instead.
        advice: String,
    },
    /// PostgreSQL is installed, but in no version that this crate knows.
    #[error(
        "PostgreSQL {oldest} to {newest} is needed, and only {} found: {advice}",
        NewestFirst(found),
        oldest = SUPPORTED_MAJORS.start(),
        newest = SUPPORTED_MAJORS.end()
    )]
    UnsupportedPrograms {
        /// The major versions that were found.
        found: Vec<u32>,
        /// What to install on this system, or what to do instead.
        advice: String,
    },
    /// The directory that the caller (or `ONEFOLD_PG_BIN`) names lacks a program.
    #[error("{path} has no working initdb, postgres and pg_ctl: name the directory that holds PostgreSQL's programs", path = path.display())]
    IncompletePrograms {
        /// The directory that was named.
        path: PathBuf,
    },
    /// The data directory was made by a major version that is not installed (any more).
    #[error(
        "{path} was made by PostgreSQL {made_by}, and only {} installed: install PostgreSQL {made_by}, or move the directory away to begin with an empty database",
        NewestFirst(found),
        path = path.display()
    )]
    OtherMajor {
        /// The data directory.
        path: PathBuf,
        /// The major version that made it.
        made_by: u32,
        /// The major versions that were found.
        found: Vec<u32>,
    },
    /// The path has a control character in it, such as a line's end: PostgreSQL's own files cannot say it.
    #[error(
        "{path:?} cannot be a data directory, as there is a control character in its path: choose another"
    )]
    Unsayable {
        /// The directory, without a relative part.
        path: PathBuf,
    },
    /// The path is not a directory's.
    #[error("{path} is a file, and a data directory is needed: name a directory, which need not exist", path = path.display())]
    NotADirectory {
        /// What is there.
        path: PathBuf,
    },
    /// The unprivileged user that runs PostgreSQL for root cannot reach this path.
    #[error("the user {user}, who runs PostgreSQL for root, cannot reach {path}: choose a directory that {user} can enter", path = path.display())]
    Unreachable {
        /// What cannot be reached.
        path: PathBuf,
        /// The user that runs PostgreSQL.
        user: String,
    },
    /// The process is root's, and the system has neither of the users to which PostgreSQL is given.
    #[error(
        "PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as: add one (useradd --system postgres)"
    )]
    NoUnprivilegedUser,
    /// The system cannot tell who a user is. PostgreSQL refuses a user id without a name.
    #[error(
        "{who} has no name on this system, which PostgreSQL insists on: run as a user that is listed in /etc/passwd"
    )]
    NamelessUser {
        /// Who, in words.
        who: String,
    },
    /// The directory belongs to a user as whom this process cannot, or PostgreSQL would not, run.
    #[error("{path} belongs to the user with id {owner}, as whom PostgreSQL cannot be run from here: run as its owner, change the owner, or choose another directory", path = path.display())]
    Foreign {
        /// The data directory, or a directory in it.
        path: PathBuf,
        /// The user id that owns it.
        owner: u32,
    },
    /// Another process has been starting or stopping this cluster for longer than the start may take.
    #[error("another process has held {path} for {waited_s} s", path = path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long was waited, in seconds.
        waited_s: u64,
    },
    /// The cluster's files are gone, from under its users.
    #[error("there is no cluster in {path} any more: its files were moved or deleted", path = path.display())]
    NoCluster {
        /// The data directory.
        path: PathBuf,
    },
    /// `initdb` failed.
    #[error("PostgreSQL could not create its cluster: {output}")]
    CreationFailed {
        /// What it said.
        output: String,
    },
    /// PostgreSQL did not start.
    #[error("PostgreSQL did not start; the end of {log}:\n{tail}", log = log.display())]
    StartFailed {
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// PostgreSQL runs and does not get ready in time.
    #[error("PostgreSQL (process {pid}) has not become ready within {waited_s} s; the end of {log}:\n{tail}", log = log.display())]
    NotReady {
        /// The postmaster.
        pid: u32,
        /// How long was waited, in seconds.
        waited_s: u64,
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// PostgreSQL runs and refuses this process.
    #[error("PostgreSQL runs and refuses the connection: {message}")]
    Refused {
        /// What it said, with its SQLSTATE.
        message: String,
    },
    /// A durable cluster was asked for, and it runs with flushing off, for a test.
    #[error("{path} is running without fsync, for a test: stop that first", path = path.display())]
    NotDurable {
        /// The data directory.
        path: PathBuf,
    },
    /// PostgreSQL went on running although it was told to stop, at last without a checkpoint.
    #[error("the PostgreSQL of {path} did not stop", path = path.display())]
    NotStopped {
        /// The data directory.
        path: PathBuf,
    },
    /// The operating system said no.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: what was tried, and on what.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
