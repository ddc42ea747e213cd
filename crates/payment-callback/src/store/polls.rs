//! Whose turn it is to be asked about, in the table `payments`.
//!
//! A turn is taken in a transaction of its own, before anybody is asked, and changes nothing of the payment's version: see
//! the migration that adds the column.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::{Connection, PgConnection, Row};

use crate::ProviderKind;
use crate::poll::Turn;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("DUE", DUE), ("MOVE_ON", MOVE_ON)];

/// The condition of the index comes first. What somebody else is changing at this moment is passed over: another server
/// takes its turn, or a callback settles it.
const DUE: &str = "
    SELECT payment_no, created_at, expires_at
    FROM payments
    WHERE status IN ('pending', 'expired', 'closed')
      AND next_poll_at < 'infinity'
      AND client_id = $1
      AND provider = $2
      AND next_poll_at <= $3
      AND created_at <= $4
    ORDER BY next_poll_at
    LIMIT $5
    FOR NO KEY UPDATE SKIP LOCKED";

const MOVE_ON: &str = "
    UPDATE payments p
    SET next_poll_at = COALESCE(u.next_poll_at, 'infinity')
    FROM unnest($2::text[], $3::timestamptz[]) AS u (payment_no, next_poll_at)
    WHERE p.client_id = $1
      AND p.payment_no = u.payment_no";

/// Which payments are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Whose.
    pub client: ClientId,
    /// At which provider.
    pub provider: ProviderKind,
    /// The time.
    pub now: DateTime<Utc>,
    /// Not those that were made later than this.
    pub made_by: DateTime<Utc>,
    /// How many at most.
    pub limit: i64,
}

/// Takes the turns of payments that are due, those that wait longest first. Each is due again when `next` says; whoever
/// dies now has not asked, and it is asked about then.
///
/// # Errors
///
/// If the database does not answer: then no turn is taken.
pub async fn take_turns(
    connection: &mut PgConnection,
    wanted: Wanted,
    mut next: impl FnMut(&Turn) -> Option<DateTime<Utc>>,
) -> sqlx::Result<Vec<Turn>> {
    let mut transaction = connection.begin().await?;
    let due = sqlx::query(DUE)
        .bind(wanted.client)
        .bind(wanted.provider.word())
        .bind(wanted.now)
        .bind(wanted.made_by)
        .bind(wanted.limit);
    let rows = due.fetch_all(&mut *transaction).await?;
    let turns = rows
        .iter()
        .map(|row| {
            Ok(Turn {
                payment_no: row.try_get("payment_no")?,
                created_at: row.try_get("created_at")?,
                expires_at: row.try_get("expires_at")?,
            })
        })
        .collect::<sqlx::Result<Vec<_>>>()?;
    if !turns.is_empty() {
        let numbers: Vec<&str> = turns.iter().map(|turn| turn.payment_no.as_str()).collect();
        let times: Vec<Option<DateTime<Utc>>> = turns.iter().map(&mut next).collect();
        let moved = sqlx::query(MOVE_ON).bind(wanted.client).bind(numbers).bind(times);
        moved.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(turns)
}
