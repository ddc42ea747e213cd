//! Reading what became of orders and holds: versions, and events.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::figure::Figure;
use crate::row::{Event, OrderNow, OrderState, OrderVersion, Row, Standing};

/// When the migration that keeps versions was applied, by the clock of the database.
pub(super) const HISTORY_KEPT: &str = "
    SELECT installed_on
    FROM _sqlx_migrations
    WHERE version = 21";

pub(super) fn history_kept(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::HistoryKept(row.try_get("installed_on")?))
}

/// The version before, the order and the delivery are found by their keys. With its limit, which is never reached, the
/// version before is looked up for each row: a planner that believes the table small would else read it side by side, by
/// the client alone.
pub(super) const ORDER_VERSIONS: &str = "
    SELECT v.client_id, v.order_id, v.version, v.what, v.status, v.captured_amount, v.refunded_amount, v.created_at,
           b.status AS before_status, b.captured_amount AS before_captured_amount,
           b.refunded_amount AS before_refunded_amount,
           v.delivery_id IS NULL OR d.delivery_id IS NOT NULL AS delivery_is_there,
           o.version AS order_version, o.payment_method, o.amount, o.status AS order_status,
           o.captured_amount AS order_captured_amount, o.refunded_amount AS order_refunded_amount,
           o.created_at AS order_created_at, o.updated_at AS order_updated_at
    FROM order_versions v
    LEFT JOIN LATERAL (
        SELECT n.status, n.captured_amount, n.refunded_amount
        FROM order_versions n
        WHERE n.client_id = v.client_id
          AND n.order_id = v.order_id
          AND n.version = v.version - 1
        LIMIT 1
    ) b ON TRUE
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
            payment_method: row.try_get("payment_method")?,
            amount: row.try_get("amount")?,
            version,
            state: OrderState {
                standing: Standing {
                    status: row.try_get("order_status")?,
                    captured: row.try_get("order_captured_amount")?,
                    refunded: row.try_get("order_refunded_amount")?,
                },
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
            standing: Standing {
                status: row.try_get("status")?,
                captured: row.try_get("captured_amount")?,
                refunded: row.try_get("refunded_amount")?,
            },
            at: row.try_get("created_at")?,
        },
        before: kept(row, ["before_status", "before_captured_amount", "before_refunded_amount"])?,
        delivery_is_there: row.try_get("delivery_is_there")?,
        order,
    }))
}

/// What a row that was joined says, if there is one.
fn kept<'r>(row: &'r PgRow, [status, captured, refunded]: [&str; 3]) -> sqlx::Result<Option<Standing<'r>>> {
    let status: Option<&str> = row.try_get(status)?;
    let Some(status) = status else { return Ok(None) };
    Ok(Some(Standing { status, captured: row.try_get(captured)?, refunded: row.try_get(refunded)? }))
}

/// Only orders and holds are looked into. The versions that an event of an order tells of are looked up for each row, like the
/// version before a version.
pub(super) const EVENTS: &str = "
    SELECT e.client_id, e.event_id, e.event_type, e.aggregate_type, e.aggregate_id, e.sequence, e.occurred_at,
           t.status, t.captured_amount, t.refunded_amount,
           t.previous ->> 'status' AS previous_status,
           t.previous ->> 'captured_amount' AS previous_captured_amount,
           t.previous ->> 'refunded_amount' AS previous_refunded_amount,
           v.status AS version_status, v.captured_amount AS version_captured_amount,
           v.refunded_amount AS version_refunded_amount,
           b.status AS before_status, b.captured_amount AS before_captured_amount,
           b.refunded_amount AS before_refunded_amount
    FROM outbox_events e
    LEFT JOIN LATERAL (
        SELECT e.data ->> 'status' AS status,
               e.data ->> 'captured_amount' AS captured_amount,
               e.data ->> 'refunded_amount' AS refunded_amount,
               e.data -> 'previous' AS previous
        WHERE e.aggregate_type IN ('order', 'hold')
    ) t ON TRUE
    LEFT JOIN LATERAL (
        SELECT n.status, n.captured_amount, n.refunded_amount
        FROM order_versions n
        WHERE e.aggregate_type = 'order'
          AND n.client_id = e.client_id
          AND n.order_id = e.aggregate_id
          AND n.version = e.sequence
        LIMIT 1
    ) v ON TRUE
    LEFT JOIN LATERAL (
        SELECT n.status, n.captured_amount, n.refunded_amount
        FROM order_versions n
        WHERE e.aggregate_type = 'order'
          AND n.client_id = e.client_id
          AND n.order_id = e.aggregate_id
          AND n.version = e.sequence - 1
        LIMIT 1
    ) b ON TRUE";

pub(super) fn event(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Event(Event {
        client_id: row.try_get("client_id")?,
        event_id: row.try_get("event_id")?,
        event_type: row.try_get("event_type")?,
        aggregate_type: row.try_get("aggregate_type")?,
        aggregate_id: row.try_get("aggregate_id")?,
        sequence: row.try_get("sequence")?,
        occurred_at: row.try_get("occurred_at")?,
        told: told(row, ["status", "captured_amount", "refunded_amount"])?,
        told_before: told(row, ["previous_status", "previous_captured_amount", "previous_refunded_amount"])?,
        version: kept(row, ["version_status", "version_captured_amount", "version_refunded_amount"])?,
        version_before: kept(row, ["before_status", "before_captured_amount", "before_refunded_amount"])?,
    }))
}

/// What an event says, if it says something. Its amounts are texts; what it says nothing of is nothing.
fn told<'r>(row: &'r PgRow, [status, captured, refunded]: [&str; 3]) -> sqlx::Result<Option<Standing<'r>>> {
    let status: Option<&str> = row.try_get(status)?;
    let Some(status) = status else { return Ok(None) };
    let figure = |column: &str| -> sqlx::Result<Figure> {
        let text: Option<&str> = row.try_get(column)?;
        Ok(text.map_or(Figure::ZERO, Figure::from_text))
    };
    Ok(Some(Standing { status, captured: figure(captured)?, refunded: figure(refunded)? }))
}
