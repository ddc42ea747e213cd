//! The SQL of the table `webhook_deliveries`.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgExecutor, Row};
use uuid::Uuid;

use super::unreadable;
use crate::{EndpointId, WebhookDelivery};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT", INSERT),
    ("CLAIM", CLAIM),
    ("DELIVERED", DELIVERED),
    ("FAILED", FAILED),
    ("REPLAY", REPLAY),
    ("DEAD", DEAD),
    ("WAITING", WAITING),
    ("PRUNE_DELIVERED", PRUNE_DELIVERED),
    ("PRUNE_DEAD", PRUNE_DEAD),
];

/// Adds deliveries, due at once: `$1` to `$7`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO webhook_deliveries (
        client_id, endpoint_id, event_id, event_type, body, traceparent, status, attempts, next_attempt_at, created_at
    )
    SELECT u.client_id, u.endpoint_id, u.event_id, u.event_type, u.body, u.traceparent, 'due', 0, u.created_at,
           u.created_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[], $6::text[], $7::timestamptz[]
    ) AS u (client_id, endpoint_id, event_id, event_type, body, traceparent, created_at)
    RETURNING 1";

/// Binds [`INSERT`]'s parameters, sorted by key.
pub fn bind_inserts(arguments: &mut PgArguments, deliveries: &[WebhookDelivery]) -> Result<(), BoxDynError> {
    fn column<'r, T>(deliveries: &'r [WebhookDelivery], of: impl Fn(&'r WebhookDelivery) -> T) -> Vec<T> {
        deliveries.iter().map(of).collect()
    }
    arguments.add(column(deliveries, |d| d.client_id.0))?;
    arguments.add(column(deliveries, |d| d.endpoint_id.0))?;
    arguments.add(column(deliveries, |d| d.event_id))?;
    arguments.add(column(deliveries, |d| d.event_type.as_str()))?;
    arguments.add(column(deliveries, |d| d.body.as_slice()))?;
    arguments.add(column(deliveries, |d| d.traceparent.as_deref()))?;
    arguments.add(column(deliveries, |d| d.created_at))?;
    Ok(())
}

/// A turn: the delivery is due again at `$5`, whatever becomes of whoever has taken it. What somebody else is taking at this
/// moment is passed over. The first `$6` endpoints that have something due get one, in the order in which they are asked for.
const CLAIM: &str = "
    WITH wanted AS (
        SELECT e.client_id, e.endpoint_id
        FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS e (client_id, endpoint_id, place)
        WHERE EXISTS (
            SELECT
            FROM webhook_deliveries w
            WHERE w.client_id = e.client_id
              AND w.endpoint_id = e.endpoint_id
              AND w.status = 'due'
              AND w.next_attempt_at <= $3
        )
        ORDER BY e.place
        LIMIT $6
    ), due AS (
        SELECT d.client_id, d.endpoint_id, d.event_id
        FROM wanted e
        CROSS JOIN LATERAL (
            SELECT w.client_id, w.endpoint_id, w.event_id
            FROM webhook_deliveries w
            WHERE w.client_id = e.client_id
              AND w.endpoint_id = e.endpoint_id
              AND w.status = 'due'
              AND w.next_attempt_at <= $3
            ORDER BY w.next_attempt_at
            LIMIT $4
            FOR NO KEY UPDATE SKIP LOCKED
        ) d
    )
    UPDATE webhook_deliveries w
    SET attempts = w.attempts + 1, next_attempt_at = $5
    FROM due d
    WHERE w.client_id = d.client_id
      AND w.endpoint_id = d.endpoint_id
      AND w.event_id = d.event_id
    RETURNING w.client_id, w.endpoint_id, w.event_id, w.event_type, w.body, w.traceparent, w.attempts, w.created_at";

/// A delivery that is to be tried now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// What is delivered, and to whom.
    pub delivery: WebhookDelivery,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// Which deliveries are looked for.
#[derive(Clone, Debug)]
pub struct Wanted<'w> {
    /// Of these endpoints, those first that shall have their turns first.
    pub endpoints: &'w [(ClientId, EndpointId)],
    /// Of so many of them at most.
    pub endpoints_max: i64,
    /// The time.
    pub now: DateTime<Utc>,
    /// How many of each endpoint at most.
    pub of_each_max: i64,
    /// When they are due again, if nothing is heard of this attempt.
    pub again_at: DateTime<Utc>,
}

/// Takes the turns of deliveries that are due, those that wait longest first.
pub async fn claim(db: impl PgExecutor<'_>, wanted: Wanted<'_>) -> sqlx::Result<Vec<Turn>> {
    let clients: Vec<Uuid> = wanted.endpoints.iter().map(|(client, _)| client.0).collect();
    let endpoints: Vec<Uuid> = wanted.endpoints.iter().map(|(_, endpoint)| endpoint.0).collect();
    let query = sqlx::query(CLAIM)
        .bind(clients)
        .bind(endpoints)
        .bind(wanted.now)
        .bind(wanted.of_each_max)
        .bind(wanted.again_at)
        .bind(wanted.endpoints_max);
    query.fetch_all(db).await?.iter().map(turn_from).collect()
}

