//! The kinds of broker, and what those that are servers have in common.
//!
//! - [`address`]: which of them the configuration names, and where it is;
//! - [`in_process`], which is no server;
//! - [`nats`]: NATS with JetStream;
//! - [`rabbitmq`]: RabbitMQ, over AMQP;
//! - [`waves`]: the order in which events are published to a server.

pub mod address;
pub mod in_process;
pub mod nats;
pub mod rabbitmq;
pub mod waves;

pub use address::{Address, AddressError};
pub use in_process::InProcess;
pub use nats::Nats;
pub use rabbitmq::RabbitMq;
