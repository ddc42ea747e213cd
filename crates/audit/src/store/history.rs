//! Reading what became of orders and holds: versions, and events.

use std::borrow::Cow;

use serde::Deserialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::figure::Figure;
use crate::row::{Event, OrderNow, OrderState, OrderVersion, Particulars, Row, Standing};
use crate::vocabulary::Code;

use super::text::Text;

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
    SELECT v.client_id, v.order_id, v.version, v.what, v.idempotency_key, v.status, v.captured_amount, v.refunded_amount,
           v.created_at,
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
        idempotency_key: row.try_get("idempotency_key")?,
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

/// Only orders and holds are looked into. What an event of an order tells of is looked up for each row, like the version before
/// a version. What it tells is read here, once, and not by the database, which would read all of it for every part.
pub(super) const EVENTS: &str = "
    SELECT e.client_id, e.event_id, e.event_type, e.aggregate_type, e.aggregate_id, e.sequence, e.occurred_at,
           CASE WHEN e.aggregate_type IN ('order', 'hold') THEN e.data::text END AS data,
           o.client_order_no, o.account_id, o.currency, o.amount,
           v.status AS version_status, v.captured_amount AS version_captured_amount,
           v.refunded_amount AS version_refunded_amount,
           b.status AS before_status, b.captured_amount AS before_captured_amount,
           b.refunded_amount AS before_refunded_amount
    FROM outbox_events e
    LEFT JOIN LATERAL (
        SELECT n.client_order_no, n.account_id, n.currency, n.amount
        FROM orders n
        WHERE e.aggregate_type = 'order'
          AND n.client_id = e.client_id
          AND n.order_id = e.aggregate_id
        LIMIT 1
    ) o ON TRUE
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
    let data: Option<&str> = row.try_get("data")?;
    // What cannot be read tells nothing.
    let told: Option<Told<'_>> = data.and_then(|data| serde_json::from_str(data).ok());
    Ok(Row::Event(Event {
        client_id: row.try_get("client_id")?,
        event_id: row.try_get("event_id")?,
        event_type: row.try_get("event_type")?,
        aggregate_type: row.try_get("aggregate_type")?,
        aggregate_id: row.try_get("aggregate_id")?,
        sequence: row.try_get("sequence")?,
        occurred_at: row.try_get("occurred_at")?,
        told: told.as_ref().and_then(|told| {
            standing(told.status.as_ref(), told.captured_amount.as_ref(), told.refunded_amount.as_ref())
        }),
        told_before: told.as_ref().and_then(|told| {
            let before = told.previous.as_ref()?;
            standing(before.status.as_ref(), before.captured_amount.as_ref(), before.refunded_amount.as_ref())
        }),
        particulars: told.as_ref().and_then(Told::particulars),
        order: order_of(row)?,
        version: kept(row, ["version_status", "version_captured_amount", "version_refunded_amount"])?,
        version_before: kept(row, ["before_status", "before_captured_amount", "before_refunded_amount"])?,
    }))
}

/// What the order says of itself, if there is one.
fn order_of(row: &PgRow) -> sqlx::Result<Option<Particulars<'_>>> {
    let name: Option<&str> = row.try_get("client_order_no")?;
    let Some(name) = name else { return Ok(None) };
    Ok(Some(Particulars {
        name: name.into(),
        account_id: row.try_get("account_id")?,
        currency: Code::of(row.try_get("currency")?),
        amount: row.try_get("amount")?,
    }))
}

/// What an event of an order or a hold tells.
#[derive(Deserialize)]
struct Told<'d> {
    #[serde(borrow)]
    client_order_no: Option<Text<'d>>,
    #[serde(borrow)]
    account_id: Option<Text<'d>>,
    #[serde(borrow)]
    currency: Option<Text<'d>>,
    #[serde(borrow)]
    amount: Option<Text<'d>>,
    #[serde(borrow)]
    captured_amount: Option<Text<'d>>,
    #[serde(borrow)]
    refunded_amount: Option<Text<'d>>,
    #[serde(borrow)]
    status: Option<Text<'d>>,
    #[serde(borrow)]
    previous: Option<ToldBefore<'d>>,
}

/// What an event of an order tells of the version before.
#[derive(Deserialize)]
struct ToldBefore<'d> {
    #[serde(borrow)]
    captured_amount: Option<Text<'d>>,
    #[serde(borrow)]
    refunded_amount: Option<Text<'d>>,
    #[serde(borrow)]
    status: Option<Text<'d>>,
}

impl<'d> Told<'d> {
    fn particulars(&self) -> Option<Particulars<'d>> {
        Some(Particulars {
            name: self.client_order_no.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
            account_id: self.account_id.as_ref()?.uuid()?,
            currency: self.currency.as_ref()?.code(),
            amount: self.amount.as_ref()?.figure(),
        })
    }
}

/// Where it says that something was. Its amounts are texts; what it says nothing of is nothing.
fn standing<'d>(
    status: Option<&Text<'d>>,
    captured: Option<&Text<'d>>,
    refunded: Option<&Text<'d>>,
) -> Option<Standing<'d>> {
    let figure = |text: Option<&Text<'_>>| text.map_or(Figure::ZERO, Text::figure);
    let status = match &status?.0 {
        Cow::Borrowed(status) => status,
        // No state has letters that need escaping.
        Cow::Owned(_) => "unknown",
    };
    Some(Standing { status, captured: figure(captured), refunded: figure(refunded) })
}
