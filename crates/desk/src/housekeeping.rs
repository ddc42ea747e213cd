//! Work that keeps the tables small: deleting records and quarantined bodies past their retention, rolling up collecting accounts.
//!
//! Every server does it, in small transactions that pass over rows which another one has in hand. It is harmless
//! when done twice or stopped at any point, and it never takes a lock that an order waits for.

use std::sync::Arc;
use std::time::Duration;

use account::store::collecting;
use idempotency::store;
use payment_callback::store::deliveries;
use sqlx::PgPool;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Clock;
use crate::schema::Database;

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(1);

/// How many rows one transaction deletes or replaces.
const ROWS_MAX: i64 = 500;

/// What one round did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Round {
    /// Records deleted.
    pub records_deleted: u64,
    /// Rows of collecting accounts replaced by their sums.
    pub totals_rolled_up: i64,
    /// Bodies of quarantined deliveries deleted.
    pub bodies_deleted: u64,
}

/// Keeps house until `stop`.
pub async fn run(database: Database, clock: Arc<dyn Clock>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(PAUSE) => {}
        }
        match once(&database, clock.as_ref()).await {
            Ok(round) if round == Round::default() => {}
            Ok(round) => tracing::debug!(?round, "kept house"),
            Err(error) => tracing::debug!(%error, "cannot keep house now"),
        }
    }
}

/// One round: until there is nothing left to do. Which clients have something to do is asked for all of them at once, so
/// that a round costs a few statements however many clients there are.
pub async fn once(database: &Database, clock: &dyn Clock) -> sqlx::Result<Round> {
    let pool = database.pool();
    let clients = client::store::all_client_ids(pool).await?;
    let mut round = Round::default();
    for client in store::clients_with_expired(pool, &clients, clock.now()).await? {
        loop {
            let deleted = store::delete_expired(pool, client, clock.now(), ROWS_MAX).await?;
            round.records_deleted += deleted;
            if deleted == 0 {
                break;
            }
        }
    }
    for client in deliveries::clients_with_bodies_due(pool, &clients, clock.now()).await? {
        loop {
            let deleted = deliveries::delete_bodies_due(pool, client, clock.now(), ROWS_MAX).await?;
            round.bodies_deleted += deleted;
            if deleted == 0 {
                break;
            }
        }
    }
    for (client, account) in collecting::to_roll_up(pool, &clients).await? {
        round.totals_rolled_up += roll_up(pool, client, account).await?;
    }
    Ok(round)
}

#[expect(clippy::disallowed_methods, reason = "this is the edge where new ids come in")]
async fn roll_up(pool: &PgPool, client: client::ClientId, account: Uuid) -> sqlx::Result<i64> {
    let mut replaced_in_all = 0;
    loop {
        let replaced = collecting::roll_up(pool, client, account, Uuid::now_v7(), ROWS_MAX).await?;
        replaced_in_all += replaced;
        if replaced < ROWS_MAX {
            return Ok(replaced_in_all);
        }
    }
}
