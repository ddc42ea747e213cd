//! A lane's connection: how it is set up, and when it is given up.

use std::future::Future;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::{Instant, timeout};

use crate::Settings;
use crate::fault::no_answer;

/// How long the set-up of a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long after a failed attempt no other is made: what comes meanwhile is told at once.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// How much longer than the server's own time limit an answer is waited for. A server that keeps its limits
/// answers earlier; one that does not is behind a dead network.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// The connection options of a lane.
///
/// Every statement of a lane finds its rows by an index, however small the tables are when it is planned. So the
/// plan is made once for all parameters, and the planner is kept from sequential scans and from joins that read
/// whole tables: a plan made on an empty table must still be right when there are ten million rows.
pub fn lane_options(service: &PgConnectOptions, settings: &Settings) -> PgConnectOptions {
    let milliseconds = |limit: Duration| limit.as_millis().to_string();
    service.clone().application_name("onefold desk").options([
        ("plan_cache_mode", "force_generic_plan".to_owned()),
        ("enable_seqscan", "off".to_owned()),
        ("enable_hashjoin", "off".to_owned()),
        ("enable_mergejoin", "off".to_owned()),
        ("enable_bitmapscan", "off".to_owned()),
        ("jit", "off".to_owned()),
        ("synchronous_commit", "on".to_owned()),
        ("statement_timeout", milliseconds(settings.statement_timeout)),
        ("lock_timeout", milliseconds(settings.lock_timeout)),
        ("idle_in_transaction_session_timeout", milliseconds(settings.idle_in_transaction_timeout)),
    ])
}

/// A connection that is made when it is needed, and made anew when it is lost.
#[derive(Debug)]
pub struct LaneConnection {
    options: PgConnectOptions,
    answer_limit: Duration,
    open: Option<PgConnection>,
    failed_at: Option<Instant>,
}

impl LaneConnection {
    /// A connection that is not made yet.
    pub fn new(service: &PgConnectOptions, settings: &Settings) -> Self {
        Self {
            options: lane_options(service, settings),
            answer_limit: settings.statement_timeout + ANSWER_MARGIN,
            open: None,
            failed_at: None,
        }
    }

    /// Another connection like this one, for work that must not hold this one up.
    pub fn sibling(&self) -> Self {
        Self { options: self.options.clone(), answer_limit: self.answer_limit, open: None, failed_at: None }
    }

    /// Makes sure that there is a connection.
    pub async fn ensure(&mut self) -> sqlx::Result<()> {
        if self.open.is_some() {
            return Ok(());
        }
        if self.failed_at.is_some_and(|at| at.elapsed() < CONNECT_PAUSE) {
            return Err(sqlx::Error::PoolTimedOut);
        }
        let connected = match timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&self.options)).await {
            Ok(connected) => connected,
            Err(_) => Err(no_answer(CONNECT_TIMEOUT)),
        };
        match connected {
            Ok(connection) => {
                self.failed_at = None;
                self.open = Some(connection);
                Ok(())
            }
            Err(error) => {
                self.failed_at = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// Runs something on the connection, and waits for its answer only so long. Without an answer the
    /// connection is given up: the answer to the last question must never be taken for that to the next.
    pub async fn ask<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> sqlx::Result<T> {
        let connection = self.open.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        match within(self.answer_limit, ask(connection)).await {
            Some(answer) => answer,
            None => {
                self.give_up();
                Err(no_answer(self.answer_limit))
            }
        }
    }

    /// Drops the connection. PostgreSQL rolls back what was open on it.
    pub fn give_up(&mut self) {
        self.open = None;
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(limit, work).await.ok()
}
