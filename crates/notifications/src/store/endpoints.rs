//! The SQL of the table `webhook_endpoints`.

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};

use super::unreadable;
use crate::{Endpoint, EndpointId, Secret};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT_ENDPOINT", INSERT_ENDPOINT),
    ("SECRETS", SECRETS),
    ("SET_SECRETS", SET_SECRETS),
    ("DELETE_ENDPOINT", DELETE_ENDPOINT),
    ("ENABLE", ENABLE),
    ("DISABLE", DISABLE),
    ("ACTIVE", ACTIVE),
    ("LIST", LIST),
];

const INSERT_ENDPOINT: &str = "
    INSERT INTO webhook_endpoints (client_id, endpoint_id, url, secrets, event_types, status, created_at)
    VALUES ($1, $2, $3, $4, $5, 'active', $6)";

/// Adds an endpoint.
pub async fn insert_endpoint(
    db: impl PgExecutor<'_>,
    endpoint: &Endpoint,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    let query = sqlx::query(INSERT_ENDPOINT)
        .bind(endpoint.client_id)
        .bind(endpoint.id.0)
        .bind(&endpoint.url)
        .bind(texts_of(&endpoint.secrets))
        .bind(&endpoint.event_types)
        .bind(now);
    query.execute(db).await.map(drop)
}

const SECRETS: &str = "
    SELECT secrets
    FROM webhook_endpoints
    WHERE client_id = $1
      AND endpoint_id = $2";

/// What an endpoint's deliveries are signed with, the newest first; nothing, if the client has no such endpoint.
pub async fn secrets(
    db: impl PgExecutor<'_>,
    client: ClientId,
    id: EndpointId,
) -> sqlx::Result<Option<Vec<Secret>>> {
    let row = sqlx::query(SECRETS).bind(client).bind(id.0).fetch_optional(db).await?;
    row.as_ref().map(secrets_from).transpose()
}

const SET_SECRETS: &str = "
    UPDATE webhook_endpoints
    SET secrets = $3
    WHERE client_id = $1
      AND endpoint_id = $2";

/// Sets what an endpoint's deliveries are signed with; `false`, if the client has no such endpoint.
pub async fn set_secrets(
    db: impl PgExecutor<'_>,
    client: ClientId,
    id: EndpointId,
    secrets: &[Secret],
) -> sqlx::Result<bool> {
    let query = sqlx::query(SET_SECRETS).bind(client).bind(id.0).bind(texts_of(secrets));
    Ok(query.execute(db).await?.rows_affected() > 0)
}

const DELETE_ENDPOINT: &str = "
    WITH endpoint AS (
        DELETE FROM webhook_endpoints
        WHERE client_id = $1
          AND endpoint_id = $2
        RETURNING client_id, endpoint_id
    ), deliveries AS (
        DELETE FROM webhook_deliveries d
        USING endpoint e
        WHERE d.client_id = $1
          AND d.client_id = e.client_id
          AND d.endpoint_id = e.endpoint_id
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM endpoint) AS endpoints, (SELECT count(*) FROM deliveries) AS deliveries";

/// Removes an endpoint with all of its deliveries, and answers how many those were; nothing, if the client has no such
/// endpoint.
pub async fn delete_endpoint(
    db: impl PgExecutor<'_>,
    client: ClientId,
    id: EndpointId,
) -> sqlx::Result<Option<i64>> {
    let row = sqlx::query(DELETE_ENDPOINT).bind(client).bind(id.0).fetch_one(db).await?;
    let found = row.try_get::<i64, _>("endpoints")? > 0;
    Ok(found.then_some(row.try_get("deliveries")?))
}

const ENABLE: &str = "
    UPDATE webhook_endpoints
    SET status = 'active', disabled_reason = NULL
    WHERE client_id = $1
      AND endpoint_id = $2";

/// Lets an endpoint be called again; `false`, if the client has no such endpoint.
pub async fn enable(db: impl PgExecutor<'_>, client: ClientId, id: EndpointId) -> sqlx::Result<bool> {
    Ok(sqlx::query(ENABLE).bind(client).bind(id.0).execute(db).await?.rows_affected() > 0)
}

