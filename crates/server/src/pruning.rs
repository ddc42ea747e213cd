//! Deleting, in small pieces, what of events is kept long enough: webhooks that were delivered or given up, and events that
//! consumers have set aside.
//!
//! Every server does it. What one of them has in hand the others pass over, and it may be stopped at any point.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use desk::Clock;
use notifications::store::deliveries::{self, Finished};
use sqlx::PgPool;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(60);

/// How many rows one statement deletes.
const ROWS_MAX: i64 = 500;

/// For how long what of events is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Webhooks that were delivered.
    pub delivered: TimeDelta,
    /// Webhooks that were given up.
    pub dead: TimeDelta,
    /// Events that a consumer has set aside, whether they were taken since or not.
    pub set_aside: TimeDelta,
}

impl Default for Kept {
    fn default() -> Self {
        Self { delivered: TimeDelta::days(30), dead: TimeDelta::days(90), set_aside: TimeDelta::days(90) }
    }
}

/// What one round has deleted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Round {
    /// Webhooks that were delivered.
    pub delivered: u64,
    /// Webhooks that were given up.
    pub dead: u64,
    /// Events that a consumer has set aside.
    pub set_aside: u64,
}

/// Prunes until `stop`.
pub async fn run(pool: PgPool, clock: Arc<dyn Clock>, kept: Kept, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(EVERY) => {}
        }
        match once(&pool, clock.now(), kept).await {
            Ok(Round { delivered: _, dead: 0, set_aside: 0 }) => {}
            // Nobody has seen to them, and nobody can any more.
            Ok(Round { delivered: _, dead, set_aside }) => tracing::warn!(
                dead,
                set_aside,
                "webhooks that were given up and events that were set aside are deleted, as they are kept long enough"
            ),
            Err(error) => tracing::debug!(%error, "cannot prune now"),
        }
    }
}

/// One round: until there is nothing left to delete.
///
/// # Errors
///
/// If the database does not answer; what was deleted by then stays so.
pub async fn once(pool: &PgPool, now: DateTime<Utc>, kept: Kept) -> sqlx::Result<Round> {
    let clients = client::store::all_client_ids(pool).await?;
    let finished = |how: Finished, before: DateTime<Utc>| {
        let clients = &clients;
        in_pieces(move || deliveries::prune(pool, clients, how, before, ROWS_MAX))
    };
    Ok(Round {
        delivered: finished(Finished::Delivered, now - kept.delivered).await?,
        dead: finished(Finished::Dead, now - kept.dead).await?,
        set_aside: in_pieces(|| consumers::store::prune(pool, &clients, now - kept.set_aside, ROWS_MAX))
            .await?,
    })
}

/// Deletes piece by piece until there is nothing left; answers how many rows.
async fn in_pieces<F: Future<Output = sqlx::Result<u64>>>(prune: impl Fn() -> F) -> sqlx::Result<u64> {
    let mut in_all = 0;
    loop {
        let pruned = prune().await?;
        in_all += pruned;
        if pruned == 0 {
            return Ok(in_all);
        }
    }
}
