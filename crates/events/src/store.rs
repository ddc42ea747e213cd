//! The SQL of the tables `outbox_events` and `outbox_pruned`.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgExecutor};
use uuid::Uuid;

use crate::message::Pending;
use crate::{Event, EventId};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT", INSERT),
    ("CLIENTS_WITH_PENDING", CLIENTS_WITH_PENDING),
    ("CLAIM", CLAIM),
    ("PENDING", PENDING),
    ("MARK_PUBLISHED", MARK_PUBLISHED),
    ("LAG", LAG),
    ("PRUNE", PRUNE),
    ("NOTE_PRUNED", NOTE_PRUNED),
];

/// Adds events: `$1` to `$8`, see [`bind_inserts`]. Returns a row for each.
pub const INSERT: &str = "
    INSERT INTO outbox_events (
        client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
    )
    SELECT u.client_id, u.event_id, u.event_type, u.aggregate_type, u.aggregate_id, u.sequence, u.data::json,
           u.occurred_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::timestamptz[]
    ) AS u (client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at)
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, events: &[Event]) -> Result<(), BoxDynError> {
    fn column<'r, T>(events: &'r [Event], of: impl Fn(&'r Event) -> T) -> Vec<T> {
        events.iter().map(of).collect()
    }
    arguments.add(column(events, |e| e.client_id.0))?;
    arguments.add(column(events, |e| e.id.0))?;
    arguments.add(column(events, |e| e.event_type))?;
    arguments.add(column(events, |e| e.aggregate_type))?;
    arguments.add(column(events, |e| e.aggregate_id))?;
    arguments.add(column(events, |e| e.sequence))?;
    arguments.add(column(events, |e| e.data.to_string()))?;
    arguments.add(column(events, |e| e.occurred_at))?;
    Ok(())
}

const CLIENTS_WITH_PENDING: &str = "
    SELECT c.client_id
    FROM unnest($1::uuid[]) AS c (client_id)
    WHERE EXISTS (
        SELECT FROM outbox_events o WHERE o.client_id = c.client_id AND o.published_at IS NULL
    )";

/// Which of the clients have events that wait to be published.
pub async fn clients_with_pending(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_WITH_PENDING).bind(ids_of(clients)).fetch_all(db).await
}

/// The two numbers are a lock's name, apart from those of one number, which are the names of effects.
const CLAIM: &str = "SELECT pg_try_advisory_xact_lock($1, $2)";

/// Stands for "the relay" among the locks of two numbers.
const RELAY_LOCKS: i32 = 0x6f75_7462;

/// Claims a client's events until the transaction ends; `false` if another relay has them. Two clients whose ids hash alike
/// wait for each other, which costs time only.
pub async fn claim(db: impl PgExecutor<'_>, client: ClientId) -> sqlx::Result<bool> {
    let bytes = client.0.as_bytes();
    let low = i32::from_be_bytes(bytes[12..].try_into().expect("four bytes"));
    sqlx::query_scalar(CLAIM).bind(RELAY_LOCKS).bind(low).fetch_one(db).await
}

const PENDING: &str = "
    SELECT client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data::text AS data, occurred_at,
           traceparent
    FROM outbox_events
    WHERE client_id = $1
      AND published_at IS NULL
    ORDER BY aggregate_id, sequence, event_id
    LIMIT $2";

/// What waits of a client, `most` at most: by thing and version, so that nothing of a thing is without what came before it.
pub async fn pending(db: impl PgExecutor<'_>, client: ClientId, most: i64) -> sqlx::Result<Vec<Pending>> {
    sqlx::query_as(PENDING).bind(client).bind(most).fetch_all(db).await
}

const MARK_PUBLISHED: &str = "
    UPDATE outbox_events
    SET published_at = $3
    WHERE client_id = $1
      AND event_id = ANY ($2)";

/// Notes that the broker has accepted these.
pub async fn mark_published(
    db: impl PgExecutor<'_>,
    client: ClientId,
    events: &[EventId],
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    let events: Vec<Uuid> = events.iter().map(|id| id.0).collect();
    sqlx::query(MARK_PUBLISHED).bind(client).bind(events).bind(now).execute(db).await?;
    Ok(())
}

const LAG: &str = "
    SELECT count(*), min(o.occurred_at)
    FROM unnest($1::uuid[]) AS c (client_id)
    CROSS JOIN LATERAL (
        SELECT occurred_at
        FROM outbox_events
        WHERE client_id = c.client_id
          AND published_at IS NULL
        ORDER BY aggregate_id, sequence
        LIMIT 10000
    ) AS o";

/// How many events wait, and since when the oldest of them does: 10,000 are looked at of each client, and things that are older
/// come first.
pub async fn lag(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
) -> sqlx::Result<(i64, Option<DateTime<Utc>>)> {
    sqlx::query_as(LAG).bind(ids_of(clients)).fetch_one(db).await
}

const PRUNE: &str = "
    DELETE FROM outbox_events
    WHERE client_id = $1
      AND event_id IN (
          SELECT event_id
          FROM outbox_events
          WHERE client_id = $1
            AND event_id < $2
            AND published_at < $3
          ORDER BY event_id
          LIMIT $4
          FOR UPDATE SKIP LOCKED
      )";

/// Deletes events of a client, `most` at most, that were made and published before this time; answers how many.
pub async fn prune(
    db: impl PgExecutor<'_>,
    client: ClientId,
    before: DateTime<Utc>,
    most: i64,
) -> sqlx::Result<u64> {
    // Ids begin with the time they were made at, in milliseconds (RFC 9562, section 5.7).
    let milliseconds = u128::try_from(before.timestamp_millis()).unwrap_or(0);
    let first_kept = Uuid::from_u128(milliseconds << 80);
    let query = sqlx::query(PRUNE).bind(client).bind(first_kept).bind(before).bind(most);
    Ok(query.execute(db).await?.rows_affected())
}

const NOTE_PRUNED: &str = "
    INSERT INTO outbox_pruned (client_id, before)
    VALUES ($1, $2)
    ON CONFLICT (client_id) DO UPDATE SET before = greatest(outbox_pruned.before, EXCLUDED.before)";

/// Notes that a client's events from before this time may be gone.
pub async fn note_pruned(
    db: impl PgExecutor<'_>,
    client: ClientId,
    before: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(NOTE_PRUNED).bind(client).bind(before).execute(db).await?;
    Ok(())
}

fn ids_of(clients: &[ClientId]) -> Vec<Uuid> {
    clients.iter().map(|client| client.0).collect()
}
