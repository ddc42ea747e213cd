//! A provider's settlement statement, line by line, against the books.
//!
//! The statement is copied into a table of its own, which the database sorts and joins with the books in one snapshot;
//! what comes back is a pair at a time. So neither side of the wire keeps more than some buffers, however long the
//! statement is.
//!
//! In reading order:
//!
//! - [`reconcile`](mod@reconcile): one reconciliation, from the first byte of a file to the last difference;
//! - [`difference`]: what the statement and the books can disagree on;
//! - [`comparison`]: the rules, on one payment or refund at a time;
//! - [`statement`]: from bytes to lines, by the headings;
//! - [`layout`], [`provider_layouts`]: how statements are laid out, and those of the known providers;
//! - [`values`], [`records`]: what stands in a line, and in a file of CSV;
//! - [`report`]: differences as a table, as CSV, as JSON;
//! - [`csv_field`]: fields of CSV that a spreadsheet does not run;
//! - [`store`]: the statements of SQL, and the snapshot that they read.
//!
//! **The promise.** An amount is what is written, to the last digit, or its line is reported as unreadable with its
//! number, and the rest goes on. Nothing is guessed.
//!
//! This crate must not know the crates whose work it checks, `payment-callback` above all: what it reads of their tables
//! it reads by itself. It writes nothing but its own temporary table.

pub mod comparison;
pub mod csv_field;
pub mod difference;
pub mod layout;
pub mod provider_layouts;
pub mod reconcile;
pub mod records;
pub mod report;
pub mod statement;
pub mod store;
pub mod values;

pub use difference::{Difference, DifferenceKind, Told};
pub use layout::{AmountUnit, Encoding, Layout, OtherWords};
pub use reconcile::{Bound, Progress, ReconcileError, Request, Summary, reconcile};
pub use report::{Format, Report};
pub use statement::Subject;
