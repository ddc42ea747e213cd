//! The data directory: where it is, whose it is, and what lies where in it.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown};
use std::path::{self, Path, PathBuf};

use crate::Error;
use crate::os_user::OsUser;

/// Where the cluster lives when root's PostgreSQL user cannot reach the place that was preferred.
pub const SYSTEM_DATA_DIR: &str = "/var/lib/onefold";

/// A log longer than this is put aside at the next start.
const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How much of a log's end an error carries.
const TAIL_LINES: usize = 20;
const TAIL_BYTES_MAX: u64 = 16 * 1024;

/// Why [`choose_data_dir`] chose as it did, for the line that tells the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The preferred directory will do.
    Preferred,
    /// This process is root's, and the user that runs PostgreSQL for it cannot reach the preferred directory.
    Unreachable {
        /// The directory that was preferred.
        preferred: PathBuf,
        /// The user that runs PostgreSQL.
        user: String,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preferred => out.write_str("the preferred place"),
            Self::Unreachable { preferred, user } => write!(
                out,
                "as the user {user}, who runs PostgreSQL for root, cannot reach {}",
                preferred.display()
            ),
        }
    }
}

/// Chooses where the cluster lives, without making anything: `preferred` (made absolute), or [`SYSTEM_DATA_DIR`]
/// where the user that runs PostgreSQL for root cannot reach that. Runs short commands: keep it off an async thread.
///
/// # Errors
///
/// [`Error::NoUnprivilegedUser`], [`Error::NamelessUser`], and [`Error::Io`] when the working directory is gone.
pub fn choose_data_dir(preferred: &Path) -> Result<(PathBuf, Why), Error> {
    let preferred = path::absolute(preferred).map_err(Error::io("resolve", preferred))?;
    let me = OsUser::current()?;
    let runner = runner_for(&preferred, &me)?;
    // Only root has another place; for others the start will say what is wrong with this one.
    if !me.is_root() || runner.can_enter(nearest_that_exists(&preferred), &me) {
        return Ok((preferred, Why::Preferred));
    }
    Ok((PathBuf::from(SYSTEM_DATA_DIR), Why::Unreachable { preferred, user: runner.name }))
}

/// Whether a directory has a cluster in it, running or not. Makes nothing, and resolves symbolic links.
///
/// A directory into which this process may not look counts as one that has: the start says what is wrong with it.
///
/// # Errors
///
/// [`Error::Unsayable`], [`Error::NotADirectory`], and [`Error::Io`] when the working directory is gone.
pub fn has_cluster(data_dir: &Path) -> Result<bool, Error> {
    let data_dir = path::absolute(data_dir).map_err(Error::io("resolve", data_dir))?;
    refuse_what_cannot_be_one(&data_dir)?;
    // As `initdb` works under another name, whatever has this one is whole, or was; see `Home::made_by`.
    Ok(!matches!(
        fs::metadata(data_dir.join("data")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    ))
}

/// A data directory that exists and that PostgreSQL can reach.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// Without links in it, so that processes that came by different paths agree.
    path: PathBuf,
    /// Who this process is.
    pub(crate) me: OsUser,
    /// Who runs PostgreSQL.
    pub(crate) runner: OsUser,
}

impl Home {
    /// Makes the directory if it is missing: of mode 0700, or 0711 when root makes it, for PostgreSQL's user to pass.
    pub(crate) fn prepare(data_dir: &Path) -> Result<Self, Error> {
        let data_dir = path::absolute(data_dir).map_err(Error::io("resolve", data_dir))?;
        refuse_what_cannot_be_one(&data_dir)?;
        let me = OsUser::current()?;
        let runner = runner_for(&data_dir, &me)?;
        let unreachable =
            |path: &Path| Error::Unreachable { path: path.to_owned(), user: runner.name.clone() };

        if me.is_root() && !runner.can_enter(nearest_that_exists(&data_dir), &me) {
            return Err(unreachable(&data_dir));
        }
        if let Some(parent) = data_dir.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        let mode = if me.is_root() { 0o711 } else { 0o700 };
        match DirBuilder::new().mode(mode).create(&data_dir) {
            // Again, past the umask.
            Ok(()) => fs::set_permissions(&data_dir, Permissions::from_mode(mode))
                .map_err(Error::io("set the mode of", &data_dir))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("create", &data_dir)(error)),
        }
        let path = fs::canonicalize(&data_dir).map_err(Error::io("resolve", &data_dir))?;
        refuse_what_cannot_be_one(&path)?;
        let owner = fs::metadata(&path).map_err(Error::io("look at", &path))?.uid();
        if owner != me.uid && !me.is_root() {
            return Err(Error::Foreign { path, owner });
        }
        if me.is_root() && !runner.can_enter(&path, &me) {
            return Err(unreachable(&path));
        }
        Ok(Self { path, me, runner })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    pub(crate) fn start_lock(&self) -> PathBuf {
        self.path.join("start.lock")
    }

