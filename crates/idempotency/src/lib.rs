//! Idempotency keys, fingerprints and records: what is remembered of a request, so that asking again is safe.
//!
//! A client names its operation with a key; the service remembers under that name what was asked (as a
//! [`Fingerprint`]) and what was answered, in the very transaction that has the effect. In reading order:
//!
//! - [`key`]: the header `Idempotency-Key`, both spellings;
//! - [`issued`]: keys that the service makes, and knows again by their seals;
//! - [`fingerprint`]: the hash over the meaning of a request;
//! - [`prefer`]: `Prefer: wait=N`, how long a duplicate would wait for the first;
//! - [`record`]: what is remembered, and what a record says to a request under its key;
//! - [`store`]: the SQL of the table `idempotency_records`, and of the locks that say "in progress".
//!
//! This crate must not know what the operations are, nor any HTTP framework.

pub mod fingerprint;
pub mod issued;
pub mod key;
pub mod prefer;
pub mod record;
pub mod store;

pub use fingerprint::Fingerprint;
pub use key::Key;
pub use record::{Answer, FailedPolicy, Name, Record, RecordStatus, Verdict};
