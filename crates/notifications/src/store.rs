//! The SQL of the tables `webhook_endpoints` and `webhook_deliveries`, in a file each.

pub mod deliveries;
pub mod endpoints;

use sqlx::error::BoxDynError;

fn unreadable(column: &'static str, fault: impl Into<BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: fault.into() }
}
