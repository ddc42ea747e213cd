//! A PostgreSQL of a test's own, for what would disturb everybody on the shared one: a full lock table, commits that
//! hang, roles that are missing.

use std::os::unix::fs::PermissionsExt;
use std::str::FromStr;

use anyhow::Context;
use desk::schema::Database;
use embedded_postgres::{Cluster, Settings};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;

/// A cluster that nobody else uses. It is to be [stopped](Self::stop) at the end.
pub struct OwnCluster {
    cluster: Cluster,
    directory: TempDir,
}

impl OwnCluster {
    /// Makes and starts one, with these settings (`name = value`) besides the usual ones.
    pub async fn start(settings: &[&str]) -> anyhow::Result<Self> {
        // Root's PostgreSQL runs as another user, who must come this far.
        let directory = tempfile::Builder::new()
            .prefix("onefold-own-postgres-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir()?;
        let mut cluster = Cluster::attach_or_start(Self::settings(&directory)).await?;
        if !settings.is_empty() {
            let mut administrator = PgConnection::connect(&cluster.database_url("postgres")).await?;
            for setting in settings {
                let alter = format!("ALTER SYSTEM SET {setting}");
                administrator.execute(sqlx::raw_sql(AssertSqlSafe(alter))).await.context("a setting")?;
            }
            administrator.close().await?;
            cluster.stop().await?;
            cluster = Cluster::attach_or_start(Self::settings(&directory)).await?;
        }
        Ok(Self { cluster, directory })
    }

    fn settings(directory: &TempDir) -> Settings {
        Settings {
            durable: false,
            max_connections: 30,
            shared_buffers_mb: 16,
            ..Settings::new(directory.path().join("cluster"))
        }
    }

    /// How to connect to a database, which need not be there yet.
    pub fn options(&self, database: &str) -> anyhow::Result<PgConnectOptions> {
        Ok(PgConnectOptions::from_str(&self.cluster.database_url(database))?)
    }

    /// Makes a database without any table.
    pub async fn new_bare_database(&self, name: &str) -> anyhow::Result<PgConnectOptions> {
        let mut administrator = PgConnection::connect_with(&self.options("postgres")?).await?;
        let create = format!("CREATE DATABASE {name}");
        administrator.execute(sqlx::raw_sql(AssertSqlSafe(create))).await?;
        administrator.close().await?;
        self.options(name)
    }

    /// Makes a migrated database, as the service connects to it.
    pub async fn new_service_database(&self, name: &str) -> anyhow::Result<Database> {
        let options = self.new_bare_database(name).await?;
        Database::migrate(&options).await?;
        Ok(Database::connect(options, 4).await?)
    }

    /// Stops it, as for maintenance, and starts it again: every connection to it is broken.
    pub async fn restart(self) -> anyhow::Result<Self> {
        let Self { cluster, directory } = self;
        cluster.stop().await?;
        let cluster = Cluster::attach_or_start(Self::settings(&directory)).await?;
        Ok(Self { cluster, directory })
    }

    /// The id of its postmaster: the process that starts all others of it.
    pub fn postmaster(&self) -> anyhow::Result<u32> {
        let path = self.cluster.data_dir().join("data/postmaster.pid");
        let content = std::fs::read_to_string(&path).context("no postmaster")?;
        content.lines().next().unwrap_or_default().trim().parse().context("the postmaster's id")
    }

    /// Stops all of its processes from doing anything, as a machine does that hangs: connections stay, and nothing is answered.
    pub fn pause(&self) -> anyhow::Result<()> {
        // First the one that starts others.
        let postmaster = self.postmaster()?;
        signal(postmaster, Signal::STOP)?;
        children_of(postmaster)?.into_iter().try_for_each(|child| signal(child, Signal::STOP))
    }

    /// Lets them go on.
    pub fn resume(&self) -> anyhow::Result<()> {
        let postmaster = self.postmaster()?;
        children_of(postmaster)?.into_iter().try_for_each(|child| signal(child, Signal::CONT))?;
        signal(postmaster, Signal::CONT)
    }

    /// Starts it again after its processes were killed under it.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        self.cluster = Cluster::attach_or_start(Self::settings(&self.directory)).await?;
        Ok(())
    }

    /// The URL of a database, which need not be there yet, for a process.
    pub fn url(&self, database: &str) -> String {
        self.cluster.database_url(database)
    }

    /// Stops it and removes its files.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.cluster.stop().await?;
        self.directory.close()?;
        Ok(())
    }
}

fn signal(process: u32, signal: Signal) -> anyhow::Result<()> {
    let pid = Pid::from_raw(i32::try_from(process)?).context("the id of a process is not zero")?;
    match kill_process(pid, signal) {
        // It has ended by itself.
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The processes that another one has started, as `/proc` tells.
fn children_of(parent: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        // Behind the name, which is in parentheses and may hold anything: the state, and the parent.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        if fields.split(' ').nth(1).is_some_and(|known| known == parent.to_string()) {
            children.push(process);
        }
    }
    Ok(children)
}
