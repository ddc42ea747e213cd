//! The service over HTTP, whole, on a real PostgreSQL: the contract, sentence by sentence.

mod aborted;
mod accounts;
mod amounts;
mod authentication;
mod bodies;
mod expect;
mod history;
mod idempotency;
mod in_progress;
mod issued_keys;
mod keys;
mod limits;
mod lists;
mod operations;
mod orders;
mod precedence;
mod problems;
mod scopes;
mod statements;
