//! What has become of an order: each step of it, when, at whose word, and what was booked.
//!
//! In reading order:
//!
//! - [`step`]: a step, and how rows of three tables are put together to steps;
//! - [`store`]: the SQL that reads them.
//!
//! A history is told from what is kept for ever: the order's versions, the journal, and the deliveries of providers. What is
//! deleted some day (idempotency records, published events) is not asked. This crate writes nothing, and must not know
//! how a step came about, nor HTTP.

pub mod step;
pub mod store;

pub use step::{By, Callback, Line, RefundLine, Step, VersionLine};
