//! The table `accounts`.

use client::ClientId;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{amount_from, column, currency_from, unreadable};
use crate::{Account, AccountId, AccountStatus};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("FIND", FIND),
    ("LIST", LIST),
];

/// Reads accounts by id.
pub const LOAD: &str = "
    SELECT a.client_id, a.account_id, a.owner, a.currency, a.status, a.available, a.held, a.version, a.created_at
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, account_id)
    JOIN accounts a ON a.client_id = n.client_id AND a.account_id = n.account_id";

/// Reads accounts by id and keeps others from changing them until the transaction ends. The rows are locked in
/// the order of their keys, so that two who lock several cannot wait for each other.
pub const LOAD_LOCKED: &str = "
    SELECT a.client_id, a.account_id, a.owner, a.currency, a.status, a.available, a.held, a.version, a.created_at
    FROM accounts a
    WHERE (a.client_id, a.account_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY a.client_id, a.account_id
    FOR NO KEY UPDATE OF a";

/// Reads the accounts of these names, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    accounts: &[(ClientId, AccountId)],
    locked: bool,
) -> sqlx::Result<Vec<Account>> {
    let clients: Vec<Uuid> = accounts.iter().map(|(client, _)| client.0).collect();
    let ids: Vec<Uuid> = accounts.iter().map(|(_, account)| account.0).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(ids).fetch_all(connection).await?;
    rows.iter().map(account_from).collect()
}

/// Adds accounts: `$1` to `$9`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO accounts (client_id, account_id, owner, currency, status, available, held, version, created_at)
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::numeric[], $8::bigint[],
        $9::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, accounts: &[Account]) -> Result<(), BoxDynError> {
    arguments.add(column(accounts, |a| a.client_id.0))?;
    arguments.add(column(accounts, |a| a.id.0))?;
    arguments.add(column(accounts, |a| a.owner.as_str()))?;
    arguments.add(column(accounts, |a| a.currency.code()))?;
    arguments.add(column(accounts, |a| a.status.as_str()))?;
    arguments.add(column(accounts, |a| a.available.to_decimal()))?;
    arguments.add(column(accounts, |a| a.held.to_decimal()))?;
    arguments.add(column(accounts, |a| a.version))?;
    arguments.add(column(accounts, |a| a.created_at))?;
    Ok(())
}

/// Writes accounts as they shall be, where they still have the version they were read with: `$1` to `$7`, see
/// [`bind_updates`]. One that another transaction has changed since is not returned.
pub const UPDATE: &str = "
    UPDATE accounts a
    SET status = u.status,
        available = u.available,
        held = u.held,
        version = u.version
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::numeric[], $6::numeric[], $7::bigint[]
    ) AS u (client_id, account_id, version_read, status, available, held, version)
    WHERE a.client_id = u.client_id
      AND a.account_id = u.account_id
      AND a.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: accounts as they shall be, each with the version it was read with, sorted by client
/// and account, for that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Account, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(a, _)| a.client_id.0))?;
    arguments.add(column(changes, |(a, _)| a.id.0))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(a, _)| a.status.as_str()))?;
    arguments.add(column(changes, |(a, _)| a.available.to_decimal()))?;
    arguments.add(column(changes, |(a, _)| a.held.to_decimal()))?;
    arguments.add(column(changes, |(a, _)| a.version))?;
    Ok(())
}

/// Returns a row for each account that still has the version it was read with, and keeps it so until the
/// transaction ends: `$1` to `$3`, see [`bind_unchanged`]. For accounts that a decision relied on and left alone.
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS u (client_id, account_id, version_read)
    JOIN accounts a ON a.client_id = u.client_id AND a.account_id = u.account_id AND a.version = u.version_read
    FOR SHARE OF a";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, accounts: &[(&Account, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(accounts, |(a, _)| a.client_id.0))?;
    arguments.add(column(accounts, |(a, _)| a.id.0))?;
    arguments.add(column(accounts, |(_, version_read)| *version_read))?;
    Ok(())
}

const FIND: &str = "
    SELECT client_id, account_id, owner, currency, status, available, held, version, created_at
    FROM accounts
    WHERE client_id = $1
      AND account_id = $2";

/// One account of a client.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, id: AccountId) -> sqlx::Result<Option<Account>> {
    let row = sqlx::query(FIND).bind(client).bind(id.0).fetch_optional(db).await?;
    row.as_ref().map(account_from).transpose()
}

const LIST: &str = "
    SELECT client_id, account_id, owner, currency, status, available, held, version, created_at
    FROM accounts
    WHERE client_id = $1
      AND account_id < $2
    ORDER BY account_id DESC
    LIMIT $3";

/// A client's accounts, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    before: Option<AccountId>,
    limit: i64,
) -> sqlx::Result<Vec<Account>> {
    let before = before.map_or(Uuid::max(), |account| account.0);
    let rows = sqlx::query(LIST).bind(client).bind(before).bind(limit).fetch_all(db).await?;
    rows.iter().map(account_from).collect()
}

fn account_from(row: &PgRow) -> sqlx::Result<Account> {
    let currency = currency_from(row.try_get("currency")?)?;
    let amount = |column: &'static str| -> sqlx::Result<_> {
        let decimal: Decimal = row.try_get(column)?;
        amount_from(column, decimal, currency)
    };
    let status: &str = row.try_get("status")?;
    Ok(Account {
        client_id: row.try_get("client_id")?,
        id: AccountId(row.try_get("account_id")?),
        owner: row.try_get("owner")?,
        currency,
        status: AccountStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}")))?,
        available: amount("available")?,
        held: amount("held")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
    })
}
