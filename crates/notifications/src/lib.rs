//! Webhooks to clients: each event that a client asked for reaches its endpoint, signed by the
//! [Standard Webhooks](https://www.standardwebhooks.com) specification, at least once.
//!
//! In reading order:
//!
//! - [`endpoint`]: where a client wants to be told, and of what;
//! - [`address`]: which addresses an endpoint may have;
//! - [`secret`], [`signature`]: what a delivery is signed with, and how;
//! - [`delivery`]: one event for one endpoint;
//! - [`schedule`]: when it is tried again, and when no more;
//! - [`store`]: the SQL of the tables `webhook_endpoints` and `webhook_deliveries`.
//!
//! Rules are pure: time and randomness come in as arguments. This crate must not know HTTP: it says what is sent, and the
//! server sends it.

pub mod address;
pub mod delivery;
pub mod endpoint;
pub mod schedule;
pub mod secret;
pub mod signature;
pub mod store;

pub use delivery::WebhookDelivery;
pub use endpoint::{Endpoint, EndpointFault, EndpointId, EndpointUrl, Reach};
pub use schedule::Schedule;
pub use secret::Secret;
