//! A Redis of a test's own, in a process that the test may stop, pause and start again.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use rcgen::generate_simple_self_signed;
use redis::aio::MultiplexedConnection;
use redis::{Client, TlsCertificates};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::guarded::free_port;

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
    /// Settings besides the usual ones.
    arguments: Vec<String>,
    /// Its certificate, in PEM, if it is reached over TLS. It vouches for itself.
    certificate: Option<String>,
    bus_port: Option<u16>,
}

impl RedisServer {
    /// Starts one, and waits until it answers.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_on_some_port(Self::on).await
    }

    /// Starts one that is reached over TLS alone.
    pub async fn start_over_tls() -> anyhow::Result<Self> {
        let certified = generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
        Self::start_on_some_port(|port| {
            let mut server = Self::on(port)?;
            let (cert_file, key_file) =
                (server.directory.path().join("cert"), server.directory.path().join("key"));
            std::fs::write(&cert_file, &certificate)?;
            std::fs::write(&key_file, &key)?;
            let port = port.to_string();
            let arguments = ["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"];
            server.arguments = arguments.map(str::to_owned).to_vec();
            for (name, file) in [("--tls-cert-file", cert_file), ("--tls-key-file", key_file)] {
                server.arguments.extend([name.to_owned(), file.display().to_string()]);
            }
            server.certificate = Some(certificate.clone());
            Ok(server)
        })
        .await
    }

    /// Starts one that can be a node of a cluster, and speaks to the others on that port.
    pub async fn start_as_node(bus_port: u16, settings: &[&str]) -> anyhow::Result<Self> {
        Self::start_on_some_port(|port| {
            let mut server = Self::on(port)?;
            let bus = bus_port.to_string();
            let arguments = [
                ["--cluster-enabled", "yes"],
                ["--cluster-port", &bus],
                ["--cluster-announce-ip", "127.0.0.1"],
                ["--cluster-require-full-coverage", "no"],
                ["--repl-diskless-sync-delay", "0"],
            ];
            let arguments = arguments.concat().into_iter().chain(settings.iter().copied());
            server.arguments = arguments.map(str::to_owned).collect();
            server.bus_port = Some(bus_port);
            Ok(server)
        })
        .await
    }

    async fn start_on_some_port(made: impl Fn(u16) -> anyhow::Result<Self>) -> anyhow::Result<Self> {
        let mut failure = None;
        for _ in 0..PORTS_TRIED {
            let mut server = made(free_port()?)?;
            match server.start_again().await {
                Ok(()) => return Ok(server),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.context("no port was tried")?.context("redis-server does not come up; is it installed?"))
    }

    fn on(port: u16) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("onefold-redis-").tempdir()?;
        Ok(Self { child: None, port, directory, arguments: Vec::new(), certificate: None, bus_port: None })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// What vouches for it, if it is reached over TLS.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// The port on which it speaks to the other nodes, if it is one of a cluster.
    pub fn bus_port(&self) -> Option<u16> {
        self.bus_port
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
        command.args(&self.arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn();
        self.child = Some(child.context("redis-server cannot be started")?);
        let began = Instant::now();
        while began.elapsed() < WITHIN {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().transpose()) {
                let status = status?;
                bail!("redis-server has ended with {status}");
            }
            if let Ok(mut connection) = self.connection().await
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
        let client = match &self.certificate {
            Some(certificate) => {
                let trusted =
                    TlsCertificates { client_tls: None, root_cert: Some(certificate.clone().into()) };
                Client::build_with_tls(self.url(), trusted)?
            }
            None => Client::open(self.url())?,
        };
        Ok(timeout(ANSWERS_WITHIN, client.get_multiplexed_async_connection()).await??)
    }

    /// What stands under a key.
    pub async fn value(&self, key: &str) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(redis::cmd("GET").arg(key).query_async(&mut self.connection().await?).await?)
    }

    /// How much longer something stands under a key, if anything does, and not for ever.
    pub async fn left(&self, key: &str) -> anyhow::Result<Option<Duration>> {
        let left_ms: i64 = redis::cmd("PTTL").arg(key).query_async(&mut self.connection().await?).await?;
        Ok(u64::try_from(left_ms).ok().map(Duration::from_millis))
    }

    /// How many bytes it has sent since its start, all connections together.
    pub async fn bytes_sent(&self) -> anyhow::Result<u64> {
        let stats: String =
            redis::cmd("INFO").arg("stats").query_async(&mut self.connection().await?).await?;
        let sent = stats.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
        Ok(sent.context("Redis counts what it sends")?.trim().parse()?)
    }

    /// Puts something under a key, for a minute.
    pub async fn put(&self, key: &str, value: &[u8]) -> anyhow::Result<()> {
        self.put_under_all([key.to_owned()], value).await
    }

    /// Puts something under each of these keys at once, for a minute.
    pub async fn put_under_all(
        &self,
        keys: impl IntoIterator<Item = String>,
        value: &[u8],
    ) -> anyhow::Result<()> {
        let mut all = redis::pipe();
        for key in keys {
            all.cmd("SET").arg(key).arg(value).arg("EX").arg(60).ignore();
        }
        Ok(all.query_async(&mut self.connection().await?).await?)
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
