//! The table `order_items`.

use client::ClientId;
use money::Currency;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, Row};
use uuid::Uuid;

use super::{amount_from, column, unreadable};
use crate::{Order, OrderId, OrderItem};
use inventory::SkuCode;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("LOAD", LOAD), ("INSERT", INSERT), ("UPDATE", UPDATE)];

/// Reads the items of orders, in the order in which they were ordered.
pub const LOAD: &str = "
    SELECT i.client_id, i.order_id, i.sku, i.quantity, i.price, i.given_back
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, order_id)
    JOIN order_items i ON i.client_id = n.client_id AND i.order_id = n.order_id
    ORDER BY i.client_id, i.order_id, i.position";

/// Puts their items into orders that were read. One round trip.
pub async fn load_into(connection: &mut PgConnection, orders: &mut [Order]) -> sqlx::Result<()> {
    let clients: Vec<Uuid> = orders.iter().map(|order| order.client_id.0).collect();
    let ids: Vec<Uuid> = orders.iter().map(|order| order.id.0).collect();
    for row in sqlx::query(LOAD).bind(clients).bind(ids).fetch_all(connection).await? {
        let (client, id): (ClientId, Uuid) = (row.try_get("client_id")?, row.try_get("order_id")?);
        let order = orders.iter_mut().find(|order| (order.client_id, order.id) == (client, OrderId(id)));
        let Some(order) = order else { continue };
        let currency = order.amount.currency();
        order.items.push(OrderItem {
            sku: SkuCode(row.try_get("sku")?),
            quantity: count("quantity", row.try_get("quantity")?)?,
            price: amount_from("price", row.try_get("price")?, currency)?,
            given_back: count("given_back", row.try_get("given_back")?)?,
        });
    }
    Ok(())
}

/// An item with its order and its place there: a row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemRow {
    client: ClientId,
    order: OrderId,
    position: i32,
    item: OrderItem,
}

/// The rows of an order's items.
pub fn rows_of(order: &Order) -> impl Iterator<Item = ItemRow> {
    (0..).zip(&order.items).map(|(position, item)| ItemRow {
        client: order.client_id,
        order: order.id,
        position,
        item: item.clone(),
    })
}

/// The rows of those items that a refund has given back, at least in part.
pub fn rows_given_back(order: &Order) -> impl Iterator<Item = ItemRow> {
    rows_of(order).filter(|row| row.item.given_back > 0)
}

/// Adds items: `$1` to `$7`, see [`bind_inserts`].
pub const INSERT: &str = "
    INSERT INTO order_items (client_id, order_id, position, sku, quantity, price, given_back)
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::integer[], $4::text[], $5::bigint[], $6::numeric[], $7::bigint[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, rows: &[ItemRow]) -> Result<(), BoxDynError> {
    arguments.add(column(rows, |r| r.client.0))?;
    arguments.add(column(rows, |r| r.order.0))?;
    arguments.add(column(rows, |r| r.position))?;
    arguments.add(column(rows, |r| r.item.sku.0.as_str()))?;
    arguments.add(column(rows, |r| pieces(r.item.quantity)))?;
    arguments.add(column(rows, |r| r.item.price.to_decimal()))?;
    arguments.add(column(rows, |r| pieces(r.item.given_back)))?;
    Ok(())
}

/// Writes how much of items was given back: `$1` to `$4`, see [`bind_updates`]. Their order is written in the same
/// transaction, under its version, which guards them.
pub const UPDATE: &str = "
    UPDATE order_items i
    SET given_back = u.given_back
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) AS u (client_id, order_id, sku, given_back)
    WHERE i.client_id = u.client_id
      AND i.order_id = u.order_id
      AND i.sku = u.sku
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters.
pub fn bind_updates(arguments: &mut PgArguments, rows: &[ItemRow]) -> Result<(), BoxDynError> {
    arguments.add(column(rows, |r| r.client.0))?;
    arguments.add(column(rows, |r| r.order.0))?;
    arguments.add(column(rows, |r| r.item.sku.0.as_str()))?;
    arguments.add(column(rows, |r| pieces(r.item.given_back)))?;
    Ok(())
}

/// The items that an order's row was read with, as arrays.
pub(super) fn items_from(row: &PgRow, currency: Currency) -> sqlx::Result<Vec<OrderItem>> {
    let Some(skus) = row.try_get::<Option<Vec<String>>, _>("skus")? else { return Ok(Vec::new()) };
    let quantities: Vec<i64> = row.try_get("quantities")?;
    let prices: Vec<Decimal> = row.try_get("prices")?;
    let given_back: Vec<i64> = row.try_get("given_back")?;
    skus.into_iter()
        .zip(quantities)
        .zip(prices.into_iter().zip(given_back))
        .map(|((sku, quantity), (price, given_back))| {
            Ok(OrderItem {
                sku: SkuCode(sku),
                quantity: count("quantities", quantity)?,
                price: amount_from("prices", price, currency)?,
                given_back: count("given_back", given_back)?,
            })
        })
        .collect()
}

/// A count as its column holds it. It is below [`inventory::TOTAL_MAX`].
pub(super) fn pieces(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn count(column: &'static str, count: i64) -> sqlx::Result<u64> {
    u64::try_from(count).map_err(|fault| unreadable(column, fault))
}
