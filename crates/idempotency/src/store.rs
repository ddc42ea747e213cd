//! The SQL of the table `idempotency_records`, and of the advisory locks that make "in progress" visible.
//!
//! A name's lock is held by the transaction that runs it, from claim to commit, and lives nowhere else: it ends
//! with that transaction, however that ends.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgExecutor, Row};
use uuid::Uuid;

use crate::{Answer, Fingerprint, Key, Name, Record, RecordStatus, key};

/// What claiming a name found.
#[derive(Debug)]
pub struct Claim {
    /// Whether this transaction now holds the name's lock. If not, another one is running it.
    pub won: bool,
    /// The record, if one was committed before the statement began.
    ///
    /// `won` without a record is no proof that there is none: the other transaction may have committed between
    /// the statement's snapshot and the lock. Then the insert of the new record violates the primary key, and
    /// the transaction is to be begun anew.
    pub record: Option<Record>,
}

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("CLAIM", CLAIM),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("FIND", FIND),
    ("RUNNING", RUNNING),
    ("CLIENTS_WITH_EXPIRED", CLIENTS_WITH_EXPIRED),
    ("DELETE_EXPIRED", DELETE_EXPIRED),
];

/// One row for each name: try its lock for the transaction that is open, and read its record. `$1` to `$3`, see
/// [`bind_claims`].
pub const CLAIM: &str = "
    SELECT n.position,
           pg_try_advisory_xact_lock(n.lock_id) AS won,
           r.client_id,
           r.key,
           r.operation,
           r.fingerprint,
           r.fingerprint_version,
           r.status,
           r.attempts,
           r.resource,
           r.response_status,
           r.response_content_type,
           r.response_location,
           r.response_body,
           r.first_seen_at,
           r.completed_at,
           r.expires_at
    FROM unnest($1::uuid[], $2::text[], $3::bigint[]) WITH ORDINALITY AS n (client_id, key, lock_id, position)
    LEFT JOIN idempotency_records r ON r.client_id = n.client_id AND r.key = n.key";

/// Binds [`CLAIM`]'s parameters.
pub fn bind_claims(arguments: &mut PgArguments, names: &[&Name]) -> Result<(), BoxDynError> {
    arguments.add(names.iter().map(|name| name.client_id.0).collect::<Vec<Uuid>>())?;
    arguments.add(names.iter().map(|name| name.key.as_str()).collect::<Vec<&str>>())?;
    arguments.add(names.iter().map(|name| lock_id(name)).collect::<Vec<i64>>())?;
    Ok(())
}

/// The claims of so many names, in the order of the names, from the rows of [`CLAIM`].
pub fn claims_from(rows: &[PgRow], names: usize) -> sqlx::Result<Vec<Claim>> {
    let mut claims: Vec<Option<Claim>> = (0..names).map(|_| None).collect();
    for row in rows {
        let position: i64 = row.try_get("position")?;
        let known: Option<Uuid> = row.try_get("client_id")?;
        let record = known.map(|_| record_from(row)).transpose()?;
        let place = usize::try_from(position - 1).ok().and_then(|index| claims.get_mut(index));
        *place.ok_or(sqlx::Error::RowNotFound)? = Some(Claim { won: row.try_get("won")?, record });
    }
    claims.into_iter().map(|claim| claim.ok_or(sqlx::Error::RowNotFound)).collect()
}

/// The number under which a name is locked.
pub fn lock_id(name: &Name) -> i64 {
    key::lock_id(name.client_id.0, &name.key)
}

