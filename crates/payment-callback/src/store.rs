//! The SQL of this crate's tables, a file for each noun.
//!
//! What the desk runs in bulk is a constant statement with a function that binds its parameters, so that the desk may
//! run it alone or as a part of a larger statement. Every statement that inserts or updates returns a row for each row
//! it wrote, for the desk to count. Rows are locked and written in the order of their primary keys.

pub mod alerts;
pub mod asked_refunds;
pub mod deliveries;
pub mod payments;
pub mod polls;
pub mod receipts;

use account::store::{amount_from, currency_from, unreadable};
use money::{Amount, Currency};
use rust_decimal::Decimal;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row, Type};

use crate::ProviderKind;

/// A column of one of our words.
fn word<T>(row: &PgRow, column: &'static str, from: impl Fn(&str) -> Option<T>) -> sqlx::Result<T> {
    let word: &str = row.try_get(column)?;
    from(word).ok_or_else(|| unreadable(column, format!("unknown word {word:?}")))
}

fn provider(row: &PgRow, column: &'static str) -> sqlx::Result<ProviderKind> {
    word(row, column, ProviderKind::from_word)
}

fn amount(row: &PgRow, column: &'static str, currency: Currency) -> sqlx::Result<Amount> {
    let decimal: Decimal = row.try_get(column)?;
    amount_from(column, decimal, currency)
}

/// An amount and its currency, both there or neither.
fn optional_amount(
    row: &PgRow,
    amount_column: &'static str,
    currency_column: &'static str,
) -> sqlx::Result<Option<Amount>> {
    let code: Option<&str> = row.try_get(currency_column)?;
    code.map(|code| amount(row, amount_column, currency_from(code)?)).transpose()
}

fn optional<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    column: &str,
) -> sqlx::Result<Option<T>> {
    row.try_get(column)
}
