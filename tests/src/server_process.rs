//! The program in a process of its own, without any data of its own.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::SERVICE_VARIABLES;

/// A server in a process of its own, which dies with this.
pub struct ServerProcess {
    child: Child,
    _files: TempDir,
}

impl ServerProcess {
    /// Starts the program with these settings, and waits until it listens.
    pub async fn start(program: &str, database_url: &str, settings: &str) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let configuration = files.path().join("onefold.toml");
        fs::write(&configuration, format!("[database]\npool_max = 3\n{settings}"))?;
        let mut command = Command::new(program);
        for variable in SERVICE_VARIABLES {
            command.env_remove(variable);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--config"])
            .arg(&configuration)
            .current_dir(files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("the program cannot be started")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        let line =
            timeout(Duration::from_secs(60), stdout.next_line()).await.context("it does not come up")??;
        anyhow::ensure!(line.is_some_and(|line| line.starts_with("listening on ")), "it does not listen");
        Ok(Self { child, _files: files })
    }

    /// Kills it, as the system does when memory runs out.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