const DISABLE: &str = "
    UPDATE webhook_endpoints
    SET status = 'disabled', disabled_reason = $3
    WHERE client_id = $1
      AND endpoint_id = $2
      AND status = 'active'";

/// Has an endpoint called no more, because it said so; `false`, if it was disabled before.
pub async fn disable(
    db: impl PgExecutor<'_>,
    client: ClientId,
    id: EndpointId,
    reason: &str,
) -> sqlx::Result<bool> {
    let query = sqlx::query(DISABLE).bind(client).bind(id.0).bind(reason);
    Ok(query.execute(db).await?.rows_affected() > 0)
}

/// Without `client_id` in its condition: whoever looks wants all of them, of which there are few.
const ACTIVE: &str = "
    SELECT client_id, endpoint_id, url, secrets, event_types
    FROM webhook_endpoints
    WHERE status = 'active'
    ORDER BY client_id, endpoint_id
    LIMIT $1";

/// The endpoints that are called, of all clients, `limit` at most.
pub async fn active(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<Vec<Endpoint>> {
    sqlx::query(ACTIVE).bind(limit).fetch_all(db).await?.iter().map(endpoint_from).collect()
}

const LIST: &str = "
    SELECT e.endpoint_id, e.url, e.event_types, e.status, e.disabled_reason, e.created_at,
           (SELECT count(*) FROM webhook_deliveries d
            WHERE d.client_id = e.client_id AND d.endpoint_id = e.endpoint_id AND d.status = 'due') AS due,
           (SELECT count(*) FROM webhook_deliveries d
            WHERE d.client_id = e.client_id AND d.endpoint_id = e.endpoint_id AND d.status = 'dead') AS dead
    FROM webhook_endpoints e
    WHERE e.client_id = $1
    ORDER BY e.endpoint_id";

/// An endpoint as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointLine {
    /// Its identity.
    pub id: EndpointId,
    /// Where it is.
    pub url: String,
    /// What it is told of; everything, if nothing is named.
    pub event_types: Vec<String>,
    /// `active` or `disabled`.
    pub status: String,
    /// Why it is called no more.
    pub disabled_reason: Option<String>,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// How many deliveries wait.
    pub due: i64,
    /// How many were given up.
    pub dead: i64,
}

/// A client's endpoints, the oldest first.
pub async fn list(db: impl PgExecutor<'_>, client: ClientId) -> sqlx::Result<Vec<EndpointLine>> {
    let rows = sqlx::query(LIST).bind(client).fetch_all(db).await?;
    rows.iter()
        .map(|row| {
            Ok(EndpointLine {
                id: EndpointId(row.try_get("endpoint_id")?),
                url: row.try_get("url")?,
                event_types: row.try_get("event_types")?,
                status: row.try_get("status")?,
                disabled_reason: row.try_get("disabled_reason")?,
                created_at: row.try_get("created_at")?,
                due: row.try_get("due")?,
                dead: row.try_get("dead")?,
            })
        })
        .collect()
}

fn texts_of(secrets: &[Secret]) -> Vec<String> {
    secrets.iter().map(Secret::reveal).collect()
}

fn endpoint_from(row: &PgRow) -> sqlx::Result<Endpoint> {
    Ok(Endpoint {
        client_id: row.try_get("client_id")?,
        id: EndpointId(row.try_get("endpoint_id")?),
        url: row.try_get("url")?,
        secrets: secrets_from(row)?,
        event_types: row.try_get("event_types")?,
    })
}

fn secrets_from(row: &PgRow) -> sqlx::Result<Vec<Secret>> {
    let texts: Vec<String> = row.try_get("secrets")?;
    let secrets = texts
        .iter()
        .map(|text| Secret::from_text(text).ok_or_else(|| unreadable("secrets", "one of them is no secret")));
    secrets.collect()
}
