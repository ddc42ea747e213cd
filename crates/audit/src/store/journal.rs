//! Reading the journal, and what collects.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{After, Asked, CollectingAccount, Entry, Row, Side, Total};

pub(super) const COLLECTING_ACCOUNTS: &str = "
    SELECT client_id, account_id, name, currency
    FROM collecting_accounts";

pub(super) fn collecting_account(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::CollectingAccount(CollectingAccount {
        client_id: row.try_get("client_id")?,
        account_id: row.try_get("account_id")?,
        name: row.try_get("name")?,
        currency: row.try_get("currency")?,
    }))
}

/// The record of a request is looked up by its key only for the kinds of which a request may write any number of rows: what
/// gives back, and what moves a receipt's money. All other rows are counted against the records, which costs no look-up. So it is
/// with orders: all rows are reconciled with theirs but those of receipts, of which most move nothing of an order. What is
/// looked up has a limit, which is never reached: see the versions of orders.
pub(super) const ENTRIES: &str = "
    SELECT e.client_id, e.entry_id, e.kind, e.amount, e.currency,
           e.debit_account_id, e.debit_version, e.debit_available_after, e.debit_held_after,
           e.credit_account_id, e.credit_version, e.credit_available_after, e.credit_held_after,
           e.reference, e.movement_id, e.order_id, e.receipt_id, e.hold_id, e.created_at, e.idempotency_key,
           e.delivery_id IS NULL OR d.is_there IS NOT NULL AS delivery_is_there,
           e.receipt_id IS NULL OR e.order_id IS NULL OR o.is_there IS NOT NULL AS order_is_there,
           r.operation AS asked_operation, r.resource AS asked_resource
    FROM journal_entries e
    LEFT JOIN LATERAL (
        SELECT TRUE AS is_there
        FROM callback_deliveries
        WHERE e.delivery_id IS NOT NULL
          AND client_id = e.client_id
          AND delivery_id = e.delivery_id
        LIMIT 1
    ) d ON TRUE
    LEFT JOIN LATERAL (
        SELECT TRUE AS is_there
        FROM orders
        WHERE e.receipt_id IS NOT NULL
          AND client_id = e.client_id
          AND order_id = e.order_id
        LIMIT 1
    ) o ON TRUE
    LEFT JOIN LATERAL (
        SELECT operation, resource
        FROM idempotency_records
        WHERE (e.kind = 'hold_release' OR e.receipt_id IS NOT NULL)
          AND e.idempotency_key IS NOT NULL
          AND client_id = e.client_id
          AND key = e.idempotency_key
          AND status = 'completed'
        LIMIT 1
    ) r ON TRUE";

pub(super) fn entry(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Entry(Entry {
        client_id: row.try_get("client_id")?,
        entry_id: row.try_get("entry_id")?,
        kind: row.try_get("kind")?,
        amount: row.try_get("amount")?,
        currency: row.try_get("currency")?,
        debit: side(row, ["debit_account_id", "debit_version", "debit_available_after", "debit_held_after"])?,
        credit: side(
            row,
            ["credit_account_id", "credit_version", "credit_available_after", "credit_held_after"],
        )?,
        reference: row.try_get("reference")?,
        movement_id: row.try_get("movement_id")?,
        order_id: row.try_get("order_id")?,
        receipt_id: row.try_get("receipt_id")?,
        hold_id: row.try_get("hold_id")?,
        created_at: row.try_get("created_at")?,
        idempotency_key: row.try_get("idempotency_key")?,
        delivery_is_there: row.try_get("delivery_is_there")?,
        order_is_there: row.try_get("order_is_there")?,
        asked: asked(row)?,
    }))
}

fn asked(row: &PgRow) -> sqlx::Result<Option<Asked<'_>>> {
    let operation: Option<&str> = row.try_get("asked_operation")?;
    let Some(operation) = operation else { return Ok(None) };
    Ok(Some(Asked { operation, resource: row.try_get("asked_resource")? }))
}

fn side(row: &PgRow, [account, version, available, held]: [&str; 4]) -> sqlx::Result<Side> {
    let version: Option<i64> = row.try_get(version)?;
    let after = match version {
        None => None,
        Some(version) => {
            Some(After { version, available: row.try_get(available)?, held: row.try_get(held)? })
        }
    };
    Ok(Side { account_id: row.try_get(account)?, after })
}

pub(super) const TOTALS: &str = "
    SELECT client_id, account_id, debits, credits
    FROM collecting_totals";

pub(super) fn total(row: &PgRow) -> sqlx::Result<Row<'_>> {
    Ok(Row::Total(Total {
        client_id: row.try_get("client_id")?,
        account_id: row.try_get("account_id")?,
        debits: row.try_get("debits")?,
        credits: row.try_get("credits")?,
    }))
}
