//! The tables `refunds` and `refund_items`.

use account::AccountId;
use client::ClientId;
use inventory::SkuCode;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgExecutor, Row};
use uuid::Uuid;

use super::items::{count, pieces};
use super::{amount_from, column, currency_from, unreadable};
use crate::{ItemWanted, OrderId, Refund, RefundId, RefundStatus};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] =
    &[("TAKEN", TAKEN), ("INSERT", INSERT), ("INSERT_ITEMS", INSERT_ITEMS), ("LOAD", LOAD), ("LIST", LIST)];

/// Which of these references are taken, by their places counted from 1, and by which refund: `$1` and `$2`, see
/// [`bind_references`].
pub const TAKEN: &str = "
    SELECT n.position, r.refund_id AS taken_by
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS n (client_id, reference, position)
    JOIN refunds r ON r.client_id = n.client_id AND r.reference = n.reference";

/// Binds [`TAKEN`]'s parameters.
pub fn bind_references(
    arguments: &mut PgArguments,
    references: &[(ClientId, String)],
) -> Result<(), BoxDynError> {
    arguments.add(column(references, |(client, _)| client.0))?;
    arguments.add(column(references, |(_, text)| text.as_str()))?;
    Ok(())
}

/// Adds refunds: `$1` to `$11`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO refunds (
        client_id, refund_id, order_id, account_id, reference, currency, amount, status, version, created_at, updated_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::numeric[], $8::text[],
        $9::bigint[], $10::timestamptz[], $11::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters, sorted by reference.
pub fn bind_inserts(arguments: &mut PgArguments, refunds: &[Refund]) -> Result<(), BoxDynError> {
    arguments.add(column(refunds, |r| r.client_id.0))?;
    arguments.add(column(refunds, |r| r.id.0))?;
    arguments.add(column(refunds, |r| r.order_id.0))?;
    arguments.add(column(refunds, |r| r.account_id.0))?;
    arguments.add(column(refunds, |r| r.reference.as_str()))?;
    arguments.add(column(refunds, |r| r.amount.currency().code()))?;
    arguments.add(column(refunds, |r| r.amount.to_decimal()))?;
    arguments.add(column(refunds, |r| r.status.as_str()))?;
    arguments.add(column(refunds, |r| r.version))?;
    arguments.add(column(refunds, |r| r.created_at))?;
    arguments.add(column(refunds, |r| r.updated_at))?;
    Ok(())
}

/// Adds the items of refunds: `$1` to `$5`, see [`bind_items`].
pub const INSERT_ITEMS: &str = "
    INSERT INTO refund_items (client_id, refund_id, order_id, sku, quantity)
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[])
    RETURNING 1";

/// An item of a refund: a row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefundItemRow {
    client: ClientId,
    refund: RefundId,
    order: OrderId,
    item: ItemWanted,
}

/// The rows of a refund's items.
pub fn item_rows_of(refund: &Refund) -> impl Iterator<Item = RefundItemRow> {
    refund.items.iter().map(|item| RefundItemRow {
        client: refund.client_id,
        refund: refund.id,
        order: refund.order_id,
        item: item.clone(),
    })
}

/// Binds [`INSERT_ITEMS`]'s parameters.
pub fn bind_items(arguments: &mut PgArguments, rows: &[RefundItemRow]) -> Result<(), BoxDynError> {
    arguments.add(column(rows, |r| r.client.0))?;
    arguments.add(column(rows, |r| r.refund.0))?;
    arguments.add(column(rows, |r| r.order.0))?;
    arguments.add(column(rows, |r| r.item.sku.0.as_str()))?;
    arguments.add(column(rows, |r| pieces(r.item.quantity)))?;
    Ok(())
}

/// Reads refunds by id.
pub const LOAD: &str = "
    SELECT r.client_id, r.refund_id, r.order_id, r.account_id, r.reference, r.currency, r.amount, r.status, r.version,
           r.created_at, r.updated_at, i.skus, i.quantities
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, refund_id)
    JOIN refunds r ON r.client_id = n.client_id AND r.refund_id = n.refund_id
    LEFT JOIN LATERAL (
        SELECT array_agg(sku ORDER BY sku) AS skus, array_agg(quantity ORDER BY sku) AS quantities
        FROM refund_items
        WHERE client_id = r.client_id AND refund_id = r.refund_id
    ) i ON TRUE";

/// Reads the refunds of these names, those that are there. They are never changed. One round trip.
pub async fn load(db: impl PgExecutor<'_>, refunds: &[(ClientId, RefundId)]) -> sqlx::Result<Vec<Refund>> {
    let clients: Vec<Uuid> = refunds.iter().map(|(client, _)| client.0).collect();
    let ids: Vec<Uuid> = refunds.iter().map(|(_, refund)| refund.0).collect();
    let rows = sqlx::query(LOAD).bind(clients).bind(ids).fetch_all(db).await?;
    rows.iter().map(refund_from).collect()
}

/// One refund of a client.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, id: RefundId) -> sqlx::Result<Option<Refund>> {
    Ok(load(db, &[(client, id)]).await?.pop())
}

const LIST: &str = "
    SELECT r.client_id, r.refund_id, r.order_id, r.account_id, r.reference, r.currency, r.amount, r.status, r.version,
           r.created_at, r.updated_at, i.skus, i.quantities
    FROM refunds r
    LEFT JOIN LATERAL (
        SELECT array_agg(sku ORDER BY sku) AS skus, array_agg(quantity ORDER BY sku) AS quantities
        FROM refund_items
        WHERE client_id = r.client_id AND refund_id = r.refund_id
    ) i ON TRUE
    WHERE r.client_id = $1
      AND r.order_id = $2
      AND r.refund_id < $3
    ORDER BY r.refund_id DESC
    LIMIT $4";

/// An order's refunds, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    order: OrderId,
    before: Option<RefundId>,
    limit: i64,
) -> sqlx::Result<Vec<Refund>> {
    let before = before.map_or(Uuid::max(), |refund| refund.0);
    let rows = sqlx::query(LIST).bind(client).bind(order.0).bind(before).bind(limit).fetch_all(db).await?;
    rows.iter().map(refund_from).collect()
}

fn refund_from(row: &PgRow) -> sqlx::Result<Refund> {
    let status: &str = row.try_get("status")?;
    let skus: Vec<String> = row.try_get::<Option<_>, _>("skus")?.unwrap_or_default();
    let quantities: Vec<i64> = row.try_get::<Option<_>, _>("quantities")?.unwrap_or_default();
    let items = skus.into_iter().zip(quantities).map(|(sku, quantity)| {
        Ok(ItemWanted { sku: SkuCode(sku), quantity: count("quantities", quantity)? })
    });
    Ok(Refund {
        client_id: row.try_get("client_id")?,
        id: RefundId(row.try_get("refund_id")?),
        order_id: OrderId(row.try_get("order_id")?),
        account_id: AccountId(row.try_get("account_id")?),
        reference: row.try_get("reference")?,
        amount: amount_from("amount", row.try_get("amount")?, currency_from(row.try_get("currency")?)?)?,
        items: items.collect::<sqlx::Result<_>>()?,
        status: RefundStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}")))?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
