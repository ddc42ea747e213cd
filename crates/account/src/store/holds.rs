//! The tables `holds` and `hold_captures`.

use client::ClientId;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{amount_from, currency_from, unreadable};
use crate::{AccountId, Hold, HoldCapture, HoldId, HoldPurpose, HoldStatus};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("TAKEN", TAKEN),
    ("CAPTURES_TAKEN", CAPTURES_TAKEN),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("INSERT_CAPTURES", INSERT_CAPTURES),
    ("FIND", FIND),
    ("LIST", LIST),
    ("CLIENTS_DUE", CLIENTS_DUE),
    ("DUE", DUE),
];

/// Reads holds by id.
pub const LOAD: &str = "
    SELECT h.client_id, h.hold_id, h.account_id, h.purpose, h.reference, h.currency, h.amount, h.captured, h.status,
           h.expires_at, h.version, h.created_at, h.updated_at
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, hold_id)
    JOIN holds h ON h.client_id = n.client_id AND h.hold_id = n.hold_id";

/// Reads holds by id and keeps others from changing them until the transaction ends. They are locked in the order of
/// their keys, and after the accounts.
pub const LOAD_LOCKED: &str = "
    SELECT h.client_id, h.hold_id, h.account_id, h.purpose, h.reference, h.currency, h.amount, h.captured, h.status,
           h.expires_at, h.version, h.created_at, h.updated_at
    FROM holds h
    WHERE (h.client_id, h.hold_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY h.client_id, h.hold_id
    FOR NO KEY UPDATE OF h";

/// Reads the holds of these names, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    holds: &[(ClientId, HoldId)],
    locked: bool,
) -> sqlx::Result<Vec<Hold>> {
    let clients: Vec<Uuid> = holds.iter().map(|(client, _)| client.0).collect();
    let ids: Vec<Uuid> = holds.iter().map(|(_, hold)| hold.0).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(ids).fetch_all(connection).await?;
    rows.iter().map(hold_from).collect()
}

/// Which of these references are taken, by their places counted from 1, and by which hold: `$1` and `$2`, see
/// [`bind_references`].
pub const TAKEN: &str = "
    SELECT n.position, h.hold_id AS taken_by
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS n (client_id, reference, position)
    JOIN holds h ON h.client_id = n.client_id AND h.reference = n.reference";

/// Binds [`TAKEN`]'s parameters.
pub fn bind_references(
    arguments: &mut PgArguments,
    references: &[(ClientId, String)],
) -> Result<(), BoxDynError> {
    arguments.add(column(references, |(client, _)| client.0))?;
    arguments.add(column(references, |(_, text)| text.as_str()))?;
    Ok(())
}

/// The business key of a capture.
pub type CaptureReference = (ClientId, HoldId, String);

/// Which of these references of captures are taken, by their places counted from 1, and by which journal row: `$1` to
/// `$3`, see [`bind_capture_references`].
pub const CAPTURES_TAKEN: &str = "
    SELECT n.position, c.entry_id AS taken_by
    FROM unnest($1::uuid[], $2::uuid[], $3::text[])
        WITH ORDINALITY AS n (client_id, hold_id, reference, position)
    JOIN hold_captures c
        ON c.client_id = n.client_id AND c.hold_id = n.hold_id AND c.reference = n.reference";

/// Binds [`CAPTURES_TAKEN`]'s parameters.
pub fn bind_capture_references(
    arguments: &mut PgArguments,
    references: &[CaptureReference],
) -> Result<(), BoxDynError> {
    arguments.add(column(references, |(client, _, _)| client.0))?;
    arguments.add(column(references, |(_, hold, _)| hold.0))?;
    arguments.add(column(references, |(_, _, text)| text.as_str()))?;
    Ok(())
}

/// Adds holds: `$1` to `$13`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO holds (
        client_id, hold_id, account_id, purpose, reference, currency, amount, captured, status, expires_at, version,
        created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[],
        $9::text[], $10::timestamptz[], $11::bigint[], $12::timestamptz[], $13::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by reference, like whatever has a unique key.
