//! Running `onefold`, and stopping it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;

pub const DEMO_KEY: &str = "demo-key";

/// Longer than any of these processes takes, on any machine: who waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A working directory that is one test's own.
pub struct Home {
    directory: TempDir,
}

impl Home {
    pub fn new() -> Self {
        // Where the tests run as root, PostgreSQL runs as another user, who must be able to enter.
        let everybody = fs::Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().prefix("onefold").permissions(everybody).tempdir();
        Self { directory: directory.expect("a directory for the test") }
    }

    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join(".onefold")
    }

    pub fn postgres_runs(&self) -> bool {
        self.data_dir().join("data/postmaster.pid").exists()
    }

    /// Kills the PostgreSQL that runs, as the kernel does when memory is short.
    pub fn kill_postgres(&self) {
        let file = fs::read_to_string(self.data_dir().join("data/postmaster.pid")).expect("PostgreSQL runs");
        send("KILL", file.lines().next().expect("a process id"));
    }

    /// Writes a file; answers its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).expect("a file for the test");
        path.to_str().expect("a path of this crate's making").to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_onefold")), arguments)
    }

    fn prepared(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).current_dir(self.directory.path()).kill_on_drop(true);
        for variable in ["DATABASE_URL", "ONEFOLD_DATA_DIR", "ONEFOLD_CONFIG", "ONEFOLD_LOG", "RUST_LOG"] {
            command.env_remove(variable);
        }
        // A free port, unless a flag says otherwise.
        command.env("ONEFOLD_LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a server that may have so many files open, and waits until it listens.
    pub async fn serve_with_open_files(&self, files: u32) -> Server {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_onefold")]);
        Self::listening(self.prepared(shell, &["serve"])).await
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        let output = timeout(PATIENCE, self.command(arguments).output()).await;
        let output = output.expect("the command comes to an end").expect("the command can be started");
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Starts a server, and waits until it listens.
    pub async fn serve(&self) -> Server {
        self.serve_with(&[]).await
    }

    /// Starts a server with these flags.
    pub async fn serve_with(&self, arguments: &[&str]) -> Server {
        Self::listening(self.command(arguments)).await
    }

    async fn listening(mut command: Command) -> Server {
        let mut child = command.spawn().expect("the server can be started");
        let mut stdout = lines(child.stdout.take());
        let log = follow(lines(child.stderr.take()));
        let line = timeout(PATIENCE, stdout.next_line()).await.expect("the server comes up").expect("text");
        let Some(line) = line else {
            let server = Server { child, address: String::new(), stdout_read: String::new(), stdout, log };
            panic!("the server has ended: {:?}", server.ended().await);
        };
        let address =
            line.strip_prefix("listening on http://").expect("the line of a server that listens").to_owned();
        Server { child, address, stdout_read: line, stdout, log }
    }
}

/// By the shell's own kill: a program of that name is not installed everywhere.
fn send(signal: &str, pid: &str) {
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status();
    assert!(sent.expect("a shell").success());
}

fn lines<R: AsyncRead + Unpin>(output: Option<R>) -> Lines<BufReader<R>> {
    BufReader::new(output.expect("it is piped")).lines()
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What it exited with; `None` after a signal that it did not handle.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// What it says at its end, which is one line.
    pub fn sentence(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }
}

/// A server that listens.
pub struct Server {
    child: Child,
    address: String,
    stdout_read: String,
    stdout: Lines<BufReader<ChildStdout>>,
    log: watch::Receiver<String>,
}

impl Server {
    /// Where it listens: on this machine, whatever else.
    pub fn address(&self) -> String {
        self.address.replace("0.0.0.0", "127.0.0.1")
    }

    pub async fn get(&self, path: &str, key: &str) -> Response {
        let url = format!("http://{}{path}", self.address());
        Client::new().get(url).bearer_auth(key).send().await.expect("an answer")
    }

    pub async fn post(&self, path: &str, key: &str, idempotency_key: &str, body: &Value) -> Response {
        let url = format!("http://{}{path}", self.address());
        let request = Client::new().post(url).bearer_auth(key).header("Idempotency-Key", idempotency_key);
        request.json(body).send().await.expect("an answer")
    }

    pub fn signal(&self, name: &str) {
        send(name, &self.child.id().expect("the server runs").to_string());
    }

    /// Waits until a line of the log has these words; answers the log so far.
    pub async fn wait_for_log(&mut self, words: &str) -> String {
        let waiting = self.log.wait_for(|log| log.contains(words));
        timeout(PATIENCE, waiting).await.expect("the words are logged").expect("the log goes on").clone()
    }

    /// Sends a signal, and waits for the end.
    pub async fn stop(self, signal: &str) -> Ended {
        self.signal(signal);
        self.ended().await
    }

    async fn ended(mut self) -> Ended {
        let ending = async {
            let mut stdout = self.stdout_read;
            while let Some(line) = self.stdout.next_line().await.expect("text") {
                stdout.push('\n');
                stdout.push_str(&line);
            }
            // Dropped by the task that follows the log, at its end.
            while self.log.changed().await.is_ok() {}
            Ended {
                code: self.child.wait().await.expect("a status").code(),
                stdout,
                stderr: self.log.borrow().clone(),
            }
        };
        timeout(PATIENCE, ending).await.expect("the server ends")
    }
}

/// Reads a log as it grows: a pipe that nobody reads fills up, and then holds up the server that writes to it.
fn follow(mut lines: Lines<BufReader<ChildStderr>>) -> watch::Receiver<String> {
    let (log, follower) = watch::channel(String::new());
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            log.send_modify(|log| {
                log.push_str(&line);
                log.push('\n');
            });
        }
    });
    follower
}
