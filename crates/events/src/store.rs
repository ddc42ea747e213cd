//! The SQL of the tables `outbox_events` and `event_streams`.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgExecutor};
use uuid::Uuid;

use crate::message::Pending;
use crate::{Event, Place};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT", INSERT),
    ("CLUSTER_ID", CLUSTER_ID),
    ("CLIENTS_WITH_PENDING", CLIENTS_WITH_PENDING),
    ("CLAIM", CLAIM),
    ("PLACE", PLACE),
    ("LIFT_TIME_LIMIT", LIFT_TIME_LIMIT),
    ("BEGIN_ANEW", BEGIN_ANEW),
    ("PENDING", PENDING),
    ("LAST_SETTLED", LAST_SETTLED),
    ("ADVANCE", ADVANCE),
    ("LAG", LAG),
    ("PRUNE", PRUNE),
    ("NOTE_PRUNED", NOTE_PRUNED),
];

/// Adds events: `$1` to `$9`, see [`bind_inserts`]. Returns a row for each.
pub const INSERT: &str = "
    INSERT INTO outbox_events (
        client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at, traceparent
    )
    SELECT u.client_id, u.event_id, u.event_type, u.aggregate_type, u.aggregate_id, u.sequence, u.data::json,
           u.occurred_at, u.traceparent
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::timestamptz[],
        $9::text[]
    ) AS u (
        client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at, traceparent
    )
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
    arguments.add(column(events, |e| e.traceparent.as_deref()))?;
    Ok(())
}

const CLUSTER_ID: &str = "SELECT system_identifier FROM pg_control_system()";

/// Which database cluster this is: transaction ids of another one mean nothing here.
pub async fn cluster_id(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar(CLUSTER_ID).fetch_one(db).await
}

const CLIENTS_WITH_PENDING: &str = "
    SELECT c.client_id
    FROM unnest($1::uuid[]) AS c (client_id)
    LEFT JOIN event_streams s ON s.client_id = c.client_id AND s.cluster_id = $2
    WHERE EXISTS (
        SELECT
        FROM outbox_events o
        WHERE o.client_id = c.client_id
          AND (
              s.client_id IS NULL
              OR (o.horizon, o.aggregate_id, o.sequence, o.event_id)
                  > (s.horizon, s.aggregate_id, s.sequence, s.event_id)
          )
    )";

/// Which of the clients have events that wait to be published.
pub async fn clients_with_pending(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    cluster_id: i64,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_WITH_PENDING).bind(ids_of(clients)).bind(cluster_id).fetch_all(db).await
}

/// The two numbers are a lock's name, apart from those of one number, which are the names of effects. No row is locked for
/// it: that would take a transaction id, and nothing past it could be published meanwhile.
const CLAIM: &str = "SELECT pg_try_advisory_xact_lock($1, $2)";

/// Stands for "the relay" among the locks of two numbers.
const RELAY_LOCKS: i32 = 0x6f75_7462;

/// Claims a client's events until the transaction ends; `false` if another relay has them. Two clients whose ids end alike
/// wait for each other, which costs time only.
pub async fn claim(db: impl PgExecutor<'_>, client: ClientId) -> sqlx::Result<bool> {
    let bytes = client.0.as_bytes();
    let low = i32::from_be_bytes(bytes[12..].try_into().expect("four bytes"));
    sqlx::query_scalar(CLAIM).bind(RELAY_LOCKS).bind(low).fetch_one(db).await
}

const PLACE: &str = "
    SELECT horizon::text, aggregate_id, sequence, event_id
    FROM event_streams
    WHERE client_id = $1
      AND cluster_id = $2";

/// How far a client's events are published; `None` if nothing is known of that in this cluster.
pub async fn place(
    db: impl PgExecutor<'_>,
    client: ClientId,
    cluster_id: i64,
) -> sqlx::Result<Option<Place>> {
    sqlx::query_as(PLACE).bind(client).bind(cluster_id).fetch_optional(db).await
}

const LIFT_TIME_LIMIT: &str = "SELECT set_config('statement_timeout', '0', true)";

/// Lets the statements of this transaction take as long as they need.
pub async fn lift_time_limit(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query(LIFT_TIME_LIMIT).execute(db).await?;
    Ok(())
}

const BEGIN_ANEW: &str = "
    UPDATE outbox_events
    SET horizon = '0'
    WHERE client_id = $1
      AND horizon > '0'";

/// Puts whatever is kept of a client's events before all that will come, by thing and version.
pub async fn begin_anew(db: impl PgExecutor<'_>, client: ClientId) -> sqlx::Result<()> {
    sqlx::query(BEGIN_ANEW).bind(client).execute(db).await?;
    Ok(())
}

/// The snapshot is the statement's own: whatever is below its oldest running transaction and not seen by it will never be.
const PENDING: &str = "
    SELECT client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data::text AS data, occurred_at,
           traceparent, horizon::text
    FROM outbox_events
    WHERE client_id = $1
      AND (horizon, aggregate_id, sequence, event_id) > ($2::text::xid8, $3, $4, $5)
      AND horizon < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY horizon, aggregate_id, sequence, event_id
    LIMIT $6";

