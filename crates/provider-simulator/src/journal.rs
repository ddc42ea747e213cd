//! The file that keeps the books: one entry a line, in JSON, so that a provider that is started again remembers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::books::{Books, Entry};

/// Where entries are written before they count.
#[derive(Debug)]
pub struct Journal {
    file: Option<File>,
}

/// Why the books cannot be kept in a file.
#[derive(Debug, thiserror::Error)]
pub enum Unkept {
    /// It cannot be opened, read or written.
    #[error("cannot keep the books in {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process keeps its books there.
    #[error("{} has the books of another process", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A line of it is no entry, or none that can follow those before it.
    #[error("{} line {line} is no entry of these books", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
}

impl Journal {
    /// Books that end with the process.
    pub const fn forgetful() -> Self {
        Self { file: None }
    }

    /// The journal in `path`, made if it is not there, and the books that it has.
    ///
    /// A last line without an end was being written when the process was killed. Nobody was told of it, so it is cut off.
    /// As long as the journal is open the file is locked: two who write would each not know what the other has written.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or has something else in it.
    pub fn open(path: &Path) -> Result<(Self, Books), Unkept> {
        let failed = |source| Unkept::File { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Unkept::Taken { path: path.to_owned() },
            TryLockError::Error(source) => failed(source),
        })?;
        let mut books = Books::default();
        let mut reader = BufReader::new(&mut file);
        let (mut whole_bytes, mut line) = (0, String::new());
        for number in 1.. {
            line.clear();
            let read = reader.read_line(&mut line).map_err(failed)?;
            if !line.ends_with('\n') {
                break;
            }
            let applied = serde_json::from_str::<Entry>(&line).is_ok_and(|entry| books.apply(&entry).is_ok());
            if !applied {
                return Err(Unkept::Unreadable { path: path.to_owned(), line: number });
            }
            whole_bytes += u64::try_from(read).unwrap_or(u64::MAX);
        }
        file.set_len(whole_bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok((Self { file: Some(file) }, books))
    }

    /// Writes an entry down.
    ///
    /// # Errors
    ///
    /// When it is not written; it must not count then.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::books::Happened;
    use crate::event::samples::{amount, at};
    use crate::provider::Provider;

    fn entry(payment_no: &str, happened: Happened) -> Entry {
        Entry {
            at: at(),
            provider: Provider::Standard,
            payment_no: payment_no.to_owned(),
            nth: 1,
            amount: amount("88.80"),
            currency: "CNY".to_owned(),
            happened,
        }
    }

    #[test]
    fn what_was_written_is_there_again_and_a_torn_line_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("books.jsonl");
        let (mut journal, books) = Journal::open(&path).unwrap();
        assert!(books.payments().is_empty());
        journal.write(&entry("P-1", Happened::Paid)).unwrap();
        journal.write(&entry("P-2", Happened::Paid)).unwrap();
        assert!(matches!(Journal::open(&path), Err(Unkept::Taken { .. })), "while it is open");
        drop(journal);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 5]).unwrap();

        let (mut journal, books) = Journal::open(&path).unwrap();
        assert_eq!(books.payments().len(), 1);
        journal.write(&entry("P-3", Happened::Paid)).unwrap();
        drop(journal);
        let (_, books) = Journal::open(&path).unwrap();
        let numbers: Vec<&str> = books.payments().iter().map(|one| one.payment.payment_no.as_str()).collect();
        assert_eq!(numbers, ["P-1", "P-3"]);
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        fs::write(&path, "dear diary\n").unwrap();
        assert!(matches!(Journal::open(&path), Err(Unkept::Unreadable { line: 1, .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary\n");
    }
}
