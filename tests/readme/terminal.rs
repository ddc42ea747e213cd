//! The shell that the commands are typed into: one for all of them, as a reader's is.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::PATIENCE;

/// Ends what a command prints; the status follows.
const ENDED: &str = "--- the command has ended with ";

/// An open terminal.
pub struct Terminal {
    shell: Child,
    keyboard: ChildStdin,
    screen: Receiver<String>,
    errors: PathBuf,
}

impl Terminal {
    /// Opens one. What its commands write to standard error goes to a file in this directory.
    pub fn open(directory: &Path) -> Self {
        let errors = directory.join("terminal.err");
        let mut shell = Command::new("sh")
            // Settings of whoever runs the test must not change what curl does: its own file, a proxy.
            .env("HOME", directory)
            .env("NO_PROXY", "*")
            .env("no_proxy", "*")
            .env("TMPDIR", directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&errors).expect("a file for the test"))
            .spawn()
            .expect("a shell");
        let keyboard = shell.stdin.take().expect("it is piped");
        let output = BufReader::new(shell.stdout.take().expect("it is piped"));
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { shell, keyboard, screen, errors }
    }

    /// Types a command; answers what it prints, without blanks at the end.
    ///
    /// # Panics
    ///
    /// If it fails, or does not come to an end.
    pub fn run(&mut self, command: &str) -> String {
        // On a line of its own, for what curl prints has no line's end.
        let ended = format!("printf '\\n%s%s\\n' '{ENDED}' \"$?\"");
        writeln!(self.keyboard, "{command}\n{ended}").expect("the shell listens");
        let mut printed = String::new();
        loop {
            let Ok(line) = self.screen.recv_timeout(PATIENCE) else {
                panic!("no end: {command}\n{}", self.errors())
            };
            if let Some(status) = line.strip_prefix(ENDED) {
                assert_eq!(status, "0", "failed: {command}\n{}", self.errors());
                return printed.trim_end().to_owned();
            }
            // HTTP ends its lines with a carriage return as well.
            printed.push_str(line.trim_end_matches('\r'));
            printed.push('\n');
        }
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Whether it had ended by itself is of no interest.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
