//! Which PostgreSQL is installed.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;

/// The major versions that this crate starts.
pub const SUPPORTED_MAJORS: RangeInclusive<u32> = 14..=18;

/// The environment variable that [`find_programs`] reads when nothing is configured: a directory with the programs.
pub const PROGRAMS_VARIABLE: &str = "ONEFOLD_PG_BIN";

/// A directory with `initdb`, `postgres` and `pg_ctl` of one supported version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    directory: PathBuf,
    major: u32,
}

impl Programs {
    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Their major version, as in PostgreSQL 15.
    pub fn major(&self) -> u32 {
        self.major
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Finds PostgreSQL's programs. A directory that is `configured`, else the one that [`PROGRAMS_VARIABLE`] names, is the
/// only one looked at. Otherwise, in this order: what `pg_config` says, Debian's directories, those of PostgreSQL's
/// own packages for Fedora and RHEL, Alpine's, Homebrew's, Postgres.app's (newest major first in each), and `PATH`.
/// A version outside [`SUPPORTED_MAJORS`] is passed over. Runs short commands: keep it off an async thread.
///
/// # Errors
///
/// [`Error::NoPrograms`], [`Error::UnsupportedPrograms`] and, for a directory that was named, [`Error::IncompletePrograms`].
pub fn find_programs(configured: Option<&Path>) -> Result<Programs, Error> {
    Places::of_this_system().find(configured, None)
}

/// As [`find_programs`], of the major version that made the cluster in `data_dir`.
pub(crate) fn find_programs_of(
    made_by: u32,
    data_dir: &Path,
    configured: Option<&Path>,
) -> Result<Programs, Error> {
    Places::of_this_system().find(configured, Some((made_by, data_dir)))
}

/// Where to look. Tests look below a directory of their own.
struct Places {
    root: PathBuf,
    named: Option<PathBuf>,
    search_path: Option<OsString>,
}

/// Directories below the root that hold one directory per version: the part before the version, and the part after.
const VERSIONED: [(&str, &str, &str); 7] = [
    ("usr/lib/postgresql", "", "bin"),
    ("usr", "pgsql-", "bin"),
    ("usr/libexec", "postgresql", ""),
    ("usr/libexec", "postgresql", "bin"),
    ("opt/homebrew/opt", "postgresql@", "bin"),
    ("usr/local/opt", "postgresql@", "bin"),
    ("Applications/Postgres.app/Contents/Versions", "", "bin"),
];

impl Places {
    fn of_this_system() -> Self {
        Self {
            root: PathBuf::from("/"),
            named: env::var_os(PROGRAMS_VARIABLE).filter(|named| !named.is_empty()).map(PathBuf::from),
            search_path: env::var_os("PATH"),
        }
    }

    fn find(&self, configured: Option<&Path>, wanted: Option<(u32, &Path)>) -> Result<Programs, Error> {
        let named = configured.or(self.named.as_deref());
        let candidates = match named {
            Some(named) => vec![named.to_owned()],
            None => self.candidates(),
        };
        let mut found = Vec::new();
        for directory in candidates {
            let Some(major) = major_in(&directory) else { continue };
            let fits = wanted.map_or(SUPPORTED_MAJORS.contains(&major), |(made_by, _)| made_by == major);
            if fits && SUPPORTED_MAJORS.contains(&major) {
                return Ok(Programs { directory, major });
            }
            if !found.contains(&major) {
                found.push(major);
            }
        }
        Err(match (named, wanted) {
            (Some(named), _) if found.is_empty() => Error::IncompletePrograms { path: named.to_owned() },
            (None, _) if found.is_empty() => Error::NoPrograms { advice: self.advice() },
            (_, Some((made_by, path))) => Error::OtherMajor { path: path.to_owned(), made_by, found },
            (_, None) => Error::UnsupportedPrograms { found, advice: self.advice() },
        })
    }

    fn candidates(&self) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        candidates.extend(self.directory_of_pg_config());
        for (parent, before, after) in VERSIONED {
            candidates.extend(self.newest_first(parent, before, after));
        }
        candidates.extend(self.search_path.iter().flat_map(env::split_paths));
        candidates
    }

    /// `pg_config` may come from a client package: the directory it names need not hold a server.
    fn directory_of_pg_config(&self) -> Option<PathBuf> {
        let program = env::split_paths(self.search_path.as_ref()?)
            .map(|directory| directory.join("pg_config"))
            .find(|program| program.is_file())?;
        let output = Command::new(program).arg("--bindir").stdin(Stdio::null()).output().ok()?;
        let directory = String::from_utf8(output.stdout).ok()?;
        (output.status.success()).then(|| PathBuf::from(directory.trim_end()))
    }

    fn newest_first(&self, parent: &str, before: &str, after: &str) -> Vec<PathBuf> {
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(self.root.join(parent))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.strip_prefix(before)?.parse().ok()?;
                Some((version, entry.path().join(after)))
            })
            .collect();
        versions.sort_by(|one, other| other.cmp(one));
        versions.into_iter().map(|(_, directory)| directory).collect()
    }

    fn advice(&self) -> String {
        let release = fs::read_to_string(self.root.join("etc/os-release")).unwrap_or_default();
        let install = if cfg!(target_os = "macos") { HOMEBREW } else { command_for(&release) };
        format!(
            "install one ({install}), or set DATABASE_URL to a server of your own, or run `docker compose up`"
        )
    }
}

const DEBIAN: &str = "`apt-get install postgresql`";
const FEDORA: &str = "`dnf install postgresql-server`";
const ALPINE: &str = "`apk add postgresql`";
const HOMEBREW: &str = "`brew install postgresql@17`";

/// The command for the system that `/etc/os-release` describes by its `ID` and what that is `ID_LIKE`.
fn command_for(release: &str) -> &'static str {
    let ids = release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches(['"', '\'']).split(' '));
    for id in ids {
        match id {
            "debian" | "ubuntu" => return DEBIAN,
            "fedora" | "rhel" | "centos" => return FEDORA,
            "alpine" => return ALPINE,
            _ => {}
        }
    }
    "Debian, Ubuntu: `apt-get install postgresql`; Fedora: `dnf install postgresql-server`; Alpine: `apk add postgresql`; Homebrew: `brew install postgresql@17`"
}

/// The major version of a directory that has all three programs.
fn major_in(directory: &Path) -> Option<u32> {
    if !["initdb", "pg_ctl", "postgres"].iter().all(|name| directory.join(name).is_file()) {
        return None;
    }
    let output =
        Command::new(directory.join("postgres")).arg("--version").stdin(Stdio::null()).output().ok()?;
    major_of(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, `… 19beta1` too.
fn major_of(version: &str) -> Option<u32> {
    let (_, number) = version.split_once(") ")?;
    number.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Writes `18 and 13 are`, `13 is` or `none is`.
pub(crate) struct NewestFirst<'a>(pub(crate) &'a [u32]);

impl fmt::Display for NewestFirst<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut majors = self.0.to_vec();
        majors.sort_unstable_by(|one, other| other.cmp(one));
        let names: Vec<String> = majors.iter().map(u32::to_string).collect();
        match names.as_slice() {
            [] => out.write_str("none is"),
            [one] => write!(out, "{one} is"),
            many => write!(out, "{} are", many.join(" and ")),
        }
    }
}

#[cfg(test)]
mod tests;
