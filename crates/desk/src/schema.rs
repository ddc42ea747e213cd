//! The database: its migrations, and how the service connects to it.

use sqlx::PgPool;
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

use crate::store;

/// The migrations of this version, embedded.
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// The role under which the service works: it may add rows to the journal, never change or delete one.
pub const SERVICE_ROLE: &str = "onefold_service";

/// How long a read waits for a connection before the database counts as away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);

/// For how long it is believed which migrations are applied.
const ANSWER_STANDS_FOR: Duration = Duration::from_millis(250);

/// A migrated database, and how to connect to it. Cheap to clone; all clones share one pool.
#[derive(Clone, Debug)]
pub struct Database(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    owner: PgConnectOptions,
    service: PgConnectOptions,
    pool: PgPool,
    restricted: bool,
    /// Of the owner, who asks for the applied migrations.
    asking: Mutex<Asking>,
}

/// What is kept from one question for the applied migrations to the next.
#[derive(Debug, Default)]
struct Asking {
    connection: Option<PgConnection>,
    /// When it was answered last, and whether every migration was there.
    answered: Option<(Instant, bool)>,
}

impl Database {
    /// Applies the migrations that are missing, as the user of `options`, who must own the database. Any number
    /// of servers may do so at once. Fails if the database has migrations that this version does not know.
    pub async fn migrate(options: &PgConnectOptions) -> Result<(), MigrateError> {
        let mut connection = PgConnection::connect_with(options).await?;
        MIGRATOR.run(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }

    /// Prepares to work on a migrated database: under [`SERVICE_ROLE`] where that is possible.
    ///
    /// `pool_max` bounds the connections for reading; the desk has its own, one for each lane.
    pub async fn connect(options: PgConnectOptions, pool_max: u32) -> sqlx::Result<Self> {
        let owner = options.application_name("onefold");
        let restricted = store::role_fits(&owner, SERVICE_ROLE).await?;
        let service =
            if restricted { owner.clone().options([("role", SERVICE_ROLE)]) } else { owner.clone() };
        let reading =
            service.clone().application_name("onefold reads").options([("statement_timeout", "5s")]);
        let pool = PgPoolOptions::new()
            .max_connections(pool_max)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .test_before_acquire(false)
            .connect_lazy_with(reading);
        Ok(Self(Arc::new(Inner { owner, service, pool, restricted, asking: Mutex::default() })))
    }

    /// Connections for reading, under the service's role.
    pub fn pool(&self) -> &PgPool {
        &self.0.pool
    }

    /// How the owner connects: for migrations and administration.
    pub fn owner_options(&self) -> &PgConnectOptions {
        &self.0.owner
    }

    /// How the service connects.
    pub fn service_options(&self) -> &PgConnectOptions {
        &self.0.service
    }

    /// Whether the service works under a role that cannot change the journal. If not, only the code keeps the
    /// journal append-only.
    pub fn restricted(&self) -> bool {
        self.0.restricted
    }

    /// Whether every migration of this version has been applied, now or less than a quarter of a second ago. The owner is
    /// asked, over one connection that is kept: whoever asks often, or all at once, costs the database no more than that.
    pub async fn migrations_applied(&self) -> Result<bool, MigrateError> {
        let mut asking = self.0.asking.lock().await;
        if let Some((at, applied)) = asking.answered
            && at.elapsed() < ANSWER_STANDS_FOR
        {
            return Ok(applied);
        }
        // Taken out while it is used: a question that is given up, or fails, must not leave its answer to the next.
        let mut connection = match asking.connection.take() {
            Some(kept) => kept,
            None => PgConnection::connect_with(&self.0.owner).await?,
        };
        let applied = match connection.list_applied_migrations(&MIGRATOR.table_name).await {
            Ok(applied) => applied,
            // The kept connection may have ended with a restart of the database, which is back.
            Err(_) => {
                connection = PgConnection::connect_with(&self.0.owner).await?;
                connection.list_applied_migrations(&MIGRATOR.table_name).await?
            }
        };
        let applied = MIGRATOR.iter().all(|wanted| applied.iter().any(|done| done.version == wanted.version));
        *asking = Asking { connection: Some(connection), answered: Some((Instant::now(), applied)) };
        Ok(applied)
    }
}