pub fn bind_inserts(arguments: &mut PgArguments, holds: &[Hold]) -> Result<(), BoxDynError> {
    arguments.add(column(holds, |h| h.client_id.0))?;
    arguments.add(column(holds, |h| h.id.0))?;
    arguments.add(column(holds, |h| h.account_id.0))?;
    arguments.add(column(holds, |h| purpose_word(&h.purpose)))?;
    arguments.add(column(holds, |h| match &h.purpose {
        HoldPurpose::Client { reference } => Some(reference.as_str()),
        HoldPurpose::Order => None,
    }))?;
    arguments.add(column(holds, |h| h.amount.currency().code()))?;
    arguments.add(column(holds, |h| h.amount.to_decimal()))?;
    arguments.add(column(holds, |h| h.captured.to_decimal()))?;
    arguments.add(column(holds, |h| h.status.as_str()))?;
    arguments.add(column(holds, |h| h.expires_at))?;
    arguments.add(column(holds, |h| h.version))?;
    arguments.add(column(holds, |h| h.created_at))?;
    arguments.add(column(holds, |h| h.updated_at))?;
    Ok(())
}

/// Writes holds as they shall be, where they still have the version they were read with: `$1` to `$7`, see
/// [`bind_updates`]. One that another transaction has changed since is not returned.
pub const UPDATE: &str = "
    UPDATE holds h
    SET captured = u.captured,
        status = u.status,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::numeric[], $5::text[], $6::bigint[], $7::timestamptz[]
    ) AS u (client_id, hold_id, version_read, captured, status, version, updated_at)
    WHERE h.client_id = u.client_id
      AND h.hold_id = u.hold_id
      AND h.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: holds as they shall be, with the versions they were read with, sorted by client and
/// id.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Hold, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(hold, _)| hold.client_id.0))?;
    arguments.add(column(changes, |(hold, _)| hold.id.0))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(hold, _)| hold.captured.to_decimal()))?;
    arguments.add(column(changes, |(hold, _)| hold.status.as_str()))?;
    arguments.add(column(changes, |(hold, _)| hold.version))?;
    arguments.add(column(changes, |(hold, _)| hold.updated_at))?;
    Ok(())
}

/// Returns a row for each hold that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$3`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS u (client_id, hold_id, version_read)
    JOIN holds h ON h.client_id = u.client_id AND h.hold_id = u.hold_id AND h.version = u.version_read
    FOR SHARE OF h";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, holds: &[(&Hold, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(holds, |(h, _)| h.client_id.0))?;
    arguments.add(column(holds, |(h, _)| h.id.0))?;
    arguments.add(column(holds, |(_, version_read)| *version_read))?;
    Ok(())
}

