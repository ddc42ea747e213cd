//! The program in processes of its own.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use onefold_tests::cluster::cluster;
use onefold_tests::database::new_database;
use onefold_tests::http::Caller;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How long anything in these tests may take. It never does; a test that has hung shall say so.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The pause between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// A server in a process of its own. It is killed when it is dropped.
pub struct Program {
    child: Child,
    url: String,
    files: TempDir,
}

impl Program {
    /// Starts one with the demo data on the database of this URL, and waits until it listens.
    pub async fn start(database_url: &str) -> anyhow::Result<Self> {
        Self::start_with(database_url, "", &[]).await
    }

    /// The same, with more in its settings file, and with these variables.
    pub async fn start_with(
        database_url: &str,
        configuration: &str,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let more = configuration;
        let files = tempfile::tempdir()?;
        // Few connections, for many of these share one PostgreSQL.
        let configuration = files.path().join("onefold.toml");
        fs::write(&configuration, format!("[database]\npool_max = 3\n{more}"))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
        for variable in onefold_tests::SERVICE_VARIABLES {
            command.env_remove(variable);
        }
        let mut child = command
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--database-url", database_url, "--config"])
            .arg(&configuration)
            .current_dir(files.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(files.path().join("log"))?)
            .kill_on_drop(true)
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

    /// Starts two on a new database, and answers how to connect to that.
    pub async fn two() -> anyhow::Result<(Self, Self, PgConnectOptions)> {
        let database = new_database().await?;
        let url = url_of(&database).await?;
        let (one, other) = tokio::try_join!(Self::start(&url), Self::start(&url))?;
        Ok((one, other, database))
    }

    /// The demo client, speaking to it.
    pub fn demo(&self) -> Caller {
        Caller::new(&self.url, "demo-key")
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.files.path().join("log")).unwrap_or_default()
    }

    /// Kills it, as the system does when memory runs out.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await?;
        Ok(())
    }
}

/// The URL of a database of the shared PostgreSQL.
pub async fn url_of(database: &PgConnectOptions) -> anyhow::Result<String> {
    Ok(cluster().await?.database_url(database.get_database().context("a database with a name")?))
}

/// Looks until the condition holds.
///
/// # Panics
///
/// If it does not within [`DEADLINE`].
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        sleep(LOOK_AGAIN).await;
    }
}
