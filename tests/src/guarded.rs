//! A server process that does not outlive the test, however the test ends.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use tokio::process::{Child, Command};

/// Runs the server beside a reader of standard input, and kills the whole group when that ends: when it is closed here, or by
/// the system with the rest of a test that was killed.
const SCRIPT: &str = r#""$@" </dev/null & cat >/dev/null; kill -KILL "-$$""#;

/// A process with all that it starts. Dropped, it is killed.
pub struct Guarded {
    guard: Child,
}

impl Guarded {
    /// Starts a program with these variables; what it says goes to the file `log`.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
        log: &Path,
    ) -> anyhow::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        let guard = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        Ok(Self { guard })
    }

    /// Kills it as the system does when memory runs out, and answers when it is dead.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        drop(self.guard.stdin.take());
        self.guard.wait().await?;
        Ok(())
    }
}

/// Removes the directory when this process has ended, and what was guarded with it. For what no value owns that is dropped.
pub fn remove_afterwards(directory: &Path) -> anyhow::Result<Child> {
    let script = r#"cat >/dev/null; sleep 1; rm -rf "$1""#;
    let mut remover = Command::new("sh");
    remover.args(["-c", script, "sh"]).arg(directory).process_group(0).stdin(Stdio::piped());
    Ok(remover.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// The file of a program: at one of these places, or wherever the shell would find it.
pub fn program(name: &str, places: &[&str]) -> anyhow::Result<std::path::PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let in_directories = std::env::split_paths(&on_path)
        .map(|directory| directory.join(name))
        .chain(["/usr/sbin", "/usr/local/sbin"].map(|directory| Path::new(directory).join(name)));
    places
        .iter()
        .map(|place| Path::new(place).to_owned())
        .chain(in_directories)
        .find(|file| file.is_file())
        .with_context(|| {
            format!("there is no {name}: `scripts/test` installs it, or your system's packages do")
        })
}

/// A port of 127.0.0.1 that was free a moment ago.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
