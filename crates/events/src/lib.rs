//! The outbox: events written in the transaction of their effect.
//!
//! In reading order:
//!
//! - [`event`]: what happened, to whom, and in which order;
//! - [`store`]: the SQL of the table `outbox_events`.
//!
//! An event is a row beside the rows of its effect: both are there, or neither. This crate must not know what
//! the events tell of; whoever has the effect says it.

pub mod event;
pub mod store;

pub use event::{Event, EventId};