const DELIVERED: &str = "
    UPDATE webhook_deliveries
    SET status = 'delivered', last_status = $4, last_fault = NULL, finished_at = $5
    WHERE client_id = $1
      AND endpoint_id = $2
      AND event_id = $3
      AND status = 'due'";

/// Notes that a delivery was taken with this status. It stays so, whoever else has tried it meanwhile.
pub async fn delivered(
    db: impl PgExecutor<'_>,
    delivery: &WebhookDelivery,
    status: u16,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    let query = sqlx::query(DELIVERED)
        .bind(delivery.client_id)
        .bind(delivery.endpoint_id.0)
        .bind(delivery.event_id)
        .bind(i32::from(status))
        .bind(now);
    query.execute(db).await.map(drop)
}

/// Only of the attempt that was taken last: an older one says nothing new.
const FAILED: &str = "
    UPDATE webhook_deliveries
    SET status = CASE WHEN $5::timestamptz IS NULL THEN 'dead' ELSE 'due' END,
        next_attempt_at = coalesce($5, next_attempt_at),
        last_status = $6,
        last_fault = $7,
        finished_at = CASE WHEN $5::timestamptz IS NULL THEN $8::timestamptz END
    WHERE client_id = $1
      AND endpoint_id = $2
      AND event_id = $3
      AND attempts = $4
      AND status = 'due'";

/// What came of an attempt that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<'f> {
    /// When it is tried again; nothing: it is given up.
    pub again_at: Option<DateTime<Utc>>,
    /// What the receiver answered.
    pub status: Option<u16>,
    /// Why it counts as failed.
    pub fault: &'f str,
    /// The time.
    pub now: DateTime<Utc>,
}

/// Notes that an attempt failed.
pub async fn failed(db: impl PgExecutor<'_>, turn: &Turn, failure: Failure<'_>) -> sqlx::Result<()> {
    let query = sqlx::query(FAILED)
        .bind(turn.delivery.client_id)
        .bind(turn.delivery.endpoint_id.0)
        .bind(turn.delivery.event_id)
        .bind(i64::from(turn.attempt))
        .bind(failure.again_at)
        .bind(failure.status.map(i32::from))
        .bind(failure.fault)
        .bind(failure.now);
    query.execute(db).await.map(drop)
}

const REPLAY: &str = "
    UPDATE webhook_deliveries
    SET status = 'due', attempts = 0, next_attempt_at = $7, finished_at = NULL
    WHERE client_id = $1
      AND endpoint_id = coalesce($2, endpoint_id)
      AND event_id = coalesce($3, event_id)
      AND created_at >= coalesce($4::timestamptz, '-infinity')
      AND created_at < coalesce($5::timestamptz, 'infinity')
      AND (status = 'dead' OR (status = 'delivered' AND $6))";

/// Which deliveries are to be made once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replay {
    /// Of one endpoint; of all, if none is named.
    pub endpoint: Option<EndpointId>,
    /// Of one event.
    pub event: Option<Uuid>,
    /// From this time on.
    pub since: Option<DateTime<Utc>>,
    /// Before this time.
    pub until: Option<DateTime<Utc>>,
    /// Those too that were delivered, and not only what was given up.
    pub delivered_too: bool,
}

/// Makes deliveries due again, with all of their attempts before them; answers how many.
pub async fn replay(
    db: impl PgExecutor<'_>,
    client: ClientId,
    replay: Replay,
    now: DateTime<Utc>,
) -> sqlx::Result<u64> {
    let query = sqlx::query(REPLAY)
        .bind(client)
        .bind(replay.endpoint.map(|endpoint| endpoint.0))
        .bind(replay.event)
        .bind(replay.since)
        .bind(replay.until)
        .bind(replay.delivered_too)
        .bind(now);
    Ok(query.execute(db).await?.rows_affected())
}

const DEAD: &str = "
    SELECT endpoint_id, event_id, event_type, attempts, last_status, last_fault, created_at
    FROM webhook_deliveries
    WHERE client_id = $1
      AND status = 'dead'
    ORDER BY created_at DESC, event_id DESC
    LIMIT $2";

/// A delivery that was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadDelivery {
    /// Who was to be told.
    pub endpoint_id: EndpointId,
    /// Of what.
    pub event_id: Uuid,
    /// The event's type.
    pub event_type: String,
    /// How often it was tried.
    pub attempts: i64,
    /// What the receiver answered last.
    pub last_status: Option<i32>,
    /// Why that counts as failed.
    pub last_fault: Option<String>,
    /// When it was to be sent first.
    pub created_at: DateTime<Utc>,
}

