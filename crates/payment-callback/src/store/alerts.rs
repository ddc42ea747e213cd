//! The table `payment_alerts`.

use account::store::column;
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::{optional, optional_amount, provider, word};
use crate::{Alert, AlertAction, AlertCause, AlertId, AlertKind, ReceiptId, Resolution};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("CAUSES_KNOWN", CAUSES_KNOWN),
    ("RAISED_BY", RAISED_BY),
    ("FIND", FIND),
    ("LIST", LIST),
    ("OPEN_BY_KIND", OPEN_BY_KIND),
];

/// Reads alerts by id.
pub const LOAD: &str = "
    SELECT a.client_id, a.alert_id, a.kind, a.cause, a.payment_no, a.provider, a.provider_payment_id, a.receipt_id,
           a.expected_amount, a.expected_currency, a.received_amount, a.received_currency, a.detail, a.status, a.action,
           a.resolved_by, a.resolved_at, a.note, a.version, a.created_at
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, alert_id)
    JOIN payment_alerts a ON a.client_id = n.client_id AND a.alert_id = n.alert_id";

/// Reads alerts and keeps others from changing them until the transaction ends, locked in the order of their keys.
pub const LOAD_LOCKED: &str = "
    SELECT a.client_id, a.alert_id, a.kind, a.cause, a.payment_no, a.provider, a.provider_payment_id, a.receipt_id,
           a.expected_amount, a.expected_currency, a.received_amount, a.received_currency, a.detail, a.status, a.action,
           a.resolved_by, a.resolved_at, a.note, a.version, a.created_at
    FROM payment_alerts a
    WHERE (a.client_id, a.alert_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY a.client_id, a.alert_id
    FOR NO KEY UPDATE OF a";

/// Reads the alerts of these ids, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    alerts: &[(ClientId, AlertId)],
    locked: bool,
) -> sqlx::Result<Vec<Alert>> {
    let clients: Vec<Uuid> = alerts.iter().map(|(client, _)| client.0).collect();
    let ids: Vec<Uuid> = alerts.iter().map(|(_, alert)| alert.0).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(ids).fetch_all(connection).await?;
    rows.iter().map(alert_from).collect()
}

/// Adds alerts: `$1` to `$20`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO payment_alerts (
        client_id, alert_id, kind, cause, payment_no, provider, provider_payment_id, receipt_id, expected_amount,
        expected_currency, received_amount, received_currency, detail, version, created_at, status, action, resolved_by,
        resolved_at, note
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::numeric[],
        $10::text[], $11::numeric[], $12::text[], $13::text[], $14::bigint[], $15::timestamptz[], $16::text[],
        $17::text[], $18::text[], $19::timestamptz[], $20::text[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by client, kind and cause, so that two who add the same ones do not wait
/// crosswise.
pub fn bind_inserts(arguments: &mut PgArguments, alerts: &[Alert]) -> Result<(), BoxDynError> {
    arguments.add(column(alerts, |a| a.client_id.0))?;
    arguments.add(column(alerts, |a| a.id.0))?;
    arguments.add(column(alerts, |a| a.kind.as_str()))?;
    arguments.add(column(alerts, |a| a.cause.as_str()))?;
    arguments.add(column(alerts, |a| a.payment_no.as_deref()))?;
    arguments.add(column(alerts, |a| a.provider.word()))?;
    arguments.add(column(alerts, |a| a.provider_payment_id.as_deref()))?;
    arguments.add(column(alerts, |a| a.receipt_id.map(|receipt| receipt.0)))?;
    arguments.add(column(alerts, |a| a.expected.map(|amount| amount.to_decimal())))?;
    arguments.add(column(alerts, |a| a.expected.map(|amount| amount.currency().code())))?;
    arguments.add(column(alerts, |a| a.received.map(|amount| amount.to_decimal())))?;
    arguments.add(column(alerts, |a| a.received.map(|amount| amount.currency().code())))?;
    arguments.add(column(alerts, |a| a.detail.as_deref()))?;
    arguments.add(column(alerts, |a| a.version))?;
    arguments.add(column(alerts, |a| a.created_at))?;
    bind_resolutions(arguments, alerts, |alert| alert)
}

/// Status, action, resolved_by, resolved_at, note.
fn bind_resolutions<'r, S>(
    arguments: &mut PgArguments,
    rows: &'r [S],
    alert: impl Fn(&'r S) -> &'r Alert,
) -> Result<(), BoxDynError> {
    let resolution = |row| alert(row).resolution.as_ref();
    arguments.add(column(rows, |row| alert(row).status()))?;
    arguments.add(column(rows, |row| resolution(row).map(|resolution| resolution.action.as_str())))?;
    arguments.add(column(rows, |row| resolution(row).map(|resolution| resolution.by.as_str())))?;
    arguments.add(column(rows, |row| resolution(row).map(|resolution| resolution.at)))?;
    arguments.add(column(rows, |row| resolution(row).map(|resolution| resolution.note.as_str())))?;
    Ok(())
}

/// Writes how alerts ended, where they still have the version they were read with: `$1` to `$9`, see [`bind_updates`].
pub const UPDATE: &str = "
    UPDATE payment_alerts a
    SET status = u.status,
        action = u.action,
        resolved_by = u.resolved_by,
        resolved_at = u.resolved_at,
        note = u.note,
        version = u.version
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
        $9::text[]
    ) AS u (client_id, alert_id, version_read, version, status, action, resolved_by, resolved_at, note)
    WHERE a.client_id = u.client_id
      AND a.alert_id = u.alert_id
      AND a.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: alerts as they shall be, each with the version it was read with, sorted by client and
