//! The one moment that an audit looks at, and the connection that shows it.

use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, PgConnection};

use super::Source;
use crate::row::Row;

/// How long the audit waits for a lock, in milliseconds. What it takes conflicts with nothing but a change of the
/// schema; behind one it must not wait for long, since everybody else would then queue behind the audit.
const LOCK_TIMEOUT_MS: &str = "5000";

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The first statement of the transaction fixes what it sees.
const TAKE: &str = "SELECT now()";

/// The planner's belief; negative where the table was never analysed.
const ROWS_ESTIMATED: &str = "
    SELECT reltuples::bigint
    FROM pg_class
    WHERE oid = to_regclass($1)";

/// A snapshot of the books. All that is read from it is of one moment, however long the reading takes.
///
/// While it lives, the database keeps row versions that others have replaced meanwhile: it costs space, not waiting.
#[derive(Debug)]
pub struct Snapshot {
    connection: PgConnection,
    taken_at: DateTime<Utc>,
}

impl Snapshot {
    /// Takes a snapshot, on a connection of its own that is set up to be a quiet neighbour.
    pub async fn take(options: &PgConnectOptions) -> sqlx::Result<Self> {
        let mut connection = PgConnection::connect_with(&quiet(options)).await?;
        connection.execute(sqlx::raw_sql(BEGIN)).await?;
        let taken_at = sqlx::query_scalar(TAKE).fetch_one(&mut connection).await?;
        Ok(Self { connection, taken_at })
    }

    /// When it was taken, by the database's clock.
    pub fn taken_at(&self) -> DateTime<Utc> {
        self.taken_at
    }

    /// About how many rows the source's table has.
    pub async fn rows_estimated(&mut self, source: &Source) -> sqlx::Result<u64> {
        let estimated: Option<i64> = sqlx::query_scalar(ROWS_ESTIMATED)
            .bind(source.table)
            .fetch_optional(&mut self.connection)
            .await?;
        Ok(u64::try_from(estimated.unwrap_or(0)).unwrap_or(0))
    }

    /// Reads a source from its first row to its last, one row at a time: the database sends on when what it has sent is
    /// read, so neither side holds more than some buffers.
    pub async fn read(
        &mut self,
        source: &Source,
        time: DateTime<Utc>,
        mut each: impl FnMut(Row<'_>),
    ) -> sqlx::Result<()> {
        let query = sqlx::query(source.sql).persistent(false);
        let query = if source.needs_time { query.bind(time) } else { query };
        let mut rows = query.fetch(&mut self.connection);
        while let Some(row) = rows.try_next().await? {
            each((source.read)(&row)?);
        }
        Ok(())
    }

    /// Gives the snapshot back.
    pub async fn close(self) -> sqlx::Result<()> {
        self.connection.close().await
    }
}

/// The options of a neighbour that nobody notices: it cannot write, takes one process and no more memory than others,
/// sorts nothing that an index has in order, and may take its time.
pub fn quiet(options: &PgConnectOptions) -> PgConnectOptions {
    options.clone().disable_statement_logging().application_name("onefold verify").options([
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"),
        ("lock_timeout", LOCK_TIMEOUT_MS),
        ("max_parallel_workers_per_gather", "0"),
        ("enable_sort", "off"),
        ("enable_hashjoin", "off"),
        ("enable_incremental_sort", "off"),
        ("jit", "off"),
    ])
}
