//! The SQL of the tables `clients` and `api_keys`.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::{ApiKeyHash, ClientId, Scopes};

/// Who an API key belongs to.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct KeyHolder {
    /// The client that authenticates with the key.
    pub client_id: ClientId,
    /// The client's name.
    pub name: String,
    /// Whether it is the key of the demo data, which is good on a loopback listener only.
    pub demo: bool,
    /// What the key is good for.
    #[sqlx(try_from = "Option<Vec<String>>")]
    pub scopes: Scopes,
    /// The key's [id](ApiKeyHash::id).
    pub key_id: String,
}

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("FIND_KEY_HOLDER", FIND_KEY_HOLDER),
    ("INSERT_CLIENT", INSERT_CLIENT),
    ("INSERT_API_KEY", INSERT_API_KEY),
    ("FIND_CLIENT", FIND_CLIENT),
    ("ALL_CLIENT_IDS", ALL_CLIENT_IDS),
    ("LIST_CLIENTS", LIST_CLIENTS),
    ("LIST_KEYS", LIST_KEYS),
    ("REVOKE_KEYS", REVOKE_KEYS),
    ("REVOKE_KEY", REVOKE_KEY),
];

const FIND_KEY_HOLDER: &str = "
    SELECT c.client_id, c.name, k.demo, k.scopes,
           encode(substring(k.key_sha256 FROM 1 FOR 6), 'hex') AS key_id
    FROM api_keys k
    JOIN clients c ON c.client_id = k.client_id
    WHERE k.key_sha256 = $1
      AND k.revoked_at IS NULL";

/// The client whose key this is, unless the key is unknown or revoked.
pub async fn find_key_holder(db: impl PgExecutor<'_>, hash: ApiKeyHash) -> sqlx::Result<Option<KeyHolder>> {
    sqlx::query_as(FIND_KEY_HOLDER).bind(&hash.0[..]).fetch_optional(db).await
}

const INSERT_CLIENT: &str = "
    INSERT INTO clients (client_id, name, created_at)
    VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING";

/// Adds a client; `false` if one of that name, or of that id, is there already. Of several at once the first goes on,
/// and the others wait for its commit: that is why the conflict names no constraint, for which of the two unique
/// indexes a racing insert runs into is not certain.
pub async fn insert_client(
    db: impl PgExecutor<'_>,
    id: ClientId,
    name: &str,
    now: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(INSERT_CLIENT).bind(id).bind(name).bind(now).execute(db).await?;
    Ok(done.rows_affected() == 1)
}

const INSERT_API_KEY: &str = "
    INSERT INTO api_keys (key_sha256, client_id, demo, scopes, created_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (key_sha256) DO NOTHING";

/// Gives a client one more key. A key that is known already is left as it is.
pub async fn insert_api_key(
    db: impl PgExecutor<'_>,
    id: ClientId,
    hash: ApiKeyHash,
    demo: bool,
    scopes: &Scopes,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(INSERT_API_KEY)
        .bind(&hash.0[..])
        .bind(id)
        .bind(demo)
        .bind(scopes.words())
        .bind(now)
        .execute(db)
        .await?;
    Ok(())
}

const FIND_CLIENT: &str = "SELECT client_id FROM clients WHERE name = $1";

/// The client of that name.
pub async fn find_client(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<ClientId>> {
    sqlx::query_scalar(FIND_CLIENT).bind(name).fetch_optional(db).await
}

const ALL_CLIENT_IDS: &str = "SELECT client_id FROM clients ORDER BY client_id";

/// Every client: for the background work that goes through the data a client at a time.
pub async fn all_client_ids(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(ALL_CLIENT_IDS).fetch_all(db).await
}

/// A line of `onefold client list`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ClientLine {
    /// The client.
    pub client_id: ClientId,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// How many of its keys are good.
    pub keys_active: i64,
    /// How many of its keys were revoked.
    pub keys_revoked: i64,
}

const LIST_CLIENTS: &str = "
    SELECT c.client_id,
           c.name,
           c.created_at,
           count(k.key_sha256) FILTER (WHERE k.revoked_at IS NULL) AS keys_active,
           count(k.key_sha256) FILTER (WHERE k.revoked_at IS NOT NULL) AS keys_revoked
    FROM clients c
    LEFT JOIN api_keys k ON k.client_id = c.client_id
    GROUP BY c.client_id, c.name, c.created_at
    ORDER BY c.name";

/// All clients, by name.
pub async fn list_clients(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<ClientLine>> {
    sqlx::query_as(LIST_CLIENTS).fetch_all(db).await
}

/// A line of `onefold client keys`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct KeyLine {
    /// The key's [id](ApiKeyHash::id).
    pub id: String,
    /// What it is good for.
    #[sqlx(try_from = "Option<Vec<String>>")]
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<DateTime<Utc>>,
}

const LIST_KEYS: &str = "
    SELECT encode(substring(key_sha256 FROM 1 FOR 6), 'hex') AS id,
           scopes,
           created_at,
           revoked_at
    FROM api_keys
    WHERE client_id = $1
    ORDER BY created_at, key_sha256";

/// The keys of a client, the oldest first.
pub async fn list_keys(db: impl PgExecutor<'_>, id: ClientId) -> sqlx::Result<Vec<KeyLine>> {
    sqlx::query_as(LIST_KEYS).bind(id).fetch_all(db).await
}

const REVOKE_KEYS: &str = "
    UPDATE api_keys
    SET revoked_at = $2
    WHERE client_id = $1
      AND revoked_at IS NULL";

/// Revokes every key of a client; answers how many were good until now.
pub async fn revoke_keys(db: impl PgExecutor<'_>, id: ClientId, now: DateTime<Utc>) -> sqlx::Result<u64> {
    Ok(sqlx::query(REVOKE_KEYS).bind(id).bind(now).execute(db).await?.rows_affected())
}

const REVOKE_KEY: &str = "
    UPDATE api_keys
    SET revoked_at = $3
    WHERE client_id = $1
      AND encode(substring(key_sha256 FROM 1 FOR 6), 'hex') = $2
      AND revoked_at IS NULL";

/// Revokes the key of a client that has this [id](ApiKeyHash::id); answers whether it was good until now.
pub async fn revoke_key(
    db: impl PgExecutor<'_>,
    client_id: ClientId,
    key_id: &str,
    now: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(REVOKE_KEY).bind(client_id).bind(key_id).bind(now).execute(db).await?;
    Ok(done.rows_affected() > 0)
}
