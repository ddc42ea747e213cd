//! The tables `callback_deliveries` and `quarantined_bodies`.

use account::store::{column, unreadable};
use chrono::{DateTime, Utc};
use client::ClientId;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use crate::{
    Decision, DeliveryFingerprint, DeliveryId, DeliveryKey, DeliveryRecord, KnownDelivery, QuarantinedBody,
};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("KNOWN", KNOWN),
    ("INSERT", INSERT),
    ("OF_PAYMENT", OF_PAYMENT),
    ("FIND", FIND),
    ("INSERT_BODIES", INSERT_BODIES),
    ("CLIENTS_WITH_BODIES_DUE", CLIENTS_WITH_BODIES_DUE),
    ("DELETE_BODIES_DUE", DELETE_BODIES_DUE),
];

/// Which of these deliveries were dealt with, and what they meant.
pub const KNOWN: &str = "
    SELECT d.client_id, d.endpoint, d.delivery_key, d.delivery_id, d.fingerprint, d.decision
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS n (client_id, endpoint, delivery_key)
    JOIN callback_deliveries d ON d.client_id = n.client_id
                              AND d.endpoint = n.endpoint
                              AND d.delivery_key = n.delivery_key";

/// Those of these deliveries that were dealt with. One round trip.
pub async fn known(
    connection: &mut PgConnection,
    keys: &[DeliveryKey],
) -> sqlx::Result<Vec<(DeliveryKey, KnownDelivery)>> {
    let clients: Vec<Uuid> = keys.iter().map(|(client, _, _)| client.0).collect();
    let endpoints: Vec<&str> = keys.iter().map(|(_, endpoint, _)| endpoint.as_str()).collect();
    let names: Vec<&str> = keys.iter().map(|(_, _, name)| name.as_str()).collect();
    let rows = sqlx::query(KNOWN).bind(clients).bind(endpoints).bind(names).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            let fingerprint: &[u8] = row.try_get("fingerprint")?;
            let fingerprint = DeliveryFingerprint(
                fingerprint.try_into().map_err(|fault| unreadable("fingerprint", fault))?,
            );
            let key = (row.try_get("client_id")?, row.try_get("endpoint")?, row.try_get("delivery_key")?);
            let decision: &str = row.try_get("decision")?;
            let known = KnownDelivery {
                id: DeliveryId(row.try_get("delivery_id")?),
                fingerprint,
                was_passed_over: Decision::PASSING_OVER.iter().any(|one| one.word() == decision),
            };
            Ok((key, known))
        })
        .collect()
}

/// Adds deliveries: `$1` to `$12`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO callback_deliveries (
        client_id, endpoint, delivery_key, delivery_id, fingerprint, provider, event_type, decision, effect, payment_no,
        provider_payment_id, received_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::bytea[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::text[], $12::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by key, so that two who add the same ones do not wait crosswise.
pub fn bind_inserts(arguments: &mut PgArguments, deliveries: &[DeliveryRecord]) -> Result<(), BoxDynError> {
    arguments.add(column(deliveries, |d| d.client_id.0))?;
    arguments.add(column(deliveries, |d| d.endpoint.as_str()))?;
    arguments.add(column(deliveries, |d| d.delivery_key.as_str()))?;
    arguments.add(column(deliveries, |d| d.id.0))?;
    arguments.add(column(deliveries, |d| d.fingerprint.0.as_slice()))?;
    arguments.add(column(deliveries, |d| d.provider.word()))?;
    arguments.add(column(deliveries, |d| d.event_type.as_str()))?;
    arguments.add(column(deliveries, |d| d.decision.word()))?;
    arguments.add(column(deliveries, |d| d.effect.as_str()))?;
    arguments.add(column(deliveries, |d| d.payment_no.as_deref()))?;
    arguments.add(column(deliveries, |d| d.provider_payment_id.as_deref()))?;
    arguments.add(column(deliveries, |d| d.received_at))?;
    Ok(())
}

/// A delivery as it is told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryLine {
    /// The endpoint that it came to.
    pub endpoint: String,
    /// The provider's name for it.
    pub delivery_key: String,
    /// The provider's word for what happened.
    pub event_type: String,
    /// What it asked for, seen alone.
    pub decision: String,
    /// What it did.
    pub effect: String,
    /// When it was dealt with.
    pub received_at: DateTime<Utc>,
}

/// What booked something is named by its journal rows, however much came after it.
const OF_PAYMENT: &str = "
    SELECT endpoint, delivery_key, event_type, decision, effect, received_at
    FROM callback_deliveries
    WHERE client_id = $1
      AND delivery_id = ANY (ARRAY(
          (
              SELECT delivery_id
              FROM callback_deliveries
              WHERE client_id = $1
                AND payment_no = $2
              ORDER BY delivery_id DESC
              LIMIT $3
          )
          UNION
          (
              SELECT delivery_id
              FROM callback_deliveries
              WHERE client_id = $1
                AND payment_no = $2
                AND effect <> 'none'
              ORDER BY delivery_id DESC
              LIMIT $3
          )
          UNION
          SELECT delivery_id
          FROM journal_entries
          WHERE client_id = $1
            AND receipt_id = ANY ($4)
            AND delivery_id IS NOT NULL
      ))
    ORDER BY delivery_id DESC";

/// The deliveries that spoke of a payment's number, newest first: the newest `limit`, the newest `limit` of those that had
/// an effect, and each that booked something for one of these receipts.
pub async fn of_payment(
    db: impl PgExecutor<'_>,
    client: ClientId,
    payment_no: &str,
    receipts: &[Uuid],
    limit: i64,
) -> sqlx::Result<Vec<DeliveryLine>> {
    let rows = sqlx::query(OF_PAYMENT)
        .bind(client)
        .bind(payment_no)
        .bind(limit)
        .bind(receipts)
        .fetch_all(db)
        .await?;
    rows.iter().map(line_from).collect()
}