/// Adds records: `$1` to `$15`, see [`bind_inserts`]. A name that has a record already violates
/// `idempotency_records_pkey`.
pub const INSERT: &str = "
    INSERT INTO idempotency_records (
        client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
        response_status, response_content_type, response_location, response_body,
        first_seen_at, completed_at, expires_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::smallint[], $6::text[], $7::integer[], $8::text[],
        $9::smallint[], $10::text[], $11::text[], $12::bytea[],
        $13::timestamptz[], $14::timestamptz[], $15::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, records: &[Record]) -> Result<(), BoxDynError> {
    arguments.add(column(records, |r| r.name.client_id.0))?;
    arguments.add(column(records, |r| r.name.key.as_str()))?;
    arguments.add(column(records, |r| r.operation.as_str()))?;
    arguments.add(column(records, |r| r.fingerprint.digest().to_vec()))?;
    arguments.add(column(records, |r| r.fingerprint.version()))?;
    arguments.add(column(records, |r| r.status.as_str()))?;
    arguments.add(column(records, |r| r.attempts))?;
    arguments.add(column(records, |r| r.resource.as_deref()))?;
    bind_answers(arguments, records)?;
    arguments.add(column(records, |r| r.first_seen_at))?;
    arguments.add(column(records, |r| r.completed_at))?;
    arguments.add(column(records, |r| r.expires_at))?;
    Ok(())
}

/// Counts one more attempt at records that are `failed`, with its result: `$1` to `$11`, see [`bind_updates`].
///
/// The number of attempts guards the row as a version: a row that another transaction has changed or deleted
/// since it was read is not returned.
pub const UPDATE: &str = "
    UPDATE idempotency_records r
    SET status = u.status,
        attempts = u.attempts,
        resource = u.resource,
        response_status = u.response_status,
        response_content_type = u.response_content_type,
        response_location = u.response_location,
        response_body = u.response_body,
        completed_at = u.completed_at,
        expires_at = u.expires_at
    FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::integer[], $5::text[],
        $6::smallint[], $7::text[], $8::text[], $9::bytea[],
        $10::timestamptz[], $11::timestamptz[]
    ) AS u (
        client_id, key, status, attempts, resource,
        response_status, response_content_type, response_location, response_body,
        completed_at, expires_at
    )
    WHERE r.client_id = u.client_id
      AND r.key = u.key
      AND r.status = 'failed'
      AND r.attempts = u.attempts - 1
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters; each record carries the number of attempts that it shall have.
pub fn bind_updates(arguments: &mut PgArguments, records: &[Record]) -> Result<(), BoxDynError> {
    arguments.add(column(records, |r| r.name.client_id.0))?;
    arguments.add(column(records, |r| r.name.key.as_str()))?;
    arguments.add(column(records, |r| r.status.as_str()))?;
    arguments.add(column(records, |r| r.attempts))?;
    arguments.add(column(records, |r| r.resource.as_deref()))?;
    bind_answers(arguments, records)?;
    arguments.add(column(records, |r| r.completed_at))?;
    arguments.add(column(records, |r| r.expires_at))?;
    Ok(())
}

fn bind_answers(arguments: &mut PgArguments, records: &[Record]) -> Result<(), BoxDynError> {
    let statuses: Vec<i16> =
        records.iter().map(|r| i16::try_from(r.answer.status)).collect::<Result<_, _>>()?;
    arguments.add(statuses)?;
    arguments.add(column(records, |r| r.answer.content_type.as_ref()))?;
    arguments.add(column(records, |r| r.answer.location.as_deref()))?;
    arguments.add(column(records, |r| r.answer.body.as_ref()))?;
    Ok(())
}

fn column<'r, T>(records: &'r [Record], of: impl Fn(&'r Record) -> T) -> Vec<T> {
    records.iter().map(of).collect()
}

const FIND: &str = "
    SELECT client_id, key, operation, fingerprint, fingerprint_version, status, attempts, resource,
           response_status, response_content_type, response_location, response_body,
           first_seen_at, completed_at, expires_at
    FROM idempotency_records
    WHERE client_id = $1
      AND key = $2";

/// The record of a name.
pub async fn find(db: impl PgExecutor<'_>, name: &Name) -> sqlx::Result<Option<Record>> {
    let row = sqlx::query(FIND).bind(name.client_id).bind(name.key.as_str()).fetch_optional(db).await?;
    row.as_ref().map(record_from).transpose()
}

