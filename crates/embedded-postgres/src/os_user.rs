//! Who we are, and as whom PostgreSQL runs.
//!
//! The standard library cannot ask for user ids. `id` is POSIX, is where a shell is, and asks the system's own
//! directory (files, LDAP, macOS's Directory Services), which reading `/etc/passwd` would not.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Tried in this order when root must not run PostgreSQL itself. `_postgres` is macOS's name for it.
const UNPRIVILEGED: [&str; 3] = ["postgres", "_postgres", "nobody"];

/// A user of the operating system that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OsUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) name: String,
}

impl OsUser {
    /// The user of this process.
    pub(crate) fn current() -> Result<Self, Error> {
        Self::look_up(None).ok_or_else(|| Error::NamelessUser { who: "the user of this process".to_owned() })
    }

    /// The user that is to run PostgreSQL when root asks for it.
    pub(crate) fn unprivileged() -> Result<Self, Error> {
        UNPRIVILEGED
            .iter()
            .filter_map(|name| Self::look_up(Some(name)))
            .find(|user| !user.is_root())
            .ok_or(Error::NoUnprivilegedUser)
    }

    /// The user with this id, who owns files with this group.
    pub(crate) fn by_ids(uid: u32, gid: u32) -> Result<Self, Error> {
        let name = id(&["-un", &uid.to_string()])
            .ok_or_else(|| Error::NamelessUser { who: format!("the user with id {uid}") })?;
        Ok(Self { uid, gid, name })
    }

    pub(crate) fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether this user can make `directory` its working directory, found out by doing so: mode bits alone would
    /// know nothing of access lists, nor of SELinux. May be asked by root, or by the user itself.
    pub(crate) fn can_enter(&self, directory: &Path, asked_by: &OsUser) -> bool {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "exit 0"]).current_dir(directory);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if asked_by.is_root() {
            shell.uid(self.uid).gid(self.gid);
        }
        shell.status().is_ok_and(|status| status.success())
    }

    fn look_up(name: Option<&str>) -> Option<Self> {
        let ask = |flag| id(&[flag].into_iter().chain(name).collect::<Vec<_>>());
        Some(Self { uid: ask("-u")?.parse().ok()?, gid: ask("-g")?.parse().ok()?, name: ask("-un")? })
    }
}

impl fmt::Display for OsUser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

fn id(arguments: &[&str]) -> Option<String> {
    let output = Command::new("id").args(arguments).stdin(Stdio::null()).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !answer.is_empty()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_user_with_a_name_that_leads_back_to_its_id() {
        let user = OsUser::current().unwrap();
        assert_eq!(OsUser::by_ids(user.uid, user.gid).unwrap(), user);
    }

    #[test]
    fn a_user_that_is_not_there_is_not_found() {
        assert_eq!(OsUser::look_up(Some("no-such-user-of-this-system")), None);
    }

    #[test]
    fn every_user_can_enter_the_root_directory_and_none_one_that_is_missing() {
        let user = OsUser::current().unwrap();
        assert!(user.can_enter(Path::new("/"), &user));
        assert!(!user.can_enter(Path::new("/no/such/directory"), &user));
    }
}
