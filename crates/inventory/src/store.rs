//! The SQL of the table `skus`.
//!
//! The order of locks: skus are locked and written in the order of `(client_id, sku)`, everywhere, and after accounts,
//! holds and orders.

use client::ClientId;
use money::{Amount, Currency};
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use crate::{Sku, SkuCode, SkuId};

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

/// Reads skus by name.
pub const LOAD: &str = "
    SELECT s.client_id, s.sku, s.sku_id, s.currency, s.price, s.total, s.reserved, s.sold, s.version, s.created_at, s.updated_at
    FROM unnest($1::uuid[], $2::text[]) AS n (client_id, sku)
    JOIN skus s ON s.client_id = n.client_id AND s.sku = n.sku";

/// Reads skus by name and keeps others from changing them until the transaction ends, locked in the order of their
/// keys: the column orders by bytes, as the service does, whatever the database's locale.
pub const LOAD_LOCKED: &str = "
    SELECT s.client_id, s.sku, s.sku_id, s.currency, s.price, s.total, s.reserved, s.sold, s.version, s.created_at, s.updated_at
    FROM skus s
    WHERE (s.client_id, s.sku) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))
    ORDER BY s.client_id, s.sku
    FOR NO KEY UPDATE OF s";

/// Reads the skus of these names, those that are there. One round trip.
pub async fn load(
    connection: &mut PgConnection,
    skus: &[(ClientId, SkuCode)],
    locked: bool,
) -> sqlx::Result<Vec<Sku>> {
    let clients: Vec<Uuid> = skus.iter().map(|(client, _)| client.0).collect();
    let codes: Vec<&str> = skus.iter().map(|(_, code)| code.0.as_str()).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(codes).fetch_all(connection).await?;
    rows.iter().map(sku_from).collect()
}

/// Adds skus: `$1` to `$11`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO skus (
        client_id, sku, sku_id, currency, price, total, reserved, sold, version, created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::numeric[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::timestamptz[], $11::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters, sorted by name.
pub fn bind_inserts(arguments: &mut PgArguments, skus: &[Sku]) -> Result<(), BoxDynError> {
    arguments.add(column(skus, |s| s.client_id.0))?;
    arguments.add(column(skus, |s| s.code.0.as_str()))?;
    arguments.add(column(skus, |s| s.id.0))?;
    arguments.add(column(skus, |s| s.price.currency().code()))?;
    arguments.add(column(skus, |s| s.price.to_decimal()))?;
    arguments.add(column(skus, |s| pieces(s.total)))?;
    arguments.add(column(skus, |s| pieces(s.reserved)))?;
    arguments.add(column(skus, |s| pieces(s.sold)))?;
    arguments.add(column(skus, |s| s.version))?;
    arguments.add(column(skus, |s| s.created_at))?;
    arguments.add(column(skus, |s| s.updated_at))?;
    Ok(())
}

/// Writes skus as they shall be, where they still have the version they were read with: `$1` to `$10`, see
/// [`bind_updates`]. One that another transaction has changed since is not returned.
pub const UPDATE: &str = "
    UPDATE skus s
    SET currency = u.currency,
        price = u.price,
        total = u.total,
        reserved = u.reserved,
        sold = u.sold,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::numeric[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::timestamptz[]
    ) AS u (client_id, sku, version_read, currency, price, total, reserved, sold, version, updated_at)
    WHERE s.client_id = u.client_id
      AND s.sku = u.sku
      AND s.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: skus as they shall be, with the versions they were read with, sorted by client and
/// name.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Sku, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(sku, _)| sku.client_id.0))?;
    arguments.add(column(changes, |(sku, _)| sku.code.0.as_str()))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(sku, _)| sku.price.currency().code()))?;
    arguments.add(column(changes, |(sku, _)| sku.price.to_decimal()))?;
    arguments.add(column(changes, |(sku, _)| pieces(sku.total)))?;
    arguments.add(column(changes, |(sku, _)| pieces(sku.reserved)))?;
    arguments.add(column(changes, |(sku, _)| pieces(sku.sold)))?;
    arguments.add(column(changes, |(sku, _)| sku.version))?;
    arguments.add(column(changes, |(sku, _)| sku.updated_at))?;
    Ok(())
}

/// Returns a row for each sku that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$3`, see [`bind_unchanged`].
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS u (client_id, sku, version_read)
    JOIN skus s ON s.client_id = u.client_id AND s.sku = u.sku AND s.version = u.version_read
    FOR SHARE OF s";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, skus: &[(&Sku, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(skus, |(s, _)| s.client_id.0))?;
    arguments.add(column(skus, |(s, _)| s.code.0.as_str()))?;
    arguments.add(column(skus, |(_, version_read)| *version_read))?;
    Ok(())
}

const FIND: &str = "
    SELECT client_id, sku, sku_id, currency, price, total, reserved, sold, version, created_at, updated_at
    FROM skus
    WHERE client_id = $1
      AND sku = $2";

/// One sku of a client.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, code: &SkuCode) -> sqlx::Result<Option<Sku>> {
    let row = sqlx::query(FIND).bind(client).bind(&code.0).fetch_optional(db).await?;
    row.as_ref().map(sku_from).transpose()
}

const LIST: &str = "
    SELECT client_id, sku, sku_id, currency, price, total, reserved, sold, version, created_at, updated_at
    FROM skus
    WHERE client_id = $1
      AND sku_id < $2
    ORDER BY sku_id DESC
    LIMIT $3";

/// A client's skus, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    before: Option<SkuId>,
    limit: i64,
) -> sqlx::Result<Vec<Sku>> {
    let before = before.map_or(Uuid::max(), |sku| sku.0);
    let rows = sqlx::query(LIST).bind(client).bind(before).bind(limit).fetch_all(db).await?;
    rows.iter().map(sku_from).collect()
}

fn column<'r, S, T>(rows: &'r [S], of: impl Fn(&'r S) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

/// A count as its column holds it. It is below [`crate::TOTAL_MAX`].
fn pieces(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn sku_from(row: &PgRow) -> sqlx::Result<Sku> {
    let currency =
        Currency::from_code(row.try_get("currency")?).map_err(|fault| unreadable("currency", fault))?;
    let price: Decimal = row.try_get("price")?;
    let count = |column: &'static str| -> sqlx::Result<u64> {
        u64::try_from(row.try_get::<i64, _>(column)?).map_err(|fault| unreadable(column, fault))
    };
    Ok(Sku {
        client_id: row.try_get("client_id")?,
        id: SkuId(row.try_get("sku_id")?),
        code: SkuCode(row.try_get("sku")?),
        price: Amount::from_decimal(price, currency).map_err(|fault| unreadable("price", fault))?,
        total: count("total")?,
        reserved: count("reserved")?,
        sold: count("sold")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

fn unreadable(column: &'static str, fault: impl Into<BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: fault.into() }
}
