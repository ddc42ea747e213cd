//! Reading the idempotency records.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::row::{Record, Row};

/// Without the bodies of the answers, which are most of the table.
pub(super) const RECORDS: &str = "
    SELECT client_id, key, operation, status, resource, response_status, response_location, completed_at
    FROM idempotency_records";

pub(super) fn record(row: &PgRow) -> sqlx::Result<Row<'_>> {
    record_from(row).map(Row::Record)
}

fn record_from(row: &PgRow) -> sqlx::Result<Record<'_>> {
    Ok(Record {
        client_id: row.try_get("client_id")?,
        key: row.try_get("key")?,
        operation: row.try_get("operation")?,
        status: row.try_get("status")?,
        resource: row.try_get("resource")?,
        response_status: row.try_get("response_status")?,
        response_location: row.try_get("response_location")?,
        completed_at: row.try_get("completed_at")?,
    })
}

/// Completed records whose effect is looked up rather than reconciled. Those before `$1` may be there or not, so they
/// cannot be counted against their effects; there are few of them unless no server has run for long. A closing leaves
/// no row of its own. A path that names nothing known is told of by the check that sees every record.
pub(super) const RECORDS_WITHOUT_EFFECT: &str = "
    SELECT r.client_id, r.key, r.operation, r.status, r.resource, r.response_status, r.response_location,
           r.completed_at
    FROM (
        SELECT client_id, key, operation, status, resource, response_status, response_location, completed_at,
               split_part(resource, '/', 3) AS collection,
               CASE WHEN resource ~ '^/v1/[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                    THEN right(resource, 36)::uuid
               END AS resource_id
        FROM idempotency_records
        WHERE status = 'completed'
          AND (completed_at <= $1 OR operation = 'POST /v1/accounts/{id}/close')
        OFFSET 0
    ) r
    WHERE r.collection IN ('accounts', 'movements', 'orders', 'holds', 'refunds')
      AND NOT EXISTS (
          SELECT 1
          FROM accounts
          WHERE r.collection = 'accounts'
            AND client_id = r.client_id
            AND account_id = r.resource_id
            AND (status = 'closed' OR r.operation <> 'POST /v1/accounts/{id}/close')
          UNION ALL
          SELECT 1 FROM movements
          WHERE r.collection = 'movements' AND client_id = r.client_id AND movement_id = r.resource_id
          UNION ALL
          SELECT 1 FROM orders
          WHERE r.collection = 'orders' AND client_id = r.client_id AND order_id = r.resource_id
          UNION ALL
          SELECT 1 FROM holds
          WHERE r.collection = 'holds' AND client_id = r.client_id AND hold_id = r.resource_id
          UNION ALL
          SELECT 1 FROM refunds
          WHERE r.collection = 'refunds' AND client_id = r.client_id AND refund_id = r.resource_id
      )";

pub(super) fn record_without_effect(row: &PgRow) -> sqlx::Result<Row<'_>> {
    record_from(row).map(Row::RecordWithoutEffect)
}
