//! The service in a process of its own, as `scripts/run` starts it, on a free port.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use crate::PATIENCE;

/// A service that listens.
pub struct Service {
    process: Child,
    address: String,
    output: Receiver<String>,
    log: PathBuf,
}

impl Service {
    /// Starts one with its data in this directory, and waits until it listens.
    pub fn start(directory: &Path) -> Self {
        let log = directory.join("service.log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
        for variable in onefold_tests::SERVICE_VARIABLES {
            command.env_remove(variable);
        }
        let mut process = command
            // A directory that is named is used or refused, and never another one.
            .args(["--listen", "127.0.0.1:0", "--data-dir", ".onefold"])
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(OpenOptions::new().create(true).append(true).open(&log).expect("a file for the test"))
            .spawn()
            .expect("the service can be started");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });

        let mut service = Self { process, address: String::new(), output, log };
        let line = service.output.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("the service does not come up:\n{}", service.log()));
        service.address =
            line.strip_prefix("listening on http://").expect("the line of a service that listens").to_owned();
        service
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Stops it as Ctrl-C does.
    ///
    /// # Panics
    ///
    /// If it does not end, or ends with another status than 0.
    pub fn stop(&mut self) {
        self.interrupt();
        // Its end closes its output.
        assert_eq!(
            self.output.recv_timeout(PATIENCE),
            Err(RecvTimeoutError::Disconnected),
            "it stops:\n{}",
            self.log()
        );
        let status = self.process.wait().expect("a status");
        assert!(status.success(), "the service ended with {status}:\n{}", self.log());
    }

    fn interrupt(&self) {
        // The shell's own kill: a program of that name is not installed everywhere.
        let kill = format!("kill -INT {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Service {
    /// After a failure it runs still, and its PostgreSQL with it, which an orderly stop alone takes along.
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            self.interrupt();
            while self.output.recv_timeout(PATIENCE).is_ok() {}
        }
    }
}