/// Which of these names some transaction is running, in this process or another.
///
/// It reads PostgreSQL's lock table instead of trying the locks: an attempt, even a short one, could make the
/// name look taken to the very request that is about to run it.
pub const RUNNING: &str = "
    SELECT n.position
    FROM unnest($1::bigint[]) WITH ORDINALITY AS n (lock_id, position)
    WHERE EXISTS (
        SELECT
        FROM pg_locks l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
          AND l.objsubid = 1
          AND l.granted
          AND (l.classid::bigint << 32 | l.objid::bigint) = n.lock_id
    )";

/// For each name, in order, whether a transaction holds its lock.
///
/// To learn whether a name is free, ask this *before* reading its record: a transaction that ends between the
/// two has its record seen.
pub async fn running(db: impl PgExecutor<'_>, names: &[Name]) -> sqlx::Result<Vec<bool>> {
    let locks: Vec<i64> = names.iter().map(lock_id).collect();
    let held: Vec<i64> = sqlx::query_scalar(RUNNING).bind(locks).fetch_all(db).await?;
    let mut running = vec![false; names.len()];
    for position in held {
        if let Some(place) = usize::try_from(position - 1).ok().and_then(|index| running.get_mut(index)) {
            *place = true;
        }
    }
    Ok(running)
}

const CLIENTS_WITH_EXPIRED: &str = "
    SELECT n.client_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT i.expires_at
        FROM idempotency_records i
        WHERE i.client_id = n.client_id
          AND i.expires_at IS NOT NULL
        ORDER BY i.expires_at
        LIMIT 1
    ) AS first
    WHERE first.expires_at <= $2";

/// Those of these clients that have records to be deleted: an entry of an index is read for each.
pub async fn clients_with_expired(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    now: DateTime<Utc>,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_WITH_EXPIRED).bind(clients).bind(now).fetch_all(db).await
}

/// Deletes some of a client's records that are past their retention. Rows that another cleaner has in hand are
/// passed over, so any number may work at once. They are chosen in an array, once: as a set after `IN` they may be
/// chosen anew for each row, and then the limit is none.
const DELETE_EXPIRED: &str = "
    DELETE FROM idempotency_records
    WHERE client_id = $1
      AND key = ANY (ARRAY(
          SELECT key
          FROM idempotency_records
          WHERE client_id = $1
            AND expires_at <= $2
          ORDER BY expires_at
          LIMIT $3
          FOR UPDATE SKIP LOCKED
      ))";

/// Deletes at most `limit` of the client's records that expired at `now` or before; answers how many.
pub async fn delete_expired(
    db: impl PgExecutor<'_>,
    client_id: ClientId,
    now: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query(DELETE_EXPIRED).bind(client_id).bind(now).bind(limit).execute(db).await?;
    Ok(done.rows_affected())
}

fn record_from(row: &PgRow) -> sqlx::Result<Record> {
    let unreadable = |column: &'static str, fault: BoxDynError| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: fault,
    };
    let key: &str = row.try_get("key")?;
    let status: &str = row.try_get("status")?;
    let response_status: i16 = row.try_get("response_status")?;
    let digest: &[u8] = row.try_get("fingerprint")?;
    let body: Vec<u8> = row.try_get("response_body")?;
    Ok(Record {
        name: Name {
            client_id: row.try_get("client_id")?,
            key: Key::from_stored(key).map_err(|fault| unreadable("key", fault.into()))?,
        },
        operation: row.try_get("operation")?,
        fingerprint: Fingerprint::from_stored(row.try_get("fingerprint_version")?, digest)
            .map_err(|fault| unreadable("fingerprint", fault.into()))?,
        status: RecordStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}").into()))?,
        attempts: row.try_get("attempts")?,
        resource: row.try_get("resource")?,
        answer: Answer {
            status: u16::try_from(response_status)
                .map_err(|fault| unreadable("response_status", fault.into()))?,
            content_type: Cow::Owned(row.try_get("response_content_type")?),
            location: row.try_get("response_location")?,
            body: body.into(),
        },
        first_seen_at: row.try_get("first_seen_at")?,
        completed_at: row.try_get("completed_at")?,
        expires_at: row.try_get("expires_at")?,
    })
}
