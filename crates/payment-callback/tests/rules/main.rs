//! The rules of payments, one step after the other on books in memory, without a database.

mod any_order;
mod anything;
mod books;
mod questions;
