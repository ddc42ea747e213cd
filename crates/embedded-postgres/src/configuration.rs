//! How PostgreSQL is to run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::home::Home;

/// The superuser of every cluster.
pub const USER: &str = "onefold";

/// The number in the socket's name. The directory is private, so no other server can want the same.
pub(crate) const PORT: u16 = 5432;

/// The line by which a later process recognises a cluster that runs without flushing.
const FLUSHING_OFF: &str = "fsync = off";

/// What to attach to or start. A cluster that already runs keeps the settings it was started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of the cluster, made if it is missing. Processes that name the same one share one PostgreSQL.
    pub data_dir: PathBuf,
    /// The directory with `initdb`, `postgres` and `pg_ctl`; searched for when `None`, as [`find_programs`](crate::find_programs) does.
    pub programs: Option<PathBuf>,
    /// Whether a commit survives a power cut. With `false`, for tests, it survives the death of every process, and no more.
    pub durable: bool,
    /// Connections at the same time, over all processes that share the cluster.
    pub max_connections: u32,
    /// PostgreSQL's page cache, in MB.
    pub shared_buffers_mb: u32,
    /// How long a start may take, recovery after a crash and another process's start included.
    pub start_within: Duration,
}

impl Settings {
    /// Durable, 100 connections, a page cache of 256 MB, and 60 s to start.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            programs: None,
            durable: true,
            max_connections: 100,
            shared_buffers_mb: 256,
            start_within: Duration::from_secs(60),
        }
    }

    /// Writes the three files that PostgreSQL reads when it starts.
    pub(crate) fn write(&self, home: &Home, socket_dir: &Path) -> Result<(), Error> {
        home.replace("postgresql.conf", &self.postgresql_conf(socket_dir))?;
        home.replace("pg_hba.conf", &pg_hba_conf())?;
        home.replace("pg_ident.conf", &pg_ident_conf(home))
    }

    fn postgresql_conf(&self, socket_dir: &Path) -> String {
        let fsync = if self.durable { "fsync = on" } else { FLUSHING_OFF };
        // macOS's fsync stops at the drive's cache; only this method goes through it.
        let through_the_drive =
            if cfg!(target_os = "macos") { "wal_sync_method = fsync_writethrough\n" } else { "" };
        let socket_dir = quoted(&socket_dir.to_string_lossy());
        format!(
            "\
# Written at each start: a change made here is lost. ALTER SYSTEM keeps one.
cluster_name = '{USER}'

# Only a socket, in a directory that only the user who runs PostgreSQL can enter.
listen_addresses = ''
unix_socket_directories = {socket_dir}
unix_socket_permissions = 0700
port = {PORT}

# What a commit promises. Only fsync is ever off, for tests. Without synchronous_commit a killed server would lose what
# it has answered; without full_page_writes one that is killed between the two halves of a page's write would corrupt it.
{fsync}
synchronous_commit = on
full_page_writes = on
{through_the_drive}
max_connections = {max_connections}
# A batch locks one name per command, in the shared table of this many times max_connections slots.
max_locks_per_transaction = 256
shared_buffers = {shared_buffers_mb}MB
max_wal_size = 1GB
# Every statement is short; compiling one costs more than running it.
jit = off

# The same everywhere, whatever the environment of the process that starts it.
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
log_line_prefix = '%m [%p] '
",
            max_connections = self.max_connections,
            shared_buffers_mb = self.shared_buffers_mb,
        )
    }
}

/// Whether the cluster runs, or ran last, without flushing.
pub(crate) fn flushing_is_off(home: &Home) -> bool {
    std::fs::read_to_string(home.path().join("postgresql.conf"))
        .is_ok_and(|configuration| configuration.lines().any(|line| line == FLUSHING_OFF))
}

/// `peer`: the kernel says which user is at the other end of the socket, and `pg_ident.conf` says who that may be.
/// `trust` would do as well for as long as the directory's mode is right; this holds when somebody has changed it.
fn pg_hba_conf() -> String {
    format!("local all {USER} peer map={USER}\n")
}

/// The users who may come in as [`USER`]: the one who starts it, the one who runs it, and root, who could read the
/// files anyway and may be the one who attaches (`sudo`) to what a user has started.
fn pg_ident_conf(home: &Home) -> String {
    let mut names = vec!["root", home.me.name.as_str(), home.runner.name.as_str()];
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| format!("{USER} \"{name}\" {USER}\n")).collect()
}

/// A string of a configuration file.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fsync_is_given_up_for_a_test() {
        let durable = Settings::new("/x").postgresql_conf(Path::new("/x/socket"));
        let hasty =
            Settings { durable: false, ..Settings::new("/x") }.postgresql_conf(Path::new("/x/socket"));
        assert_eq!(durable.replace("\nfsync = on\n", "\nfsync = off\n"), hasty);
        assert_ne!(durable, hasty);
    }

    #[test]
    fn a_quote_or_backslash_in_a_path_is_escaped() {
        assert_eq!(quoted(r"/it's\here"), r"'/it''s\\here'");
    }
}