/// alert, for that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Alert, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(a, _)| a.client_id.0))?;
    arguments.add(column(changes, |(a, _)| a.id.0))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(a, _)| a.version))?;
    bind_resolutions(arguments, changes, |(alert, _)| alert)
}

/// Returns a row for each alert that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$3`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS u (client_id, alert_id, version_read)
    JOIN payment_alerts a ON a.client_id = u.client_id AND a.alert_id = u.alert_id AND a.version = u.version_read
    FOR SHARE OF a";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, alerts: &[(&Alert, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(alerts, |(a, _)| a.client_id.0))?;
    arguments.add(column(alerts, |(a, _)| a.id.0))?;
    arguments.add(column(alerts, |(_, version_read)| *version_read))?;
    Ok(())
}

/// Which causes have raised their alert.
pub const CAUSES_KNOWN: &str = "
    SELECT a.client_id, a.kind, a.cause
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, kind, cause)
    JOIN payment_alerts a ON a.client_id = n.client_id AND a.kind = n.kind AND a.cause = n.cause
    WHERE a.cause IS NOT NULL";

/// Which of these causes have raised their alert. One round trip.
pub async fn causes_known(
    connection: &mut PgConnection,
    causes: &[AlertCause],
) -> sqlx::Result<Vec<AlertCause>> {
    let clients: Vec<Uuid> = causes.iter().map(|(client, _, _)| client.0).collect();
    let kinds: Vec<&str> = causes.iter().map(|(_, kind, _)| kind.as_str()).collect();
    let texts: Vec<&str> = causes.iter().map(|(_, _, cause)| cause.as_str()).collect();
    let rows = sqlx::query(CAUSES_KNOWN).bind(clients).bind(kinds).bind(texts).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            let kind = word(row, "kind", AlertKind::from_word)?;
            Ok((row.try_get("client_id")?, kind, row.try_get("cause")?))
        })
        .collect()
}

/// The alerts that these causes have raised.
pub const RAISED_BY: &str = "
    SELECT a.client_id, a.alert_id
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, kind, cause)
    JOIN payment_alerts a ON a.client_id = n.client_id AND a.kind = n.kind AND a.cause = n.cause
    WHERE a.cause IS NOT NULL";