/// Adds captures: `$1` to `$7`, see [`bind_captures`].
pub const INSERT_CAPTURES: &str = "
    INSERT INTO hold_captures (client_id, hold_id, entry_id, reference, currency, amount, created_at)
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::numeric[], $7::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT_CAPTURES`]'s parameters.
pub fn bind_captures(arguments: &mut PgArguments, captures: &[HoldCapture]) -> Result<(), BoxDynError> {
    arguments.add(column(captures, |c| c.client_id.0))?;
    arguments.add(column(captures, |c| c.hold_id.0))?;
    arguments.add(column(captures, |c| c.entry_id.0))?;
    arguments.add(column(captures, |c| c.reference.as_deref()))?;
    arguments.add(column(captures, |c| c.amount.currency().code()))?;
    arguments.add(column(captures, |c| c.amount.to_decimal()))?;
    arguments.add(column(captures, |c| c.created_at))?;
    Ok(())
}

const FIND: &str = "
    SELECT client_id, hold_id, account_id, purpose, reference, currency, amount, captured, status, expires_at, version,
           created_at, updated_at
    FROM holds
    WHERE client_id = $1
      AND hold_id = $2";

/// One hold of a client.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, id: HoldId) -> sqlx::Result<Option<Hold>> {
    let row = sqlx::query(FIND).bind(client).bind(id.0).fetch_optional(db).await?;
    row.as_ref().map(hold_from).transpose()
}

const LIST: &str = "
    SELECT client_id, hold_id, account_id, purpose, reference, currency, amount, captured, status, expires_at, version,
           created_at, updated_at
    FROM holds
    WHERE client_id = $1
      AND account_id = $2
      AND hold_id < $3
    ORDER BY hold_id DESC
    LIMIT $4";

/// An account's holds, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    account: AccountId,
    before: Option<HoldId>,
    limit: i64,
) -> sqlx::Result<Vec<Hold>> {
    let before = before.map_or(Uuid::max(), |hold| hold.0);
    let rows = sqlx::query(LIST).bind(client).bind(account.0).bind(before).bind(limit).fetch_all(db).await?;
    rows.iter().map(hold_from).collect()
}

const CLIENTS_DUE: &str = "
    SELECT n.client_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT h.expires_at
        FROM holds h
        WHERE h.client_id = n.client_id
          AND h.status = 'active'
          AND h.expires_at IS NOT NULL
        ORDER BY h.expires_at
        LIMIT 1
    ) AS soonest
    WHERE soonest.expires_at <= $2";

/// Those of these clients that [`due`] finds something of: an entry of an index is read for each.
pub async fn clients_due(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    now: chrono::DateTime<chrono::Utc>,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_DUE).bind(clients).bind(now).fetch_all(db).await
}

/// Active holds of a client that are due, those due longest first. Holds that another server has in hand are passed
/// over; the locks end with the statement, and who is asked to expire a hold twice does it once.
const DUE: &str = "
    SELECT client_id, hold_id, account_id, purpose, reference, currency, amount, captured, status, expires_at, version,
           created_at, updated_at
    FROM holds
    WHERE client_id = $1
      AND status = 'active'
      AND expires_at <= $2
    ORDER BY expires_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED";

/// A client's holds that are due at `now`, `limit` at most.
pub async fn due(
    db: impl PgExecutor<'_>,
    client: ClientId,
    now: chrono::DateTime<chrono::Utc>,
    limit: i64,
) -> sqlx::Result<Vec<Hold>> {
    let rows = sqlx::query(DUE).bind(client).bind(now).bind(limit).fetch_all(db).await?;
    rows.iter().map(hold_from).collect()
}

fn column<'r, S, T>(rows: &'r [S], of: impl Fn(&'r S) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

fn purpose_word(purpose: &HoldPurpose) -> &'static str {
    match purpose {
        HoldPurpose::Client { .. } => "client",
        HoldPurpose::Order => "order",
    }
}

fn hold_from(row: &PgRow) -> sqlx::Result<Hold> {
    let currency = currency_from(row.try_get("currency")?)?;
    let amount = |column: &'static str| -> sqlx::Result<_> {
        let decimal: Decimal = row.try_get(column)?;
        amount_from(column, decimal, currency)
    };
    let (purpose, reference): (&str, Option<String>) = (row.try_get("purpose")?, row.try_get("reference")?);
    let status: &str = row.try_get("status")?;
    Ok(Hold {
        client_id: row.try_get("client_id")?,
        id: HoldId(row.try_get("hold_id")?),
        account_id: AccountId(row.try_get("account_id")?),
        purpose: match (purpose, reference) {
            ("client", Some(reference)) => HoldPurpose::Client { reference },
            ("order", None) => HoldPurpose::Order,
            _ => {
                return Err(unreadable(
                    "purpose",
                    format!("{purpose:?} does not fit the reference of its row"),
                ));
            }
        },
        amount: amount("amount")?,
        captured: amount("captured")?,
        status: HoldStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}")))?,
        expires_at: row.try_get("expires_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
