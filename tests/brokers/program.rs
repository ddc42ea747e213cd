//! The program in a process of its own, with a broker.

use std::fs::{self, File};
use std::process::Stdio;

use anyhow::{Context, bail};
use onefold_tests::http::Caller;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::spectator::DEADLINE;

/// A server in a process of its own. It is killed when it is dropped.
pub struct Program {
    child: Child,
    url: String,
    _files: TempDir,
}

impl Program {
    /// Starts one with the demo data, and waits until it listens. Its relay publishes to the broker of this URL.
    pub async fn start(database_url: &str, broker: &str) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let configuration = files.path().join("onefold.toml");
        fs::write(&configuration, format!("[database]\npool_max = 3\n\n[events]\nbroker = \"{broker}\"\n"))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
        for variable in onefold_tests::SERVICE_VARIABLES {
            command.env_remove(variable);
        }
        let log = files.path().join("log");
        let mut child = command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--database-url", database_url, "--config"])
            .arg(&configuration)
            .current_dir(files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .kill_on_drop(true)
            .spawn()
            .context("the program cannot be started")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        let line = timeout(DEADLINE, stdout.next_line()).await.context("it does not come up")??;
        let Some(url) = line.as_deref().and_then(|line| line.strip_prefix("listening on ")) else {
            bail!("it does not listen, and says {line:?}:\n{}", fs::read_to_string(&log)?);
        };
        Ok(Self { child, url: url.to_owned(), _files: files })
    }

    /// The demo client, speaking to it.
    pub fn demo(&self) -> Caller {
        Caller::new(&self.url, "demo-key")
    }

    /// Kills it, as the system does when memory runs out.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await?;
        Ok(())
    }
}
