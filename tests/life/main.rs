//! The life of an order and of money on an account, over HTTP.
//!
//! - [`books`]: a server whose clock the test moves, and what is asked of it;
//! - [`holds`]: freezing, capturing, releasing;
//! - [`orders`]: orders by hold: captures, cancelling, expiry;
//! - [`refunds`]: giving back what was taken;
//! - [`stock`]: the catalogue, and what orders do to it;
//! - [`races`]: many at once, and who wins;
//! - [`flash_sale`]: thousands of buyers for a few pieces;
//! - [`machine`]: random acts against a model, with a clock that moves;
//! - [`scenarios`]: stories, an act a line, that read like a bank statement;
//! - [`table`]: the document on the life of an order, and the code: one table.

mod books;
mod flash_sale;
mod history;
mod holds;
mod machine;
mod orders;
mod races;
mod refunds;
mod scenarios;
mod stock;
mod table;
