//! What is done with events: each through the door, under the name of the consumer and the event.
//!
//! A broker delivers an event again, late, and in another order than it happened; none can promise "once". So a consumer
//! asks the desk for its effect under a name that follows from its own and the event's: the record and the effect commit in
//! one transaction, the event is acknowledged after that, and every repetition is answered from the record. In reading
//! order:
//!
//! - [`running`]: from a subscription to the acknowledgement;
//! - [`lag`]: how far a consumer is behind;
//! - [`taking`]: one event at one consumer: what became of it, and what follows from that;
//! - [`failures`]: how often the service has failed at an event;
//! - [`told`]: what an event says, read from its bytes;
//! - [`read_model`]: the consumer that keeps the daily totals;
//! - [`rebuilding`]: a day's totals computed from the books instead;
//! - [`rebuilds`]: which of these are under way;
//! - [`notifications`](mod@notifications): the consumer that has clients told of their events;
//! - [`set_aside`]: events that no consumer can take, out of the way of those behind them;
//! - [`store`]: the SQL of the table `events_set_aside`.
//!
//! This crate must not know HTTP, nor which broker there is.

pub mod failures;
pub mod lag;
pub mod notifications;
pub mod read_model;
pub mod rebuilding;
pub mod rebuilds;
pub mod running;
pub mod set_aside;
pub mod store;
pub mod taking;
pub mod told;

pub use failures::Failures;
pub use lag::Lag;
pub use notifications::Endpoints;
pub use rebuilds::Rebuilds;
pub use set_aside::{Reason, SetAside};
pub use taking::{Came, Consumer, Consuming};
