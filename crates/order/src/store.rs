//! The SQL of the tables `orders`, `order_items`, `order_versions`, `refunds` and `refund_items`: that of `orders` here, of
//! the others in a file each.
//!
//! The desk reads the items of an order by a statement of their own, after the order: a row that was waited for is read
//! anew, and what is joined to it is not. Whoever only looks reads both in one.

pub mod items;
pub mod refunds;
pub mod versions;

use account::AccountId;
use account::store::{amount_from, column, currency_from, unreadable};
use client::ClientId;
use money::Amount;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use crate::{Order, OrderId, OrderItem, OrderStatus, PaymentMethod};

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("LOAD", LOAD),
    ("LOAD_LOCKED", LOAD_LOCKED),
    ("TAKEN", TAKEN),
    ("INSERT", INSERT),
    ("UPDATE", UPDATE),
    ("UNCHANGED", UNCHANGED),
    ("FIND", FIND),
    ("FIND_BY_NUMBER", FIND_BY_NUMBER),
    ("LIST", LIST),
];

/// Reads orders by id.
pub const LOAD: &str = "
    SELECT o.client_id, o.order_id, o.client_order_no, o.account_id, o.currency, o.amount, o.captured_amount,
           o.refunded_amount, o.payment_method, o.payment_no, o.status, o.expires_at, o.version, o.created_at,
           o.updated_at
    FROM unnest($1::uuid[], $2::uuid[]) AS n (client_id, order_id)
    JOIN orders o ON o.client_id = n.client_id AND o.order_id = n.order_id";

/// Reads orders by id and keeps others from changing them until the transaction ends. The rows are locked in the order
/// of their keys, so that two who lock several cannot wait for each other.
pub const LOAD_LOCKED: &str = "
    SELECT o.client_id, o.order_id, o.client_order_no, o.account_id, o.currency, o.amount, o.captured_amount,
           o.refunded_amount, o.payment_method, o.payment_no, o.status, o.expires_at, o.version, o.created_at,
           o.updated_at
    FROM orders o
    WHERE (o.client_id, o.order_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
    ORDER BY o.client_id, o.order_id
    FOR NO KEY UPDATE OF o";

/// Reads the orders of these names, those that are there, and then their items. Two round trips.
pub async fn load(
    connection: &mut PgConnection,
    orders: &[(ClientId, OrderId)],
    locked: bool,
) -> sqlx::Result<Vec<Order>> {
    let clients: Vec<Uuid> = orders.iter().map(|(client, _)| client.0).collect();
    let ids: Vec<Uuid> = orders.iter().map(|(_, order)| order.0).collect();
    let statement = if locked { LOAD_LOCKED } else { LOAD };
    let rows = sqlx::query(statement).bind(clients).bind(ids).fetch_all(&mut *connection).await?;
    let mut orders: Vec<Order> =
        rows.iter().map(|row| order_from(row, Vec::new())).collect::<sqlx::Result<_>>()?;
    if !orders.is_empty() {
        items::load_into(connection, &mut orders).await?;
    }
    Ok(orders)
}

/// Which of these order numbers are taken, by their places counted from 1, and by which order: `$1` and `$2`, see
/// [`bind_numbers`].
pub const TAKEN: &str = "
    SELECT n.position, o.order_id AS taken_by
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS n (client_id, client_order_no, position)
    JOIN orders o ON o.client_id = n.client_id AND o.client_order_no = n.client_order_no";

/// Binds [`TAKEN`]'s parameters.
pub fn bind_numbers(arguments: &mut PgArguments, numbers: &[(ClientId, String)]) -> Result<(), BoxDynError> {
    arguments.add(column(numbers, |(client, _)| client.0))?;
    arguments.add(column(numbers, |(_, number)| number.as_str()))?;
    Ok(())
}

/// Adds orders: `$1` to `$15`, see [`bind_inserts`]. Returns a row for each.
pub const INSERT: &str = "
    INSERT INTO orders (
        client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
        payment_method, payment_no, status, expires_at, version, created_at, updated_at
    )
    SELECT u.client_id, u.order_id, u.client_order_no, u.account_id, u.currency, u.amount, u.captured_amount,
           u.refunded_amount, u.payment_method, u.payment_no, u.status, u.expires_at, u.version, u.created_at,
           u.updated_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::numeric[], $7::numeric[], $8::numeric[],
        $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::bigint[], $14::timestamptz[],
        $15::timestamptz[]
    ) AS u (
        client_id, order_id, client_order_no, account_id, currency, amount, captured_amount, refunded_amount,
        payment_method, payment_no, status, expires_at, version, created_at, updated_at
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters. Sorted by client and number, so that two who add the same numbers do not wait
/// crosswise.
pub fn bind_inserts(arguments: &mut PgArguments, orders: &[Order]) -> Result<(), BoxDynError> {
    arguments.add(column(orders, |o| o.client_id.0))?;
    arguments.add(column(orders, |o| o.id.0))?;
    arguments.add(column(orders, |o| o.client_order_no.as_str()))?;
    arguments.add(column(orders, |o| o.account_id.0))?;
    arguments.add(column(orders, |o| o.amount.currency().code()))?;
    arguments.add(column(orders, |o| o.amount.to_decimal()))?;
    arguments.add(column(orders, |o| o.captured_amount.to_decimal()))?;
    arguments.add(column(orders, |o| o.refunded_amount.to_decimal()))?;
    arguments.add(column(orders, |o| o.payment_method.as_str()))?;
    arguments.add(column(orders, |o| o.payment_no.as_deref()))?;
    arguments.add(column(orders, |o| o.status.as_str()))?;
    arguments.add(column(orders, |o| o.expires_at))?;
    arguments.add(column(orders, |o| o.version))?;
    arguments.add(column(orders, |o| o.created_at))?;
    arguments.add(column(orders, |o| o.updated_at))?;
    Ok(())
}

/// Writes orders as they shall be, where they still have the version they were read with: `$1` to `$8`, see
/// [`bind_updates`]. One that another transaction has changed since is not returned.
pub const UPDATE: &str = "
    UPDATE orders o
    SET captured_amount = u.captured_amount,
        refunded_amount = u.refunded_amount,
        status = u.status,
        version = u.version,
        updated_at = u.updated_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::numeric[], $5::numeric[], $6::text[], $7::bigint[],
        $8::timestamptz[]
    ) AS u (client_id, order_id, version_read, captured_amount, refunded_amount, status, version, updated_at)
    WHERE o.client_id = u.client_id
      AND o.order_id = u.order_id
      AND o.version = u.version_read
    RETURNING 1";

