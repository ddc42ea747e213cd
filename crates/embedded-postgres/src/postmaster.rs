//! What runs on a data directory: its `postmaster.pid`, the process that this names, and whether it answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::home::Home;
use crate::probe::{Answer, probe};
use crate::socket::socket_in;

/// A PostgreSQL that serves, and where.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) socket_dir: PathBuf,
    pub(crate) port: u16,
}

/// What was seen of the cluster's server.
#[derive(Debug)]
pub(crate) enum Sighting {
    /// It serves.
    Serving(Endpoint),
    /// It is starting or stopping.
    Changing { pid: u32 },
    /// It refuses us.
    Refusing(String),
    /// It has died, and PostgreSQL will see so by itself.
    Dead,
    /// It has died, but its id looks alive: a zombie's, that nobody has reaped, or another program's by now.
    /// PostgreSQL would take it for a running server and refuse to start.
    DeadButMistakable,
    /// There is none.
    Absent,
}

impl Sighting {
    /// Whether there is a server, in whatever state.
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            Self::Serving(_) | Self::Changing { .. } | Self::Refusing(_) => true,
            Self::Dead | Self::DeadButMistakable | Self::Absent => false,
        }
    }
}

/// Looks once.
pub(crate) async fn look(home: &Home) -> Result<Sighting, Error> {
    let Some(file) = PidFile::read(&home.data())? else { return Ok(Sighting::Absent) };
    // The socket first: a server in another container on the same volume answers, though its process cannot be seen.
    if let Some(endpoint) = file.endpoint {
        match probe(&socket_in(&endpoint.socket_dir, endpoint.port)).await {
            Answer::Ready => return Ok(Sighting::Serving(endpoint)),
            Answer::Refused(message) => return Ok(Sighting::Refusing(message)),
            Answer::NotNow => return Ok(Sighting::Changing { pid: file.pid.unwrap_or_default() }),
            Answer::Silent => {}
        }
    }
    let Some(pid) = file.pid else { return Ok(Sighting::DeadButMistakable) };
    Ok(match Process::with(pid, &home.data()) {
        Process::Postmaster => Sighting::Changing { pid },
        Process::Zombie | Process::Stranger => Sighting::DeadButMistakable,
        Process::Gone => Sighting::Dead,
    })
}

/// Whether the server's process is there, serving or not. Asks no socket, on which a server that hangs keeps one waiting.
pub(crate) fn is_running(home: &Home) -> Result<bool, Error> {
    let pid = PidFile::read(&home.data())?.and_then(|file| file.pid);
    Ok(pid.is_some_and(|pid| Process::with(pid, &home.data()) == Process::Postmaster))
}

/// `postmaster.pid`: the process id, the data directory, the start's time, the port, the socket's directory; a server
/// that is only starting has not yet written the last of them. A power cut can leave it empty.
struct PidFile {
    pid: Option<u32>,
    endpoint: Option<Endpoint>,
}

impl PidFile {
    fn read(data: &Path) -> Result<Option<Self>, Error> {
        let path = data.join("postmaster.pid");
        match fs::read(&path) {
            Ok(content) => Ok(Some(Self::parse(&String::from_utf8_lossy(&content)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    fn parse(content: &str) -> Self {
        let mut lines = content.lines();
        let pid = lines.next().and_then(|line| line.trim().parse().ok());
        let port = lines.nth(2).and_then(|line| line.trim().parse().ok());
        let socket_dir = lines.next().filter(|line| line.starts_with('/')).map(PathBuf::from);
        let endpoint = port.zip(socket_dir).map(|(port, socket_dir)| Endpoint { socket_dir, port });
        Self { pid, endpoint }
    }
}

/// The process that has an id.
#[derive(Debug, PartialEq, Eq)]
enum Process {
    Postmaster,
    Zombie,
    Stranger,
    Gone,
}

impl Process {
    #[cfg(target_os = "linux")]
    fn with(pid: u32, data: &Path) -> Self {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let Ok(stat) = fs::read_to_string(process.join("stat")) else { return Self::Gone };
        // `4711 (postgres) S …`. The program's name may hold anything, parentheses too.
        let Some((name, state)) = stat.rsplit_once(") ") else { return Self::Gone };
        if state.starts_with(['Z', 'X']) {
            return Self::Zombie;
        }
        // It works in its data directory; in its first instants still in the one above, where it is started.
        let works_here = fs::read_link(process.join("cwd"))
            .is_ok_and(|directory| directory == data || Some(directory.as_path()) == data.parent());
        if name.ends_with("(postgres") && works_here { Self::Postmaster } else { Self::Stranger }
    }

    #[cfg(not(target_os = "linux"))]
    fn with(pid: u32, _data: &Path) -> Self {
        use std::process::{Command, Stdio};

        let id = pid.to_string();
        let ps =
            Command::new("ps").args(["-o", "stat=", "-o", "comm=", "-p", &id]).stdin(Stdio::null()).output();
        let shown =
            ps.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
        match shown.split_once(' ') {
            None => Self::Gone,
            Some((state, _)) if state.starts_with('Z') => Self::Zombie,
            Some((_, program)) if program.trim().contains("postgres") => Self::Postmaster,
            Some(_) => Self::Stranger,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_whole_file_names_the_process_and_the_socket() {
        let file = PidFile::parse("4711\n/x/data\n1764440642\n5432\n/x/socket\n\n 1234 0\nready   \n");
        let endpoint = file.endpoint.unwrap();
        assert_eq!(
            (file.pid, endpoint.port, endpoint.socket_dir),
            (Some(4711), 5432, PathBuf::from("/x/socket"))
        );
    }

    #[test]
    fn the_file_of_a_server_that_is_only_starting_names_no_socket() {
        let file = PidFile::parse("4711\n/x/data\n1764440642\n5432\n\n");
        assert!(file.pid == Some(4711) && file.endpoint.is_none());
    }

    #[test]
    fn an_empty_file_names_nothing() {
        let file = PidFile::parse("");
        assert!(file.pid.is_none() && file.endpoint.is_none());
    }

    #[test]
    fn a_live_process_elsewhere_is_a_stranger_and_a_dead_one_is_gone() {
        let elsewhere = tempfile::tempdir().unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read line"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(Process::with(child.id(), elsewhere.path()), Process::Stranger);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Process::with(child.id(), elsewhere.path()), Process::Gone);
    }

    #[test]
    fn a_process_that_nobody_has_reaped_is_a_zombie() {
        let elsewhere = tempfile::tempdir().unwrap();
        let mut child =
            Command::new("/bin/sh").args(["-c", "exit 0"]).stdout(Stdio::piped()).spawn().unwrap();
        // The end of its output is the end of the process, but for a moment between the two.
        child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while Process::with(child.id(), elsewhere.path()) != Process::Zombie {
            assert!(Instant::now() < deadline, "no zombie within 5 s");
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
