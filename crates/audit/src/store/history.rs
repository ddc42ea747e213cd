//! Reading the versions of orders.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{OrderNow, OrderState, OrderVersion, Row};

/// When the migration that keeps versions was applied, by the clock of the database.
pub(super) const HISTORY_KEPT: &str = "
    SELECT installed_on
    FROM _sqlx_migrations
    WHERE version = 21";

pub(super) fn history_kept(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::HistoryKept(row.try_get("installed_on")?))
}

/// The order and the delivery are found by their keys.
pub(super) const ORDER_VERSIONS: &str = "
    SELECT v.client_id, v.order_id, v.version, v.what, v.status, v.captured_amount, v.refunded_amount, v.created_at,
           v.delivery_id IS NULL OR d.delivery_id IS NOT NULL AS delivery_is_there,
           o.version AS order_version, o.status AS order_status, o.captured_amount AS order_captured_amount,
           o.refunded_amount AS order_refunded_amount, o.created_at AS order_created_at, o.updated_at AS order_updated_at
    FROM order_versions v
    LEFT JOIN orders o ON o.client_id = v.client_id
                      AND o.order_id = v.order_id
    LEFT JOIN callback_deliveries d ON d.client_id = v.client_id
                                   AND d.delivery_id = v.delivery_id";

pub(super) fn order_version(row: &PgRow) -> sqlx::Result<Row<'_>> {
    let order_version: Option<i64> = row.try_get("order_version")?;
    let order = match order_version {
        None => None,
        Some(version) => Some(OrderNow {
            created_at: row.try_get("order_created_at")?,
            version,
            state: OrderState {
                status: row.try_get("order_status")?,
                captured_amount: row.try_get("order_captured_amount")?,
                refunded_amount: row.try_get("order_refunded_amount")?,
                at: row.try_get("order_updated_at")?,
            },
        }),
    };
    Ok(Row::OrderVersion(OrderVersion {
        client_id: row.try_get("client_id")?,
        order_id: row.try_get("order_id")?,
        version: row.try_get("version")?,
        what: row.try_get("what")?,
        state: OrderState {
            status: row.try_get("status")?,
            captured_amount: row.try_get("captured_amount")?,
            refunded_amount: row.try_get("refunded_amount")?,
            at: row.try_get("created_at")?,
        },
        delivery_is_there: row.try_get("delivery_is_there")?,
        order,
    }))
}
