//! The SQL of the table `events_set_aside`.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};
use uuid::Uuid;

use crate::SetAside;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("SET_ASIDE", SET_ASIDE),
    ("TAKEN", TAKEN),
    ("WAITING", WAITING),
    ("WAITING_BY_CONSUMER", WAITING_BY_CONSUMER),
    ("PRUNE", PRUNE),
];

/// An event that is set aside once more has the newer reason, and is kept from then on. The row has no effect to lose.
const SET_ASIDE: &str = "
    INSERT INTO events_set_aside (
        client_id, consumer, event_id, event_type, subject, sequence, body, reason, detail, set_aside_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT ON CONSTRAINT events_set_aside_pkey DO UPDATE
    SET reason = EXCLUDED.reason, detail = EXCLUDED.detail, set_aside_at = EXCLUDED.set_aside_at, taken_at = NULL";

/// Sets an event aside.
pub async fn set_aside(db: impl PgExecutor<'_>, event: &SetAside) -> sqlx::Result<()> {
    let query = sqlx::query(SET_ASIDE)
        .bind(event.client_id)
        .bind(&event.consumer)
        .bind(event.event_id)
        .bind(&event.event_type)
        .bind(&event.subject)
        .bind(event.sequence)
        .bind(&event.body)
        .bind(&event.reason)
        .bind(&event.detail)
        .bind(event.set_aside_at);
    query.execute(db).await.map(drop)
}

const TAKEN: &str = "
    UPDATE events_set_aside
    SET taken_at = $4
    WHERE client_id = $1
      AND consumer = $2
      AND event_id = $3";

/// Notes that an event that was set aside has been taken after all.
pub async fn taken(
    db: impl PgExecutor<'_>,
    client: ClientId,
    consumer: &str,
    event: Uuid,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    let query = sqlx::query(TAKEN).bind(client).bind(consumer).bind(event).bind(now);
    query.execute(db).await.map(drop)
}

const WAITING: &str = "
    SELECT client_id, consumer, event_id, event_type, subject, sequence, body, reason, detail, set_aside_at
    FROM events_set_aside
    WHERE client_id = $1
      AND consumer = $2
      AND taken_at IS NULL
      AND event_id > $3
    ORDER BY event_id
    LIMIT $4";

/// A client's events that a consumer has set aside and not taken since, the oldest first, from the one behind `after`.
pub async fn waiting(
    db: impl PgExecutor<'_>,
    client: ClientId,
    consumer: &str,
    after: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<SetAside>> {
    let query = sqlx::query(WAITING).bind(client).bind(consumer).bind(after).bind(limit);
    query.fetch_all(db).await?.iter().map(set_aside_from).collect()
}

const WAITING_BY_CONSUMER: &str = "
    SELECT e.consumer, count(*) AS waiting
    FROM unnest($1::uuid[]) AS c (client_id)
    CROSS JOIN LATERAL (
        SELECT consumer
        FROM events_set_aside
        WHERE client_id = c.client_id
          AND taken_at IS NULL
        LIMIT 10000
    ) AS e
    GROUP BY e.consumer";

/// How many events of these clients are set aside and not taken since, at each consumer that has any: the 10,000 of each client
/// are counted at most.
pub async fn waiting_by_consumer(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
) -> sqlx::Result<Vec<(String, i64)>> {
    let clients: Vec<Uuid> = clients.iter().map(|client| client.0).collect();
    sqlx::query_as(WAITING_BY_CONSUMER).bind(clients).fetch_all(db).await
}

/// What another server deletes at this moment is passed over.
const PRUNE: &str = "
    DELETE FROM events_set_aside
    WHERE (client_id, consumer, event_id) IN (
        SELECT e.client_id, e.consumer, e.event_id
        FROM unnest($1::uuid[]) AS c (client_id)
        CROSS JOIN LATERAL (
            SELECT client_id, consumer, event_id
            FROM events_set_aside
            WHERE client_id = c.client_id
              AND set_aside_at < $2
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) AS e
        LIMIT $3
    )";

/// Deletes events of these clients that were set aside before this time, whether they were taken since or not, `limit` rows at
/// most; answers how many.
pub async fn prune(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    before: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let clients: Vec<Uuid> = clients.iter().map(|client| client.0).collect();
    let query = sqlx::query(PRUNE).bind(clients).bind(before).bind(limit);
    Ok(query.execute(db).await?.rows_affected())
}

fn set_aside_from(row: &PgRow) -> sqlx::Result<SetAside> {
    Ok(SetAside {
        client_id: row.try_get("client_id")?,
        consumer: row.try_get("consumer")?,
        event_id: row.try_get("event_id")?,
        event_type: row.try_get("event_type")?,
        subject: row.try_get("subject")?,
        sequence: row.try_get("sequence")?,
        body: row.try_get("body")?,
        reason: row.try_get("reason")?,
        detail: row.try_get("detail")?,
        set_aside_at: row.try_get("set_aside_at")?,
    })
}