/// What was given up of a client's deliveries, newest first.
pub async fn dead(db: impl PgExecutor<'_>, client: ClientId, limit: i64) -> sqlx::Result<Vec<DeadDelivery>> {
    let rows = sqlx::query(DEAD).bind(client).bind(limit).fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            Ok(DeadDelivery {
                endpoint_id: EndpointId(row.try_get("endpoint_id")?),
                event_id: row.try_get("event_id")?,
                event_type: row.try_get("event_type")?,
                attempts: row.try_get("attempts")?,
                last_status: row.try_get("last_status")?,
                last_fault: row.try_get("last_fault")?,
                created_at: row.try_get("created_at")?,
            })
        })
        .collect()
}

const WAITING: &str = "
    SELECT (
        SELECT count(*)
        FROM webhook_endpoints e
        CROSS JOIN LATERAL (
            SELECT
            FROM webhook_deliveries
            WHERE client_id = e.client_id
              AND endpoint_id = e.endpoint_id
              AND status = 'due'
            LIMIT 10000
        ) AS w
        WHERE e.client_id = ANY($1::uuid[])
          AND e.status = 'active'
    ) AS due, (
        SELECT count(*)
        FROM unnest($1::uuid[]) AS c (client_id)
        CROSS JOIN LATERAL (
            SELECT
            FROM webhook_deliveries
            WHERE client_id = c.client_id
              AND status = 'dead'
            LIMIT 10000
        ) AS w
    ) AS dead";

/// How many deliveries have not arrived.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, sqlx::FromRow)]
pub struct Waiting {
    /// Those that will be tried, now or later: of endpoints that are called, 10,000 of each at most.
    pub due: i64,
    /// Those that were given up: 10,000 of each client at most.
    pub dead: i64,
}

/// How many deliveries of these clients have not arrived.
pub async fn waiting(db: impl PgExecutor<'_>, clients: &[ClientId]) -> sqlx::Result<Waiting> {
    let clients: Vec<Uuid> = clients.iter().map(|client| client.0).collect();
    sqlx::query_as(WAITING).bind(clients).fetch_one(db).await
}

/// What another server deletes at this moment is passed over.
const PRUNE_DELIVERED: &str = "
    DELETE FROM webhook_deliveries
    WHERE (client_id, endpoint_id, event_id) IN (
        SELECT d.client_id, d.endpoint_id, d.event_id
        FROM unnest($1::uuid[]) AS c (client_id)
        CROSS JOIN LATERAL (
            SELECT client_id, endpoint_id, event_id
            FROM webhook_deliveries
            WHERE client_id = c.client_id
              AND status = 'delivered'
              AND finished_at < $2
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) AS d
        LIMIT $3
    )";

/// The index of what was given up has the time at which it began, which is earlier.
const PRUNE_DEAD: &str = "
    DELETE FROM webhook_deliveries
    WHERE (client_id, endpoint_id, event_id) IN (
        SELECT d.client_id, d.endpoint_id, d.event_id
        FROM unnest($1::uuid[]) AS c (client_id)
        CROSS JOIN LATERAL (
            SELECT client_id, endpoint_id, event_id
            FROM webhook_deliveries
            WHERE client_id = c.client_id
              AND status = 'dead'
              AND created_at < $2
              AND finished_at < $2
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) AS d
        LIMIT $3
    )";

/// How a delivery has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finished {
    /// It has arrived.
    Delivered,
    /// It was given up.
    Dead,
}

/// Deletes deliveries of these clients that ended so before this time, `limit` rows at most; answers how many.
pub async fn prune(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    how: Finished,
    before: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let statement = match how {
        Finished::Delivered => PRUNE_DELIVERED,
        Finished::Dead => PRUNE_DEAD,
    };
    let clients: Vec<Uuid> = clients.iter().map(|client| client.0).collect();
    let query = sqlx::query(statement).bind(clients).bind(before).bind(limit);
    Ok(query.execute(db).await?.rows_affected())
}

fn turn_from(row: &PgRow) -> sqlx::Result<Turn> {
    let attempts: i64 = row.try_get("attempts")?;
    Ok(Turn {
        delivery: WebhookDelivery {
            client_id: row.try_get("client_id")?,
            endpoint_id: EndpointId(row.try_get("endpoint_id")?),
            event_id: row.try_get("event_id")?,
            event_type: row.try_get("event_type")?,
            body: row.try_get("body")?,
            traceparent: row.try_get("traceparent")?,
            created_at: row.try_get("created_at")?,
        },
        attempt: u32::try_from(attempts).map_err(|fault| unreadable("attempts", fault))?,
    })
}
