//! Reaching a database, and bringing its tables up to date, with one sentence for whatever can be wrong.

use std::time::Duration;

use anyhow::{anyhow, bail};
use desk::schema::{Database, MIGRATOR};
use desk::store;
use sqlx::migrate::{Migrate, MigrateError};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, Error, PgConnection};
use tokio::time::{Instant, sleep, timeout_at};

/// Between two tries to connect.
const TRY_EVERY: Duration = Duration::from_millis(250);

/// Waits until the database answers, `wait` at most: servers are often started together with their database. What
/// waiting cannot mend (a wrong password, a missing database) is said at once.
pub async fn reach(options: &PgConnectOptions, wait: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + wait;
    let mut told = false;
    loop {
        // A machine that drops packets says nothing for minutes. One try is always made.
        let try_until = deadline.max(Instant::now() + TRY_EVERY);
        let error = match timeout_at(try_until, PgConnection::connect_with(options)).await {
            Ok(Ok(connection)) => return Ok(connection.close().await?),
            Ok(Err(error)) => error,
            Err(_) => Error::Io(std::io::ErrorKind::TimedOut.into()),
        };
        if !may_pass(&error) || Instant::now() + TRY_EVERY > deadline {
            return Err(unreachable(options, &error));
        }
        if !told {
            tracing::warn!("waiting for the database at {}: {}", place(options), reason(&error));
            told = true;
        }
        sleep(TRY_EVERY).await;
    }
}

/// Nobody listens, the name is not known yet, the server is starting or full: all of these end by themselves.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Io(_) => true,
        Error::Database(error) => matches!(error.code().as_deref(), Some("57P03" | "53300")),
        _ => false,
    }
}

fn unreachable(options: &PgConnectOptions, error: &Error) -> anyhow::Error {
    let (place, reason, user) = (place(options), reason(error), options.get_username());
    let code = error.as_database_error().and_then(|error| error.code());
    match (error, code.as_deref()) {
        (Error::Io(_), _) => anyhow!(
            "the database at {place} does not answer ({reason}): start it, or name another with --database-url"
        ),
        (_, Some("28P01" | "28000")) => anyhow!(
            "the database at {place} does not let the user {user} in ({reason}): check user and password in --database-url"
        ),
        (_, Some("3D000")) => anyhow!(
            "PostgreSQL at {place} has no such database: create it (createdb), or name another with --database-url"
        ),
        _ => anyhow!("cannot use the database at {place}: {reason}"),
    }
}

/// What went wrong, in as few words as tell it.
fn reason(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        Error::Database(error) => error.message().to_owned(),
        error => error.to_string(),
    }
}

/// Where a database is, without the secret in its URL.
fn place(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    match options.get_socket() {
        Some(socket) => format!("{} ({database})", socket.display()),
        None => format!("{}:{} ({database})", options.get_host(), options.get_port()),
    }
}

/// A migration: its number and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its number; they are applied in order.
    pub version: i64,
    /// What it is about, in a word or two.
    pub description: String,
}

/// Applies the migrations that are missing; answers which they were. When several do so at once, each may count what
/// another has applied meanwhile.
pub async fn migrate(options: &PgConnectOptions) -> anyhow::Result<Vec<Applied>> {
    let before = applied_versions(options).await?;
    Database::migrate(options).await.map_err(not_migrated)?;
    Ok(MIGRATOR
        .iter()
        .filter(|migration| !before.contains(&migration.version))
        .map(|migration| Applied {
            version: migration.version,
            description: migration.description.to_string(),
        })
        .collect())
}

/// Fails unless the database has the migrations of this version, all of them and no others.
pub async fn check_migrations(options: &PgConnectOptions) -> anyhow::Result<()> {
    let applied = applied_versions(options).await?;
    if let Some(unknown) = applied.iter().find(|version| !MIGRATOR.version_exists(**version)) {
        return Err(too_new(*unknown));
    }
    let lacking = MIGRATOR.iter().filter(|migration| !applied.contains(&migration.version)).count();
    if lacking > 0 {
        bail!("the database lacks {lacking} of this version's migrations: run `onefold migrate`");
    }
    Ok(())
}

/// Of a database that is fit for any; else an error.
async fn applied_versions(options: &PgConnectOptions) -> anyhow::Result<Vec<i64>> {
    let mut connection =
        PgConnection::connect_with(options).await.map_err(|error| unreachable(options, &error))?;
    let encoding = store::server_encoding(&mut connection).await;
    let listed = connection.list_applied_migrations(&MIGRATOR.table_name).await;
    connection.close().await?;
    let encoding = encoding.map_err(|error| unreachable(options, &error))?;
    if encoding != "UTF8" {
        bail!(
            "the database at {} is encoded in {encoding}, which cannot hold every text of a request: make one with `createdb --encoding=UTF8 --template=template0` and name it with --database-url",
            place(options)
        );
    }
    match listed {
        Ok(applied) => Ok(applied.into_iter().map(|migration| migration.version).collect()),
        Err(MigrateError::Execute(error)) if no_such_table(&error) => Ok(Vec::new()),
        Err(error) => Err(not_migrated(error)),
    }
}

/// 42P01, `undefined_table`: nothing was ever applied.
fn no_such_table(error: &Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some("42P01")
}

fn not_migrated(error: MigrateError) -> anyhow::Error {
    match error {
        MigrateError::VersionMissing(version) => too_new(version),
        MigrateError::VersionMismatch(version) => anyhow!(
            "the database's migration {version} is not the one of this version: it was applied by another build; use that one, or another database"
        ),
        error => anyhow!("cannot migrate the database: {error}"),
    }
}

fn too_new(version: i64) -> anyhow::Error {
    anyhow!(
        "the database is newer than this program: it has the migration {version}, which is not known here; use the newer version of onefold, or another database"
    )
}
