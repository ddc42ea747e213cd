//! The auditor of the books: it finds what is damaged on purpose, and nothing where nothing is.

mod asked_refunds;
mod clean;
mod damage;
mod history;
mod ledger;
mod memory;
mod neighbour;
mod payments;
mod program;
mod transitions;