/// What may be published of a client after this place, `most` at most, in order.
pub async fn pending(
    db: impl PgExecutor<'_>,
    client: ClientId,
    place: &Place,
    most: i64,
) -> sqlx::Result<Vec<Pending>> {
    let query = sqlx::query_as(PENDING)
        .bind(client)
        .bind(&place.horizon)
        .bind(place.aggregate_id)
        .bind(place.sequence)
        .bind(place.event_id);
    query.bind(most).fetch_all(db).await
}

const LAST_SETTLED: &str = "
    SELECT horizon::text, aggregate_id, sequence, event_id
    FROM outbox_events
    WHERE client_id = $1
      AND (horizon, aggregate_id, sequence, event_id) > ($2::text::xid8, $3, $4, $5)
      AND horizon < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY horizon DESC, aggregate_id DESC, sequence DESC, event_id DESC
    LIMIT 1";

/// The last event of a client after this place before which none can come any more: the last of all that [`pending`] would answer.
pub async fn last_settled(
    db: impl PgExecutor<'_>,
    client: ClientId,
    place: &Place,
) -> sqlx::Result<Option<Place>> {
    let query = sqlx::query_as(LAST_SETTLED)
        .bind(client)
        .bind(&place.horizon)
        .bind(place.aggregate_id)
        .bind(place.sequence)
        .bind(place.event_id);
    query.fetch_optional(db).await
}

const ADVANCE: &str = "
    INSERT INTO event_streams (client_id, cluster_id, horizon, aggregate_id, sequence, event_id)
    VALUES ($1, $2, $3::text::xid8, $4, $5, $6)
    ON CONFLICT (client_id) DO UPDATE
    SET cluster_id = EXCLUDED.cluster_id,
        horizon = EXCLUDED.horizon,
        aggregate_id = EXCLUDED.aggregate_id,
        sequence = EXCLUDED.sequence,
        event_id = EXCLUDED.event_id";

/// Notes that the broker has accepted a client's events as far as this.
pub async fn advance(
    db: impl PgExecutor<'_>,
    client: ClientId,
    cluster_id: i64,
    place: &Place,
) -> sqlx::Result<()> {
    sqlx::query(ADVANCE)
        .bind(client)
        .bind(cluster_id)
        .bind(&place.horizon)
        .bind(place.aggregate_id)
        .bind(place.sequence)
        .bind(place.event_id)
        .execute(db)
        .await?;
    Ok(())
}

const LAG: &str = "
    SELECT count(*), min(o.occurred_at)
    FROM unnest($1::uuid[]) AS c (client_id)
    LEFT JOIN event_streams s ON s.client_id = c.client_id AND s.cluster_id = $2
    CROSS JOIN LATERAL (
        SELECT occurred_at
        FROM outbox_events
        WHERE client_id = c.client_id
          AND (
              s.client_id IS NULL
              OR (horizon, aggregate_id, sequence, event_id)
                  > (s.horizon, s.aggregate_id, s.sequence, s.event_id)
          )
        ORDER BY horizon
        LIMIT 10000
    ) AS o";

/// How many events wait, and since when the oldest of them does: the 10,000 of each client that come first are looked at.
pub async fn lag(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    cluster_id: i64,
) -> sqlx::Result<(i64, Option<DateTime<Utc>>)> {
    sqlx::query_as(LAG).bind(ids_of(clients)).bind(cluster_id).fetch_one(db).await
}

const PRUNE: &str = "
    DELETE FROM outbox_events
    WHERE client_id = $1
      AND event_id IN (
          SELECT o.event_id
          FROM outbox_events o
          JOIN event_streams s ON s.client_id = o.client_id
          WHERE o.client_id = $1
            AND o.event_id < $2
            AND s.cluster_id = $3
            AND (o.horizon, o.aggregate_id, o.sequence, o.event_id)
                <= (s.horizon, s.aggregate_id, s.sequence, s.event_id)
          ORDER BY o.event_id
          LIMIT $4
          FOR UPDATE OF o SKIP LOCKED
      )";

/// Deletes published events of a client, `most` at most, that were made before this time; answers how many.
pub async fn prune(
    db: impl PgExecutor<'_>,
    client: ClientId,
    cluster_id: i64,
    before: DateTime<Utc>,
    most: i64,
) -> sqlx::Result<u64> {
    // Ids begin with the time they were made at, in milliseconds (RFC 9562, section 5.7).
    let milliseconds = u128::try_from(before.timestamp_millis()).unwrap_or(0);
    let first_kept = Uuid::from_u128(milliseconds << 80);
    let query = sqlx::query(PRUNE).bind(client).bind(first_kept).bind(cluster_id).bind(most);
    Ok(query.execute(db).await?.rows_affected())
}

const NOTE_PRUNED: &str = "
    UPDATE event_streams
    SET pruned_before = greatest(pruned_before, $2)
    WHERE client_id = $1";

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
