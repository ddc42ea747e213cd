//! Looking something up in the database, and what it is when that fails.

use std::future::Future;
use std::time::Duration;

use sqlx::PgPool;
use tokio::time::timeout;

use crate::problem::{Problem, Slug};

/// How long a look-up may take. A database that can be reached gives up sooner and says so, after 2 s without a free
/// connection and 5 s of a statement; a network that swallows packets says nothing for as long as TCP tries.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// Looks something up. A connection of the pool may have died while nobody used it, as all of them do when the database
/// is restarted; nobody should be told 503 for that, so the look-up goes on with the next one.
///
/// # Errors
///
/// `unavailable`, after 8 s at the latest, or `internal`; logged here, once, with the cause.
pub async fn look_up<T, F>(pool: &PgPool, read: impl FnMut() -> F) -> Result<T, Problem>
where
    F: Future<Output = sqlx::Result<T>>,
{
    look_up_within(ANSWER_WITHIN, pool, read).await
}

async fn look_up_within<T, F>(
    time_max: Duration,
    pool: &PgPool,
    read: impl FnMut() -> F,
) -> Result<T, Problem>
where
    F: Future<Output = sqlx::Result<T>>,
{
    match timeout(time_max, passing_over_the_dead(pool, read)).await {
        Ok(result) => result.map_err(|error| failed(&error)),
        Err(_) => {
            tracing::warn!("the database does not answer in time");
            Err(Problem::new(Slug::Unavailable, "the database does not answer in time; nothing was done"))
        }
    }
}

async fn passing_over_the_dead<T, F>(pool: &PgPool, mut read: impl FnMut() -> F) -> sqlx::Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    // Each try uses up one dead connection, and there are no more than these.
    let mut spare = pool.options().get_max_connections();
    loop {
        match read().await {
            Err(error) if spare > 0 && is_dead(&error) => spare -= 1,
            result => return result,
        }
    }
}

/// Whether the connection broke, rather than none being had.
fn is_dead(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // The server said why it hung up: admin_shutdown, crash_shutdown.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code == "57P01" || code == "57P02"),
        _ => false,
    }
}

fn failed(error: &sqlx::Error) -> Problem {
    if is_away(error) {
        tracing::warn!(error = %error, "the database cannot be reached");
        return Problem::new(Slug::Unavailable, "the database cannot be reached; nothing was done");
    }
    tracing::error!(error = %error, "a look-up in the database failed");
    Problem::internal()
}

/// Whether the database is away, or has no means left to answer, rather than being asked something wrong.
fn is_away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        // Class 08: connection exception; 53: insufficient resources; 57: operator intervention, and a statement that
        // took too long.
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| ["08", "53", "57"].iter().any(|class| code.starts_with(class)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use sqlx::postgres::PgPoolOptions;

    use super::*;

    /// A pool of four connections, which these tests never open.
    fn pool() -> PgPool {
        PgPoolOptions::new().max_connections(4).connect_lazy("postgres://localhost/none").unwrap()
    }

    fn broken() -> sqlx::Error {
        sqlx::Error::Io(io::ErrorKind::BrokenPipe.into())
    }

    #[tokio::test]
    async fn connections_that_died_unused_are_passed_over() {
        let mut dead = 4;
        let pool = pool();
        let found = look_up(&pool, || {
            dead -= 1;
            std::future::ready(if dead >= 0 { Err(broken()) } else { Ok("row") })
        });
        assert_eq!(found.await, Ok("row"));
    }

    #[tokio::test]
    async fn a_database_that_is_away_is_told_after_a_bounded_number_of_tries() {
        let mut tries = 0;
        let pool = pool();
        let found = look_up(&pool, || {
            tries += 1;
            std::future::ready(Err::<(), _>(broken()))
        });
        assert_eq!(found.await.unwrap_err().slug, Slug::Unavailable);
        assert_eq!(tries, 5);
    }

    #[tokio::test]
    async fn a_pool_without_a_free_connection_is_not_asked_again() {
        let mut tries = 0;
        let pool = pool();
        let found = look_up(&pool, || {
            tries += 1;
            std::future::ready(Err::<(), _>(sqlx::Error::PoolTimedOut))
        });
        assert_eq!(found.await.unwrap_err().slug, Slug::Unavailable);
        assert_eq!(tries, 1);
    }

    #[tokio::test]
    async fn a_database_that_says_nothing_is_not_waited_for() {
        let found =
            look_up_within(Duration::from_millis(1), &pool(), std::future::pending::<sqlx::Result<()>>).await;
        assert_eq!(found.unwrap_err().slug, Slug::Unavailable);
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_is_a_mistake_of_the_server() {
        let pool = pool();
        let found = look_up(&pool, || std::future::ready(Err::<(), _>(sqlx::Error::RowNotFound)));
        assert_eq!(found.await.unwrap_err().slug, Slug::Internal);
    }
}
