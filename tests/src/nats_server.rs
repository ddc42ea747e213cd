//! A NATS server of a test's own, with JetStream.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::guarded::{Guarded, free_port, program};

/// How long a start may take.
const STARTED_WITHIN: Duration = Duration::from_secs(30);

/// A server that keeps what it has when it is killed and started again.
pub struct NatsServer {
    process: Option<Guarded>,
    files: TempDir,
    port: u16,
}

impl NatsServer {
    /// Starts one.
    pub async fn start() -> anyhow::Result<Self> {
        let mut server = Self { process: None, files: tempfile::tempdir()?, port: free_port()? };
        server.start_again().await?;
        Ok(server)
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        match self.process.take() {
            Some(process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// Starts it again after a kill, where it was and with what it had.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let port = self.port.to_string();
        let store = self.files.path().join("store");
        let arguments = ["-js", "-sd", &store.to_string_lossy(), "-a", "127.0.0.1", "-p", &port];
        let log = self.files.path().join("log");
        self.process = Some(Guarded::start(&program("nats-server", &[])?, &arguments, &[], &log)?);
        listens(self.port, STARTED_WITHIN, &log).await
    }
}

/// Waits until something listens on this port.
pub(crate) async fn listens(port: u16, within: Duration, log: &Path) -> anyhow::Result<()> {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        let said = || std::fs::read_to_string(log).unwrap_or_default();
        ensure!(began.elapsed() < within, "nothing listens on port {port}; it says:\n{}", said());
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