/// The alerts that these causes have raised, open or not. One round trip.
pub async fn raised_by(
    connection: &mut PgConnection,
    causes: &[AlertCause],
) -> sqlx::Result<Vec<(ClientId, AlertId)>> {
    let clients: Vec<Uuid> = causes.iter().map(|(client, _, _)| client.0).collect();
    let kinds: Vec<&str> = causes.iter().map(|(_, kind, _)| kind.as_str()).collect();
    let texts: Vec<&str> = causes.iter().map(|(_, _, cause)| cause.as_str()).collect();
    let rows = sqlx::query(RAISED_BY).bind(clients).bind(kinds).bind(texts).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get("client_id")?, AlertId(row.try_get("alert_id")?)))).collect()
}

const FIND: &str = "
    SELECT client_id, alert_id, kind, cause, payment_no, provider, provider_payment_id, receipt_id, expected_amount,
           expected_currency, received_amount, received_currency, detail, status, action, resolved_by, resolved_at, note,
           version, created_at
    FROM payment_alerts
    WHERE client_id = $1
      AND alert_id = $2";

/// The client's alert of this id.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, alert: AlertId) -> sqlx::Result<Option<Alert>> {
    sqlx::query(FIND)
        .bind(client)
        .bind(alert.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(alert_from)
        .transpose()
}

const LIST: &str = "
    SELECT client_id, alert_id, kind, cause, payment_no, provider, provider_payment_id, receipt_id, expected_amount,
           expected_currency, received_amount, received_currency, detail, status, action, resolved_by, resolved_at, note,
           version, created_at
    FROM payment_alerts
    WHERE client_id = $1
      AND alert_id < $2
      AND ($3::text IS NULL OR status = $3)
      AND ($4::text IS NULL OR kind = $4)
      AND ($5::text IS NULL OR payment_no = $5)
    ORDER BY alert_id DESC
    LIMIT $6";

/// Which alerts of a client are listed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Only those that are open, or only those that are resolved.
    pub is_open: Option<bool>,
    /// Only those of a kind.
    pub kind: Option<AlertKind>,
    /// Only those about a payment of this number.
    pub payment_no: Option<String>,
}

/// A client's alerts, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    selection: &Selection,
    before: Option<AlertId>,
    limit: i64,
) -> sqlx::Result<Vec<Alert>> {
    let status = selection.is_open.map(|is_open| if is_open { "open" } else { "resolved" });
    let rows = sqlx::query(LIST)
        .bind(client)
        .bind(before.map_or(Uuid::max(), |alert| alert.0))
        .bind(status)
        .bind(selection.kind.map(AlertKind::as_str))
        .bind(selection.payment_no.as_deref())
        .bind(limit)
        .fetch_all(db)
        .await?;
    rows.iter().map(alert_from).collect()
}

const OPEN_BY_KIND: &str = "
    SELECT kind, count(*) AS open
    FROM payment_alerts
    WHERE client_id = ANY($1::uuid[])
      AND status = 'open'
    GROUP BY kind";

/// How many alerts of these clients are open, of each kind that has any.
pub async fn open_by_kind(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
) -> sqlx::Result<Vec<(AlertKind, i64)>> {
    let rows = sqlx::query(OPEN_BY_KIND).bind(clients).fetch_all(db).await?;
    rows.iter().map(|row| Ok((word(row, "kind", AlertKind::from_word)?, row.try_get("open")?))).collect()
}

fn alert_from(row: &PgRow) -> sqlx::Result<Alert> {
    let status: &str = row.try_get("status")?;
    let resolution = match status {
        "open" => None,
        _ => Some(Resolution {
            action: word(row, "action", AlertAction::from_word)?,
            by: row.try_get("resolved_by")?,
            at: row.try_get("resolved_at")?,
            note: row.try_get("note")?,
        }),
    };
    Ok(Alert {
        client_id: row.try_get("client_id")?,
        id: AlertId(row.try_get("alert_id")?),
        kind: word(row, "kind", AlertKind::from_word)?,
        cause: row.try_get("cause")?,
        payment_no: row.try_get("payment_no")?,
        provider: provider(row, "provider")?,
        provider_payment_id: row.try_get("provider_payment_id")?,
        receipt_id: optional(row, "receipt_id")?.map(ReceiptId),
        expected: optional_amount(row, "expected_amount", "expected_currency")?,
        received: optional_amount(row, "received_amount", "received_currency")?,
        detail: row.try_get("detail")?,
        resolution,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
    })
}
