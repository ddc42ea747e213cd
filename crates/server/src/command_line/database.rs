//! The database that a command works on.

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};
use embedded_postgres::{Cluster, SYSTEM_DATA_DIR, Stopped, Why, choose_data_dir, has_cluster};
use sqlx::migrate::MigrateDatabase;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Error, Postgres};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{DATA_DIR_DEFAULT, Options};
use crate::configuration::Configuration;
use crate::serve::database as reaching;

/// The database in the embedded cluster.
const EMBEDDED_DATABASE: &str = "onefold";

/// Between two looks at whether the embedded PostgreSQL is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A database that answers, and the embedded PostgreSQL that it may live in.
#[derive(Debug)]
pub struct OpenDatabase {
    options: PgConnectOptions,
    cluster: Option<Cluster>,
}

impl OpenDatabase {
    /// Opens what the flags name: the database of `--database-url`, after waiting for it for a while, or the embedded
    /// one, which is started when no other process has done so, and made when there is none.
    pub async fn open(options: &Options, configuration: &Configuration) -> anyhow::Result<Self> {
        Self::open_or(WhenMissing::Make, options, configuration).await
    }

    /// As [`open`](Self::open), and makes nothing: for a command that has nothing to do in an empty database, so that one
    /// in a mistaken directory is an error, and not a clean audit or a list of nobody.
    async fn open_existing(options: &Options, configuration: &Configuration) -> anyhow::Result<Self> {
        Self::open_or(WhenMissing::Refuse, options, configuration).await
    }

    /// Opens what is there already, sees to its tables, does the work, and gives the database back, whatever came of
    /// it.
    pub async fn used_by<T>(
        options: &Options,
        configuration: &Configuration,
        work: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let database = Self::open_existing(options, configuration).await?;
        let done = match database.with_tables(options).await {
            Ok(()) => work(&database).await,
            Err(error) => Err(error),
        };
        database.close().await?;
        done
    }

    async fn open_or(
        when_missing: WhenMissing,
        options: &Options,
        configuration: &Configuration,
    ) -> anyhow::Result<Self> {
        match options.database()? {
            Some(options) => {
                let wait = Duration::from_millis(u64::from(configuration.database.start_wait_ms));
                reaching::reach(&options, wait).await?;
                Ok(Self { options, cluster: None })
            }
            None => embedded(options.data_dir(), when_missing, configuration).await,
        }
    }

    /// How to connect, as the owner.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// The directory of the embedded one.
    pub fn data_dir(&self) -> Option<&Path> {
        self.cluster.as_ref().map(Cluster::data_dir)
    }

    /// Whether the database is ours alone.
    pub fn is_embedded(&self) -> bool {
        self.cluster.is_some()
    }

    /// Sees to it that an administrative command finds its tables: the embedded database is migrated; one that others
    /// care for is only looked at, for it may belong to servers of an older version.
    async fn with_tables(&self, options: &Options) -> anyhow::Result<()> {
        if self.is_embedded() && !options.no_migrate {
            return reaching::migrate(&self.options).await.map(drop);
        }
        reaching::check_migrations(&self.options).await
    }

    /// Until `stop`, starts the embedded PostgreSQL again whenever it is gone; whoever was connected to it connects again.
    /// A start that has begun is not left half done: it may outlast `stop`.
    pub async fn keep_running(&self, stop: &CancellationToken) {
        let Some(cluster) = &self.cluster else { return };
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            match cluster.restart_if_gone().await {
                Ok(_) => told = false,
                // Once, for it will fail alike in a second.
                Err(error) if !told => {
                    told = true;
                    tracing::error!(
                        "the embedded PostgreSQL is gone and cannot be started again, which is tried on: {error}"
                    );
                }
                Err(_) => {}
            }
        }
    }

    /// Gives the embedded PostgreSQL back; the last process to do so stops it.
    pub async fn close(self) -> anyhow::Result<()> {
        if let Some(cluster) = self.cluster
            && cluster.stop().await? == Stopped::StillInUse
        {
            tracing::info!("another process uses the embedded PostgreSQL, which runs on");
        }
        Ok(())
    }
}

/// What to do about a data directory without a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenMissing {
    Make,
    Refuse,
}

/// The options of a URL. Nothing of it stands in an error: it may hold a password.
pub fn given(url: &str) -> anyhow::Result<PgConnectOptions> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        bail!("--database-url (DATABASE_URL) must begin with postgres://");
    }
    PgConnectOptions::from_str(url).context(
        "--database-url (DATABASE_URL) is not of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    )
}

/// The password in a file, whose last line may end as lines do.
pub fn password(file: &Path) -> anyhow::Result<String> {
    let name = format!("the file of --database-password-file (DATABASE_PASSWORD_FILE), {},", file.display());
    let text = fs::read_to_string(file).with_context(|| format!("{name} cannot be read"))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => bail!("{name} is empty: write the password into it, or leave the file out"),
        password => Ok(password.to_owned()),
    }
}

async fn embedded(
    asked_for: Option<&Path>,
    when_missing: WhenMissing,
    configuration: &Configuration,
) -> anyhow::Result<OpenDatabase> {
    let data_dir = match asked_for {
        Some(path) => path.to_owned(),
        None => {
            let (path, why) = spawn_blocking(|| choose_data_dir(Path::new(DATA_DIR_DEFAULT))).await??;
            match why {
                Why::Preferred => {}
                Why::Unreachable { .. } => tracing::warn!("the data is in {SYSTEM_DATA_DIR}, {why}"),
            }
            path
        }
    };
    if when_missing == WhenMissing::Refuse && !has_cluster(&data_dir)? {
        bail!(
            "there is no database in {}: name its directory with --data-dir or its URL with --database-url, or make a new one with `onefold serve` or `onefold migrate`",
            data_dir.display()
        );
    }
    tracing::info!(data_dir = %data_dir.display(), "no --database-url: the database is embedded");
    let cluster = Cluster::attach_or_start(configuration.embedded_settings(data_dir)).await?;
    let url = cluster.database_url(EMBEDDED_DATABASE);
    match create_database(&url).await {
        Ok(options) => Ok(OpenDatabase { options, cluster: Some(cluster) }),
        Err(error) => {
            if let Err(error) = cluster.stop().await {
                tracing::warn!("{error}");
            }
            Err(error)
        }
    }
}

async fn create_database(url: &str) -> anyhow::Result<PgConnectOptions> {
    let create = async {
        if !Postgres::database_exists(url).await?
            && let Err(error) = Postgres::create_database(url).await
            && !is_there_already(&error)
        {
            return Err(error);
        }
        PgConnectOptions::from_str(url)
    };
    create.await.context("cannot create the database in the embedded PostgreSQL")
}

/// Two starters may both have seen that it is missing: the slower is told either that the name is taken
/// (`duplicate_database`) or, when both were creating it, that the catalogue's row is (`unique_violation`).
fn is_there_already(error: &Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("42P04" | "23505"))
}
