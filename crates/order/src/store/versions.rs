//! The SQL of the table `order_versions`: rows are added, never changed.

use account::store::column;
use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use crate::OrderVersion;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("INSERT", INSERT)];

/// Adds versions: `$1` to `$11`, see [`bind_inserts`]. Returns a row for each. Whoever adds one has the order's row, so no
/// two add the same one.
pub const INSERT: &str = "
    INSERT INTO order_versions (
        client_id, order_id, version, what, status, captured_amount, refunded_amount, refund_id, idempotency_key,
        delivery_id, created_at
    )
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::numeric[], $7::numeric[], $8::uuid[],
        $9::text[], $10::uuid[], $11::timestamptz[]
    )
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, versions: &[OrderVersion]) -> Result<(), BoxDynError> {
    arguments.add(column(versions, |v| v.client_id.0))?;
    arguments.add(column(versions, |v| v.order_id.0))?;
    arguments.add(column(versions, |v| v.version))?;
    arguments.add(column(versions, |v| v.change.as_str()))?;
    arguments.add(column(versions, |v| v.status.as_str()))?;
    arguments.add(column(versions, |v| v.captured_amount.to_decimal()))?;
    arguments.add(column(versions, |v| v.refunded_amount.to_decimal()))?;
    arguments.add(column(versions, |v| v.refund_id.map(|refund| refund.0)))?;
    arguments.add(column(versions, |v| v.origin.idempotency_key()))?;
    arguments.add(column(versions, |v| v.origin.delivery_id()))?;
    arguments.add(column(versions, |v| v.created_at))?;
    Ok(())
}
