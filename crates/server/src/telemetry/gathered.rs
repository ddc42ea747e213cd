//! Lines for standard error that are gathered for some milliseconds and written together.
//!
//! A line for each request, written by itself, is a system call for each request, made by the thread that serves it. Here
//! it is a copy into memory, and a thread of its own writes what has come together.
//!
//! What is promised: lines are written in the order they were logged, and none is dropped. A warning or an error is
//! written at once, and everything before it. When more waits than [`WAITING_BYTES_MAX`], whoever logs waits until it
//! is written, as it would without any gathering: a reader of the log that has stopped reading stops the service, rather
//! than making it forget what it did. The last lines are written when the process ends or panics ([`super::flush`]); a
//! process that is killed loses those of the last [`GATHERED_FOR`].

use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// How long a line waits for company. Short enough for whoever reads along.
pub const GATHERED_FOR: Duration = Duration::from_millis(10);

/// So many bytes are not waited with: as much as a pipe holds.
const WRITTEN_AT_BYTES: usize = 64 * 1024;

/// More than this does not wait: whoever logs writes.
pub const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// The lines that wait.
#[derive(Debug)]
pub struct Gathered {
    waiting: Mutex<Vec<u8>>,
    /// Tells the thread that a first line has come, or that there are enough.
    come: Condvar,
    /// Held while writing, so that lines leave in the order they came. The buffer is the one that is not waiting.
    leaving: Mutex<Vec<u8>>,
}

impl Gathered {
    /// Nothing waits.
    pub const fn new() -> Self {
        Self { waiting: Mutex::new(Vec::new()), come: Condvar::new(), leaving: Mutex::new(Vec::new()) }
    }

    /// Starts the thread that writes.
    pub fn begin(&'static self) -> io::Result<()> {
        thread::Builder::new().name("logs".to_owned()).spawn(|| {
            loop {
                self.wait_for_company();
                self.flush();
            }
        })?;
        Ok(())
    }

    fn wait_for_company(&self) {
        let waiting = self.come.wait_while(locked(&self.waiting), |waiting| waiting.is_empty());
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let few = |waiting: &mut Vec<u8>| waiting.len() < WRITTEN_AT_BYTES;
        drop(self.come.wait_timeout_while(waiting, GATHERED_FOR, few));
    }

    /// Writes what waits.
    pub fn flush(&self) {
        let mut leaving = locked(&self.leaving);
        std::mem::swap(&mut *leaving, &mut *locked(&self.waiting));
        // Nobody is left to tell if standard error is closed.
        let _ = io::stderr().write_all(&leaving);
        leaving.clear();
    }

    fn add(&self, lines: &[u8]) {
        let mut waiting = locked(&self.waiting);
        let before = waiting.len();
        waiting.extend_from_slice(lines);
        let after = waiting.len();
        drop(waiting);
        if before == 0 || (before < WRITTEN_AT_BYTES && after >= WRITTEN_AT_BYTES) {
            self.come.notify_one();
        }
        if after > WAITING_BYTES_MAX {
            self.flush();
        }
    }
}

impl Default for Gathered {
    fn default() -> Self {
        Self::new()
    }
}

/// A panic in the middle leaves bytes that are as good as any.
fn locked(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lines of one event.
#[derive(Debug)]
pub struct Lines<'a> {
    gathered: &'a Gathered,
    urgent: bool,
}

impl<'a> MakeWriter<'a> for &'static Gathered {
    type Writer = Lines<'a>;

    fn make_writer(&'a self) -> Lines<'a> {
        Lines { gathered: self, urgent: false }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Lines<'a> {
        Lines { gathered: self, urgent: *event.level() <= Level::WARN }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.gathered.add(lines);
        if self.urgent {
            self.gathered.flush();
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
