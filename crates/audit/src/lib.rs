//! An audit of the books that shares no code with what wrote them.
//!
//! It reads every table once, from one snapshot, in whatever order the rows lie, and keeps no row: what must match is
//! added up under random numbers and has to come to nothing ([`reconciliation`]). So its memory does not grow with the
//! books, the database sorts nothing, and no index is trusted with the answer. Only where something is left over are
//! the rows read a second time, to name what differs.
//!
//! In reading order:
//!
//! - [`audit`](mod@audit): one audit, from its snapshot to its report;
//! - [`report`]: what came of it;
//! - [`check`]: what a check is, and the list of all of them;
//! - [`checks`]: a file for each;
//! - [`reconciliation`]: two sets of rows that must be the same, compared without keeping either;
//! - [`row`]: the rows, as the audit reads them;
//! - [`vocabulary`]: the words of the books, and what each must mean;
//! - [`transitions`]: what may follow on what;
//! - [`figure`]: an exact number, as the database holds it;
//! - [`store`]: the statements, and the snapshot that they read.
//!
//! This crate must not know the crates whose work it checks: `account`, `order`, `idempotency`, `events`, `desk`. Their
//! words and rules are written down here a second time, on purpose. It writes nothing.

pub mod audit;
pub mod check;
pub mod checks;
pub mod figure;
pub mod reconciliation;
pub mod report;
pub mod row;
pub mod store;
pub mod transitions;
pub mod vocabulary;

pub use audit::{AuditError, Progress, Settings, audit};
pub use report::{CheckReport, Difference, Report};
