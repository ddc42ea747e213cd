//! Skus and their stock: what can be ordered, at which price, and how many of it are left.
//!
//! In reading order:
//!
//! - [`sku`]: a sku, its price and its count of pieces, and the rules that reserve, sell and give back;
//! - [`store`]: the SQL of the table `skus`.
//!
//! A piece is available, reserved by an order that is not paid yet, or sold. `reserved + sold` never passes `total`.
//!
//! Rules are pure functions: time comes in as an argument. This crate must not know orders, accounts, idempotency or
//! HTTP.

pub mod sku;
pub mod store;

pub use sku::{OutOfStock, Sku, SkuCode, SkuId, SkuTerms, StockCommitted, TOTAL_MAX};
