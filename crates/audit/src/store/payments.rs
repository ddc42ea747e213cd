//! Reading payments at providers.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{Alert, AskedRefund, Delivery, Funds, Payment, Receipt, Row};

/// Its order is found by its key.
pub(super) const PAYMENTS: &str = "
    SELECT p.client_id, p.payment_no, p.order_id, p.amount, p.currency, p.status, p.expires_at,
           o.status AS order_status, o.expires_at AS order_expires_at
    FROM payments p
    LEFT JOIN orders o ON o.client_id = p.client_id
                      AND o.order_id = p.order_id";

pub(super) fn payment(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Payment(Payment {
        client_id: row.try_get("client_id")?,
        payment_no: row.try_get("payment_no")?,
        order_id: row.try_get("order_id")?,
        amount: row.try_get("amount")?,
        currency: row.try_get("currency")?,
        status: row.try_get("status")?,
        expires_at: row.try_get("expires_at")?,
        order_status: row.try_get("order_status")?,
        order_expires_at: row.try_get("order_expires_at")?,
    }))
}

pub(super) const RECEIPTS: &str = "
    SELECT client_id, receipt_id, provider, state, currency, received, refunded, applied, owed, open_alert_id
    FROM payment_receipts";

pub(super) fn receipt(row: &PgRow) -> sqlx::Result<Row<'_>> {
    let currency: Option<&str> = row.try_get("currency")?;
    let funds = match currency {
        None => None,
        Some(currency) => Some(Funds {
            currency,
            received: row.try_get("received")?,
            refunded: row.try_get("refunded")?,
            applied: row.try_get("applied")?,
            owed: row.try_get("owed")?,
        }),
    };
    Ok(Row::Receipt(Receipt {
        client_id: row.try_get("client_id")?,
        receipt_id: row.try_get("receipt_id")?,
        provider: row.try_get("provider")?,
        state: row.try_get("state")?,
        funds,
        open_alert_id: row.try_get("open_alert_id")?,
    }))
}

pub(super) const ALERTS: &str = "
    SELECT client_id, alert_id, cause, receipt_id, status, resolved_by, resolved_at
    FROM payment_alerts";

pub(super) fn alert(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Alert(Alert {
        client_id: row.try_get("client_id")?,
        alert_id: row.try_get("alert_id")?,
        cause: row.try_get("cause")?,
        receipt_id: row.try_get("receipt_id")?,
        status: row.try_get("status")?,
        resolved_by: row.try_get("resolved_by")?,
        resolved_at: row.try_get("resolved_at")?,
    }))
}

/// Its payment is found by its key.
pub(super) const DELIVERIES: &str = "
    SELECT d.client_id, d.delivery_id, d.effect, d.received_at, p.status AS payment_status
    FROM callback_deliveries d
    LEFT JOIN payments p ON p.client_id = d.client_id
                        AND p.payment_no = d.payment_no";

pub(super) fn delivery(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Delivery(Delivery {
        client_id: row.try_get("client_id")?,
        delivery_id: row.try_get("delivery_id")?,
        effect: row.try_get("effect")?,
        payment_status: row.try_get("payment_status")?,
        received_at: row.try_get("received_at")?,
    }))
}

/// What must be there for a refund is found by its key: the receipt, the order, the alert about its failure. The refunds of
/// one receipt that are back are added up for each of them, for they are few. Alerts about a receipt have no key of
/// their own, and are looked for only where less was told of than must have been.
pub(super) const ASKED_REFUNDS: &str = "
    SELECT a.client_id, a.refund_id, a.order_id, o.status AS order_status, a.currency, a.amount, a.status, a.version,
           a.created_at,
           r.receipt_id IS NOT NULL AS has_receipt,
           s.back, r.refund_told,
           CASE WHEN a.status = 'succeeded' AND s.back > r.refund_told
                THEN NOT EXISTS (
                    SELECT
                    FROM payment_alerts l
                    WHERE l.client_id = a.client_id
                      AND l.receipt_id = r.receipt_id
                      AND l.kind = 'refund_mismatched'
                )
                ELSE FALSE
           END AS is_untold,
           EXISTS (
               SELECT
               FROM payment_alerts f
               WHERE f.client_id = a.client_id
                 AND f.kind = 'refund_attention'
                 AND f.cause = 'refund:' || a.refund_id
           ) AS failure_was_raised,
           a.items_back,
           a.items_back OR NOT EXISTS (
               SELECT
               FROM refund_items i
               JOIN order_items n ON n.client_id = i.client_id
                                 AND n.order_id = i.order_id
                                 AND n.sku = i.sku
               WHERE i.client_id = a.client_id
                 AND i.refund_id = a.refund_id
                 AND i.quantity > n.quantity - n.given_back
           ) AS has_items_left
    FROM asked_refunds a
    LEFT JOIN payment_receipts r ON r.client_id = a.client_id
                                AND r.provider = a.provider
                                AND r.provider_payment_id = a.provider_payment_id
                                AND r.currency = a.currency
    LEFT JOIN orders o ON o.client_id = a.client_id
                      AND o.order_id = a.order_id
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(b.amount), 0) AS back
        FROM asked_refunds b
        WHERE b.client_id = a.client_id
          AND b.provider = a.provider
          AND b.provider_payment_id = a.provider_payment_id
          AND b.status = 'succeeded'
    ) s";

pub(super) fn asked_refund(row: &PgRow) -> sqlx::Result<Row<'_>> {
    let untold = match row.try_get("is_untold")? {
        true => Some((row.try_get("back")?, row.try_get("refund_told")?)),
        false => None,
    };
    Ok(Row::AskedRefund(AskedRefund {
        client_id: row.try_get("client_id")?,
        refund_id: row.try_get("refund_id")?,
        order_id: row.try_get("order_id")?,
        order_status: row.try_get("order_status")?,
        currency: row.try_get("currency")?,
        amount: row.try_get("amount")?,
        status: row.try_get("status")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        has_receipt: row.try_get("has_receipt")?,
        untold,
        failure_was_raised: row.try_get("failure_was_raised")?,
        items_back: row.try_get("items_back")?,
        has_items_left: row.try_get("has_items_left")?,
    }))
}
