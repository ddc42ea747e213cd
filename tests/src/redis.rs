//! A Redis of a test's own, in a process that the test may stop, pause and start again.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use redis::aio::MultiplexedConnection;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How long anything here may take. It never does; a test that has hung shall say so.
const WITHIN: Duration = Duration::from_secs(30);

/// How long a Redis that was asked something may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The pause between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// How often another port is tried, should somebody else take it between its choice and the start.
const PORTS_TRIED: u32 = 10;

/// A Redis on a free port of this machine, which keeps nothing on disk. It is killed when it is dropped.
pub struct RedisServer {
    child: Option<Child>,
    port: u16,
    directory: TempDir,
}

impl RedisServer {
    /// Starts one, and waits until it answers.
    pub async fn start() -> anyhow::Result<Self> {
        for _ in 0..PORTS_TRIED {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let directory = tempfile::Builder::new().prefix("onefold-redis-").tempdir()?;
            let mut server = Self { child: None, port, directory };
            if server.start_again().await.is_ok() {
                return Ok(server);
            }
        }
        bail!("redis-server does not come up; is it installed?")
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it again after it was stopped, on the same port and empty.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--port").arg(self.port.to_string()).arg("--dir").arg(self.directory.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn();
        let child = self.child.insert(child.context("redis-server cannot be started")?);
        let began = Instant::now();
        while began.elapsed() < WITHIN {
            if let Some(status) = child.try_wait()? {
                bail!("redis-server has ended with {status}");
            }
            if let Ok(mut connection) = connection(self.port).await
                && redis::cmd("PING").query_async::<()>(&mut connection).await.is_ok()
            {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
        bail!("redis-server does not answer")
    }

    /// Kills it. What it knew is gone.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        Ok(())
    }

    /// Stops it from doing anything: connections stay, and are accepted, and nothing is answered.
    pub fn pause(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let id = self.child.as_ref().and_then(Child::id).context("it does not run")?;
        let pid = Pid::from_raw(i32::try_from(id)?).context("the id of a process is not zero")?;
        Ok(kill_process(pid, signal)?)
    }

    /// A connection of the test's own.
    pub async fn connection(&self) -> anyhow::Result<MultiplexedConnection> {
        connection(self.port).await
    }

    /// What stands under a key.
    pub async fn value(&self, key: &str) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(redis::cmd("GET").arg(key).query_async(&mut self.connection().await?).await?)
    }

    /// Puts something under a key, for a minute.
    pub async fn put(&self, key: &str, value: &[u8]) -> anyhow::Result<()> {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(value).arg("EX").arg(60);
        Ok(set.query_async(&mut self.connection().await?).await?)
    }

    /// Every key that there is.
    pub async fn keys(&self) -> anyhow::Result<Vec<String>> {
        Ok(redis::cmd("KEYS").arg("*").query_async(&mut self.connection().await?).await?)
    }

    /// Forgets everything.
    pub async fn empty(&self) -> anyhow::Result<()> {
        Ok(redis::cmd("FLUSHALL").query_async(&mut self.connection().await?).await?)
    }

    /// Waits until what stands under a key is as is wanted, and answers it.
    pub async fn wait_for(
        &self,
        key: &str,
        wanted: impl Fn(Option<&[u8]>) -> bool,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let began = Instant::now();
        loop {
            let value = self.value(key).await?;
            if wanted(value.as_deref()) {
                return Ok(value);
            }
            if began.elapsed() >= WITHIN {
                bail!("{key} has {value:?}, and not what is waited for");
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

async fn connection(port: u16) -> anyhow::Result<MultiplexedConnection> {
    let client = redis::Client::open(("127.0.0.1", port))?;
    Ok(timeout(ANSWERS_WITHIN, client.get_multiplexed_async_connection()).await??)
}