    pub(crate) fn in_use_lock(&self) -> PathBuf {
        self.path.join("in-use.lock")
    }

    /// The major version that made the cluster; `None` when there is none yet. `initdb` works in a directory with
    /// another name, so a cluster under this one is whole.
    pub(crate) fn made_by(&self) -> Result<Option<u32>, Error> {
        let path = self.data().join("PG_VERSION");
        match fs::read_to_string(&path) {
            Ok(version) => version.trim().parse().map(Some).map_err(|_| {
                Error::io("understand", &path)(io::Error::new(io::ErrorKind::InvalidData, "no major version"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.data().exists() => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Makes `path` as an empty directory of PostgreSQL's user, mode 0700; `false` when something else is there that
    /// is not exactly that. Nothing that a stranger may have put there is followed or changed.
    pub(crate) fn make_private(&self, path: &Path) -> io::Result<bool> {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {
                if self.me.is_root() {
                    lchown(path, Some(self.runner.uid), Some(self.runner.gid))?;
                }
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = fs::symlink_metadata(path)?;
                Ok(found.is_dir() && found.uid() == self.runner.uid && found.mode() & 0o077 == 0)
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces a file of the directory, readable for PostgreSQL's user. By a new file and a rename: a reader sees
    /// the old or the new one, and a link under that name is replaced, not followed.
    pub(crate) fn replace(&self, name: &str, content: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        let fresh = self.path.join(format!("{name}.new"));
        let mode = if self.me.is_root() { 0o644 } else { 0o600 };
        remove_if_there(&fresh)?;
        let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh);
        written
            .and_then(|mut file| {
                // Again, past the umask.
                file.set_permissions(Permissions::from_mode(mode))?;
                file.write_all(content.as_bytes())
            })
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(Error::io("write", &path))
    }

    /// The log, open for appending, and how long it was. It lies in our directory and belongs to PostgreSQL's user,
    /// who can write it and cannot put a link in its place.
    pub(crate) fn open_log(&self) -> Result<(File, u64), Error> {
        let path = self.log();
        let opened = (|| {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_file() && found.len() <= LOG_BYTES_MAX => {}
                Ok(_) => fs::rename(&path, self.path.join("postgres.log.old"))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            if self.me.is_root() {
                fchown(&file, Some(self.runner.uid), Some(self.runner.gid))?;
            }
            let length = file.metadata()?.len();
            Ok((file, length))
        })();
        opened.map_err(Error::io("open the log", &path))
    }

    /// The last lines of the log that were written after its first `skip` bytes; why there are none, if it cannot be read.
    pub(crate) fn tail_of_log(&self, skip: u64) -> String {
        let read = File::open(self.log()).and_then(|mut log| {
            let length = log.metadata()?.len();
            log.seek(SeekFrom::Start(skip.max(length.saturating_sub(TAIL_BYTES_MAX))))?;
            let mut tail = Vec::new();
            log.take(TAIL_BYTES_MAX).read_to_end(&mut tail)?;
            Ok(String::from_utf8_lossy(&tail).into_owned())
        });
        let text = read.unwrap_or_else(|error| format!("(it cannot be read: {error})"));
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

/// Who runs, or will run, the PostgreSQL of this directory: a cluster's owner, else this user, else root's substitute.
fn runner_for(data_dir: &Path, me: &OsUser) -> Result<OsUser, Error> {
    let data = data_dir.join("data");
    match fs::symlink_metadata(&data) {
        Ok(found) if found.uid() == me.uid && !me.is_root() => Ok(me.clone()),
        Ok(found) if me.is_root() && found.uid() != 0 => OsUser::by_ids(found.uid(), found.gid()),
        Ok(found) => Err(Error::Foreign { path: data, owner: found.uid() }),
        Err(_) if me.is_root() => OsUser::unprivileged(),
        Err(_) => Ok(me.clone()),
    }
}

/// PostgreSQL's `postmaster.pid` and its configuration are read by lines, so a path with a line's end in it would be
/// taken for another; no control character is worth finding out which others do harm.
fn refuse_what_cannot_be_one(data_dir: &Path) -> Result<(), Error> {
    if data_dir.as_os_str().as_bytes().iter().any(u8::is_ascii_control) {
        return Err(Error::Unsayable { path: data_dir.to_owned() });
    }
    if fs::metadata(data_dir).is_ok_and(|found| !found.is_dir()) {
        return Err(Error::NotADirectory { path: data_dir.to_owned() });
    }
    Ok(())
}

fn nearest_that_exists(path: &Path) -> &Path {
    path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"))
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}
