//! The kinds of broker, and what those that are servers have in common.
//!
//! - [`address`]: which of them the configuration names, and where it is;
//! - [`in_process`], which is no server;
//! - `kafka`: Kafka, with the feature of that name;
//! - [`nats`]: NATS with JetStream;
//! - [`rabbitmq`]: RabbitMQ, over AMQP;
//! - [`waves`]: the order in which events are published to a server;
//! - `turns`: the order in which what it delivers is handed out.

pub mod address;
pub mod in_process;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod nats;
pub mod rabbitmq;
mod turns;
pub mod waves;

pub use address::{Address, AddressError};
pub use in_process::InProcess;
#[cfg(feature = "kafka")]
pub use kafka::Kafka;
pub use nats::Nats;
pub use rabbitmq::RabbitMq;
