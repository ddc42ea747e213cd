//! Locks between processes: `flock` on small files, which the kernel drops when their holder dies.
//!
//! The standard library opens files close-on-exec, so no program started here (`initdb`, `pg_ctl`, and through it
//! PostgreSQL) inherits one and keeps it held. Between its fork and its exec a child does hold a copy, so a lock that
//! was given back may look taken for a moment: no try is believed at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Error;

/// Between two tries for a lock that is taken. A blocking wait could not be given up, nor end with the runtime.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// A file that exists to be locked. Dropping it gives the lock back.
#[derive(Debug)]
pub(crate) struct LockFile {
    file: File,
    path: PathBuf,
}

impl LockFile {
    /// Opens `path`, making it if it is missing. A symbolic link is refused: root would create or lock what it names.
    pub(crate) fn open(path: PathBuf) -> Result<Self, Error> {
        let file = open_or_create(&path).map_err(Error::io("open the lock", &path))?;
        Ok(Self { file, path })
    }

    /// Waits until nobody else holds the lock in any way, at most `wait`: whether it was had.
    pub(crate) async fn lock_within(&self, wait: Duration) -> Result<bool, Error> {
        self.had_within(wait, || self.file.try_lock()).await
    }

    /// Waits until nobody holds the lock exclusively, at most `wait`: whether it was had, shared.
    pub(crate) async fn lock_shared_within(&self, wait: Duration) -> Result<bool, Error> {
        self.had_within(wait, || self.file.try_lock_shared()).await
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    async fn had_within(
        &self,
        wait: Duration,
        try_once: impl Fn() -> Result<(), TryLockError>,
    ) -> Result<bool, Error> {
        let deadline = Instant::now() + wait;
        loop {
            match try_once() {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
                Err(TryLockError::WouldBlock) => sleep(TRY_EVERY).await,
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", &self.path)(source)),
            }
        }
    }
}

fn open_or_create(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
            }
            OpenOptions::new().read(true).write(true).open(path)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock_in(directory: &tempfile::TempDir) -> LockFile {
        LockFile::open(directory.path().join("a.lock")).unwrap()
    }

    #[tokio::test]
    async fn shared_holders_keep_an_exclusive_one_out_until_the_last_has_gone() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second, third) = (lock_in(&directory), lock_in(&directory), lock_in(&directory));
        assert!(first.lock_shared_within(Duration::ZERO).await.unwrap());
        assert!(second.lock_shared_within(Duration::ZERO).await.unwrap());
        assert!(!third.lock_within(Duration::ZERO).await.unwrap());
        drop(first);
        assert!(!third.lock_within(Duration::ZERO).await.unwrap());
        drop(second);
        // In a moment: a child that another test is just starting may still hold a copy.
        assert!(third.lock_within(Duration::from_secs(5)).await.unwrap());
    }

    #[test]
    fn a_lock_that_is_a_symbolic_link_is_refused_and_its_target_not_made() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        std::os::unix::fs::symlink(&target, directory.path().join("a.lock")).unwrap();
        assert!(LockFile::open(directory.path().join("a.lock")).is_err());
        assert!(!target.exists());
    }
}
