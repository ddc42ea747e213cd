//! The SQL of this crate's tables, a file for each.
//!
//! What the desk runs in bulk is a constant statement with a function that binds its parameters, so that the
//! desk may run it alone or as a part of a larger statement. Every statement that inserts or updates returns a
//! row for each row it wrote, for the desk to count.
//!
//! The order of locks: rows are locked and written in the order of `(client_id, account_id)`, everywhere.

pub mod accounts;
pub mod collecting;
pub mod holds;
pub mod journal;
pub mod movements;

use money::{Amount, Currency};
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;

/// The error of a column that holds what no row of ours can hold.
pub fn unreadable(column: &'static str, fault: impl Into<BoxDynError>) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: fault.into() }
}

/// The amount that a column holds, in its row's currency.
///
/// # Errors
///
/// If it is no amount of that currency.
pub fn amount_from(column: &'static str, decimal: Decimal, currency: Currency) -> sqlx::Result<Amount> {
    Amount::from_decimal(decimal, currency).map_err(|fault| unreadable(column, fault))
}

/// The currency that the column `currency` holds.
///
/// # Errors
///
/// If there is none of that code.
pub fn currency_from(code: &str) -> sqlx::Result<Currency> {
    Currency::from_code(code).map_err(|fault| unreadable("currency", fault))
}

/// A column of every row, as the elements of an array that is bound.
pub fn column<'r, S, T>(rows: &'r [S], of: impl Fn(&'r S) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}
