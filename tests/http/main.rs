//! The service over HTTP, whole, on a real PostgreSQL: the contract, sentence by sentence.

mod accounts;
mod amounts;
mod authentication;
mod bodies;
mod expect;
mod idempotency;
mod keys;
mod lists;
mod operations;
mod orders;
mod precedence;
mod problems;
