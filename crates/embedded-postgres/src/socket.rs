//! Where the unix socket lies.

use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::configuration::PORT;
use crate::home::Home;

/// A socket's address holds 104 bytes on macOS and the BSDs and 108 on Linux, the zero at the end included.
const PATH_BYTES_MAX: usize = 100;

/// How the name of a directory for a socket begins, below the temporary directory.
const SHORT_NAME: &str = "onefold-";

/// How many names are tried below a temporary directory, in which strangers may hold some.
const SHORT_NAMES: u32 = 16;

/// The socket in its directory, named as every PostgreSQL client expects.
pub(crate) fn socket_in(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

/// Where PostgreSQL writes which process serves the socket of a directory that we have made.
pub(crate) fn lock_file_in(directory: &Path) -> PathBuf {
    directory.join(format!(".s.PGSQL.{PORT}.lock"))
}

/// Makes the directory for the socket: in the data directory where that can be said in an address, else a short one
/// below the temporary directory. Others find it where PostgreSQL itself records it, in `postmaster.pid`.
pub(crate) fn make_directory(home: &Home) -> Result<PathBuf, Error> {
    let near = home.path().join("socket");
    if is_sayable(&near) && home.make_private(&near).map_err(Error::io("create", &near))? {
        return Ok(near);
    }
    let mut hasher = DefaultHasher::new();
    home.path().hash(&mut hasher);
    let name = format!("{SHORT_NAME}{:016x}", hasher.finish());
    for parent in [env::temp_dir(), PathBuf::from("/tmp")] {
        for number in 0..SHORT_NAMES {
            let short = parent.join(format!("{name}-{number}"));
            let ours = is_sayable(&short)
                && home.runner.can_enter(&parent, &home.me)
                && home.make_private(&short).map_err(Error::io("create", &short))?;
            // A cluster whose directory was deleted under it may still listen there.
            if ours && UnixStream::connect(socket_in(&short, PORT)).is_err() {
                return Ok(short);
            }
        }
    }
    Err(Error::io("create a directory for the socket below", &env::temp_dir())(
        std::io::ErrorKind::AlreadyExists.into(),
    ))
}

/// Removes a short directory once PostgreSQL has removed its socket; the one in the data directory stays.
pub(crate) fn remove_directory(directory: &Path, home: &Home) {
    if !directory.starts_with(home.path()) {
        // Not empty, or gone already: nothing depends on it.
        let _ = std::fs::remove_dir(directory);
    }
}

/// Whether PostgreSQL's configuration (a list, separated by commas) and a URL (text) can carry the path of a socket in
/// this directory, and an address hold it.
fn is_sayable(directory: &Path) -> bool {
    let bytes = directory.as_os_str().as_bytes();
    let strange = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    socket_in(directory, PORT).as_os_str().len() <= PATH_BYTES_MAX
        && std::str::from_utf8(bytes).is_ok()
        && !bytes.iter().any(strange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_or_would_be_split_cannot_be_said() {
        assert!(is_sayable(Path::new("/var/lib/onefold/socket")));
        assert!(is_sayable(Path::new("/home/ann o'hara/konto/socket")));
        assert!(is_sayable(&Path::new("/").join("x".repeat(85))));
        assert!(!is_sayable(&Path::new("/").join("x".repeat(86))));
        assert!(!is_sayable(Path::new("/home/one,two/socket")));
        assert!(!is_sayable(Path::new("/home/new\nline/socket")));
    }
}
