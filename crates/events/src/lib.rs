//! The outbox: events written in the transaction of their effect, and published afterwards.
//!
//! In reading order:
//!
//! - [`event`]: what happened, to whom, and in which order;
//! - [`place`]: how far a client's events are published;
//! - [`store`]: the SQL of the tables `outbox_events` and `event_streams`;
//! - [`message`]: an event as it is published, a CloudEvents document;
//! - [`broker`]: what carries events, and what is asked of it;
//! - [`brokers`]: the kinds there are;
//! - [`relay`]: from the outbox to the broker, at least once and in order.
//!
//! An event is a row beside the rows of its effect: both are there, or neither. This crate must not know what
//! the events tell of; whoever has the effect says it.

pub mod broker;
pub mod brokers;
pub mod event;
pub mod message;
pub mod place;
pub mod relay;
pub mod store;

pub use broker::{Acknowledge, Broker, BrokerFault, Delivery, Subscription};
pub use event::{Event, EventId};
pub use message::Message;
pub use place::Place;
