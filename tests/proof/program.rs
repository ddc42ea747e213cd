//! The service in a process of its own, which may die.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use onefold_tests::http::Caller;
use provider_simulator::demo_keys::{alipay, stripe};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long anything in these tests may take. It never does; a test that has hung shall say so.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// What a process that aborts dies of, on every system that has POSIX's signals.
const SIGABRT: i32 = 6;

/// The demo's endpoint of Alipay, but that its payments are awaited for a second: so orders expire from one kill to the next.
fn hasty_alipay() -> String {
    format!(
        "[callbacks.alipay]\nprovider = \"alipay\"\nclient = \"demo\"\npayment_expires_in_s = 1\napp_id = {:?}\n\
         seller_id = {:?}\nalipay_public_keys = [{:?}]\n",
        alipay::APP_ID,
        alipay::SELLER_ID,
        alipay::PLATFORM_PUBLIC_KEY
    )
}

/// The demo's endpoint of Stripe, but that its payments are awaited for as long as no test runs.
fn patient_stripe() -> String {
    format!(
        "[callbacks.stripe]\nprovider = \"stripe\"\nclient = \"demo\"\npayment_expires_in_s = 86400\n\
         livemode = false\nsecrets = [{:?}]\n",
        stripe::SECRET
    )
}

/// A server in a process of its own. It is killed when it is dropped.
pub struct Program {
    child: Child,
    url: String,
    files: TempDir,
}

impl Program {
    /// Starts one with the demo data on a database that may be empty, and waits until it listens.
    pub async fn first(database_url: &str) -> anyhow::Result<Self> {
        Self::start(database_url, &["--demo"], None, "").await
    }

    /// Starts one on a database that another has made, and waits until it listens. It has the demo's endpoints, without
    /// which no order could await a provider's payment.
    pub async fn again(database_url: &str) -> anyhow::Result<Self> {
        Self::start(database_url, &["--demo", "--no-migrate"], None, "").await
    }

    /// Starts such a one that has these failpoints.
    pub async fn failing(database_url: &str, failpoints: &str) -> anyhow::Result<Self> {
        Self::start(database_url, &["--demo", "--no-migrate"], Some(failpoints), "").await
    }

    /// Starts one that has these failpoints, if any, the demo's endpoints, and these lines in its configuration.
    pub async fn configured(
        database_url: &str,
        failpoints: Option<&str>,
        configuration: &str,
    ) -> anyhow::Result<Self> {
        Self::start(database_url, &["--demo"], failpoints, configuration).await
    }

    /// Starts one that remembers so many MB of its answers.
    pub async fn remembering(database_url: &str, megabytes: u32) -> anyhow::Result<Self> {
        let configuration = format!("[desk]\nremembered_mb = {megabytes}\n");
        Self::start(database_url, &["--demo", "--no-migrate"], None, &configuration).await
    }

    async fn start(
        database_url: &str,
        flags: &[&str],
        failpoints: Option<&str>,
        configuration: &str,
    ) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let configuration_file = files.path().join("onefold.toml");
        // Few connections, for many of these share one PostgreSQL.
        let endpoints: String = [hasty_alipay(), patient_stripe()]
            .into_iter()
            .filter(|endpoint| !endpoint.lines().next().is_some_and(|table| configuration.contains(table)))
            .collect();
        let settings = format!("[database]\npool_max = 3\n{endpoints}{configuration}");
        fs::write(&configuration_file, settings)?;
        let mut child = onefold(&files)
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--config"])
            .arg(&configuration_file)
            .args(flags)
            .envs(failpoints.map(|failpoints| ("ONEFOLD_FAILPOINTS", failpoints)))
            .stdout(Stdio::piped())
            .stderr(File::create(files.path().join("log"))?)
            .spawn()
            .context("the program cannot be started")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        let line = timeout(DEADLINE, stdout.next_line()).await.context("it does not come up")??;
        let program = Self { child, url: String::new(), files };
        let Some(url) = line.as_deref().and_then(|line| line.strip_prefix("listening on ")) else {
            bail!("it does not listen, and says {line:?}:\n{}", program.log());
        };
        Ok(Self { url: url.to_owned(), ..program })
    }

    /// The demo client, speaking to it.
    pub fn demo(&self) -> Caller {
        Caller::new(&self.url, "demo-key")
    }

    /// Its process's id.
    pub fn id(&self) -> anyhow::Result<u32> {
        self.child.id().context("it has died")
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.files.path().join("log")).unwrap_or_default()
    }

    /// Kills it, as the system does when memory runs out.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        ensure!(self.child.try_wait()?.is_none(), "it has died by itself:\n{}", self.log());
        self.child.kill().await?;
        Ok(())
    }

    /// Waits until it has ended itself at a failpoint.
    pub async fn crashed(&mut self) -> anyhow::Result<()> {
        let ended = timeout(DEADLINE, self.child.wait()).await.context("it lives on")??;
        ensure!(ended.signal() == Some(SIGABRT), "it ended with {ended}:\n{}", self.log());
        Ok(())
    }
}

/// Runs `onefold verify` on a database, which must find nothing.
pub async fn verify(database_url: &str) -> anyhow::Result<()> {
    let files = tempfile::tempdir()?;
    let verifying = onefold(&files).args(["verify", "--database-url", database_url]).output();
    let ended = timeout(DEADLINE, verifying).await.context("the audit does not end")??;
    let told = String::from_utf8_lossy(&ended.stdout);
    ensure!(ended.status.success(), "{}: {told}{}", ended.status, String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

/// Sends a signal to a process.
pub async fn signal(name: &str, process: u32) -> anyhow::Result<()> {
    let command = format!("kill -{name} {process}");
    let sent = Command::new("sh").args(["-c", &command]).status().await?;
    ensure!(sent.success(), "{command}: {sent}");
    Ok(())
}

fn onefold(files: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
    for variable in onefold_tests::SERVICE_VARIABLES {
        command.env_remove(variable);
    }
    command.current_dir(files.path()).stdin(Stdio::null()).kill_on_drop(true);
    command
}