/// Binds [`UPDATE`]'s parameters: orders as they shall be, each with the version it was read with, sorted by client and
/// order, for that is the order in which the rows are locked.
pub fn bind_updates(arguments: &mut PgArguments, changes: &[(&Order, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(changes, |(o, _)| o.client_id.0))?;
    arguments.add(column(changes, |(o, _)| o.id.0))?;
    arguments.add(column(changes, |(_, version_read)| *version_read))?;
    arguments.add(column(changes, |(o, _)| o.captured_amount.to_decimal()))?;
    arguments.add(column(changes, |(o, _)| o.refunded_amount.to_decimal()))?;
    arguments.add(column(changes, |(o, _)| o.status.as_str()))?;
    arguments.add(column(changes, |(o, _)| o.version))?;
    arguments.add(column(changes, |(o, _)| o.updated_at))?;
    Ok(())
}

/// Returns a row for each order that still has the version it was read with, and keeps it so until the transaction
/// ends: `$1` to `$3`, see [`bind_unchanged`]. For orders that a decision relied on and left alone.
pub const UNCHANGED: &str = "
    SELECT 1
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS u (client_id, order_id, version_read)
    JOIN orders o ON o.client_id = u.client_id AND o.order_id = u.order_id AND o.version = u.version_read
    FOR SHARE OF o";

/// Binds [`UNCHANGED`]'s parameters, sorted like the updates.
pub fn bind_unchanged(arguments: &mut PgArguments, orders: &[(&Order, i64)]) -> Result<(), BoxDynError> {
    arguments.add(column(orders, |(o, _)| o.client_id.0))?;
    arguments.add(column(orders, |(o, _)| o.id.0))?;
    arguments.add(column(orders, |(_, version_read)| *version_read))?;
    Ok(())
}

/// Orders with their items, a row each; what follows says which.
macro_rules! orders {
    ($which:literal) => {
        concat!(
            "
    SELECT o.client_id, o.order_id, o.client_order_no, o.account_id, o.currency, o.amount, o.captured_amount,
           o.refunded_amount, o.payment_method, o.payment_no, o.status, o.expires_at, o.version, o.created_at,
           o.updated_at, i.skus, i.quantities, i.prices, i.given_back
    FROM orders o
    LEFT JOIN LATERAL (
        SELECT array_agg(sku ORDER BY position) AS skus,
               array_agg(quantity ORDER BY position) AS quantities,
               array_agg(price ORDER BY position) AS prices,
               array_agg(given_back ORDER BY position) AS given_back
        FROM order_items
        WHERE client_id = o.client_id AND order_id = o.order_id
    ) i ON TRUE",
            $which
        )
    };
}

const FIND: &str = orders!(
    "
    WHERE o.client_id = $1
      AND o.order_id = $2"
);

/// One order of a client.
pub async fn find(db: impl PgExecutor<'_>, client: ClientId, id: OrderId) -> sqlx::Result<Option<Order>> {
    let row = sqlx::query(FIND).bind(client).bind(id.0).fetch_optional(db).await?;
    row.as_ref().map(order_with_items_from).transpose()
}

const FIND_BY_NUMBER: &str = orders!(
    "
    WHERE o.client_id = $1
      AND o.client_order_no = $2"
);

/// The order of a client that has this number.
pub async fn find_by_number(
    db: impl PgExecutor<'_>,
    client: ClientId,
    client_order_no: &str,
) -> sqlx::Result<Option<Order>> {
    let row = sqlx::query(FIND_BY_NUMBER).bind(client).bind(client_order_no).fetch_optional(db).await?;
    row.as_ref().map(order_with_items_from).transpose()
}

const LIST: &str = orders!(
    "
    WHERE o.client_id = $1
      AND o.order_id < $2
    ORDER BY o.order_id DESC
    LIMIT $3"
);

/// A client's orders, newest first, from the one before `before` (or the newest), `limit` at most.
pub async fn list(
    db: impl PgExecutor<'_>,
    client: ClientId,
    before: Option<OrderId>,
    limit: i64,
) -> sqlx::Result<Vec<Order>> {
    let before = before.map_or(Uuid::max(), |order| order.0);
    let rows = sqlx::query(LIST).bind(client).bind(before).bind(limit).fetch_all(db).await?;
    rows.iter().map(order_with_items_from).collect()
}

fn order_with_items_from(row: &PgRow) -> sqlx::Result<Order> {
    let currency = currency_from(row.try_get("currency")?)?;
    let items = items::items_from(row, currency)?;
    order_from(row, items)
}

fn order_from(row: &PgRow, items: Vec<OrderItem>) -> sqlx::Result<Order> {
    let currency = currency_from(row.try_get("currency")?)?;
    let amount = |column: &'static str| -> sqlx::Result<Amount> {
        amount_from(column, row.try_get(column)?, currency)
    };
    let status: &str = row.try_get("status")?;
    let method: &str = row.try_get("payment_method")?;
    Ok(Order {
        client_id: row.try_get("client_id")?,
        id: OrderId(row.try_get("order_id")?),
        client_order_no: row.try_get("client_order_no")?,
        account_id: AccountId(row.try_get("account_id")?),
        amount: amount("amount")?,
        captured_amount: amount("captured_amount")?,
        refunded_amount: amount("refunded_amount")?,
        items,
        payment_method: PaymentMethod::from_word(method)
            .ok_or_else(|| unreadable("payment_method", format!("unknown method {method:?}")))?,
        payment_no: row.try_get("payment_no")?,
        status: OrderStatus::from_word(status)
            .ok_or_else(|| unreadable("status", format!("unknown status {status:?}")))?,
        expires_at: row.try_get("expires_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