/// A delivery with its bytes, if these are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryFile {
    /// The delivery.
    pub line: DeliveryLine,
    /// Our id of it.
    pub delivery_id: DeliveryId,
    /// The provider.
    pub provider: String,
    /// Our number of the payment that it spoke of.
    pub payment_no: Option<String>,
    /// The money's identity at the provider.
    pub provider_payment_id: Option<String>,
    /// The exact bytes of its body, and when they are deleted.
    pub body: Option<(Vec<u8>, DateTime<Utc>)>,
}

/// A body is kept under the provider's name of the delivery; a delivery that is recorded beside another of that name has
/// something of ours behind it, after a space, which is in no provider's name.
const FIND: &str = "
    SELECT d.delivery_id, d.endpoint, d.delivery_key, d.provider, d.event_type, d.decision, d.effect, d.payment_no,
           d.provider_payment_id, d.received_at, b.body, b.delete_at
    FROM callback_deliveries d
    LEFT JOIN quarantined_bodies b ON b.client_id = d.client_id
                                  AND b.endpoint = d.endpoint
                                  AND b.delivery_key = split_part(d.delivery_key, ' ', 1)
                                  AND b.received_at = d.received_at
    WHERE d.client_id = $1
      AND d.endpoint = $2
      AND d.delivery_key = $3
    LIMIT 1";

/// The delivery of a name that came to an endpoint, with its bytes if they are kept.
pub async fn find(
    db: impl PgExecutor<'_>,
    client: ClientId,
    endpoint: &str,
    delivery_key: &str,
) -> sqlx::Result<Option<DeliveryFile>> {
    let row = sqlx::query(FIND).bind(client).bind(endpoint).bind(delivery_key).fetch_optional(db).await?;
    let Some(row) = row else { return Ok(None) };
    let body: Option<Vec<u8>> = row.try_get("body")?;
    let delete_at: Option<DateTime<Utc>> = row.try_get("delete_at")?;
    Ok(Some(DeliveryFile {
        line: line_from(&row)?,
        delivery_id: DeliveryId(row.try_get("delivery_id")?),
        provider: row.try_get("provider")?,
        payment_no: row.try_get("payment_no")?,
        provider_payment_id: row.try_get("provider_payment_id")?,
        body: body.zip(delete_at),
    }))
}

fn line_from(row: &PgRow) -> sqlx::Result<DeliveryLine> {
    Ok(DeliveryLine {
        endpoint: row.try_get("endpoint")?,
        delivery_key: row.try_get("delivery_key")?,
        event_type: row.try_get("event_type")?,
        decision: row.try_get("decision")?,
        effect: row.try_get("effect")?,
        received_at: row.try_get("received_at")?,
    })
}

/// Adds bodies: `$1` to `$7`, see [`bind_bodies`].
pub const INSERT_BODIES: &str = "
    INSERT INTO quarantined_bodies (client_id, body_id, endpoint, delivery_key, body, received_at, delete_at)
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::timestamptz[], $7::timestamptz[])
    RETURNING 1";

/// Binds [`INSERT_BODIES`]'s parameters.
pub fn bind_bodies(arguments: &mut PgArguments, bodies: &[QuarantinedBody]) -> Result<(), BoxDynError> {
    arguments.add(column(bodies, |b| b.client_id.0))?;
    arguments.add(column(bodies, |b| b.id))?;
    arguments.add(column(bodies, |b| b.endpoint.as_str()))?;
    arguments.add(column(bodies, |b| b.delivery_key.as_str()))?;
    arguments.add(column(bodies, |b| b.body.as_slice()))?;
    arguments.add(column(bodies, |b| b.received_at))?;
    arguments.add(column(bodies, |b| b.delete_at))?;
    Ok(())
}

const CLIENTS_WITH_BODIES_DUE: &str = "
    SELECT n.client_id
    FROM unnest($1::uuid[]) AS n (client_id)
    CROSS JOIN LATERAL (
        SELECT b.delete_at
        FROM quarantined_bodies b
        WHERE b.client_id = n.client_id
        ORDER BY b.delete_at
        LIMIT 1
    ) AS first
    WHERE first.delete_at <= $2";

/// Those of these clients that have bodies to be deleted: an entry of an index is read for each.
pub async fn clients_with_bodies_due(
    db: impl PgExecutor<'_>,
    clients: &[ClientId],
    now: DateTime<Utc>,
) -> sqlx::Result<Vec<ClientId>> {
    sqlx::query_scalar(CLIENTS_WITH_BODIES_DUE).bind(clients).bind(now).fetch_all(db).await
}

/// The rows are chosen in an array, once: as a set after `IN` they may be chosen anew for each row.
const DELETE_BODIES_DUE: &str = "
    DELETE FROM quarantined_bodies
    WHERE client_id = $1
      AND body_id = ANY (ARRAY(
          SELECT body_id
          FROM quarantined_bodies
          WHERE client_id = $1
            AND delete_at <= $2
          ORDER BY delete_at
          LIMIT $3
      ))";

/// Deletes a client's bodies that have been kept long enough, `limit` at most; answers how many.
pub async fn delete_bodies_due(
    db: impl PgExecutor<'_>,
    client: ClientId,
    now: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query(DELETE_BODIES_DUE).bind(client).bind(now).bind(limit).execute(db).await?;
    Ok(done.rows_affected())
}
