//! Clients of the service and the API keys they authenticate with.
//!
//! Everything the service keeps belongs to one client, and [`ClientId`] comes first in every key of the
//! database. In reading order:
//!
//! - [`id`]: who a client is;
//! - [`api_key`]: the secret a client shows, and the hash that is all the service keeps of it;
//! - [`scope`]: what a key may be used for;
//! - [`store`]: the SQL of the tables `clients` and `api_keys`.
//!
//! This crate must not know what clients do: no accounts, no orders, no HTTP.

pub mod api_key;
pub mod id;
pub mod scope;
pub mod store;

pub use api_key::{ApiKey, ApiKeyHash};
pub use id::ClientId;
pub use scope::{Scope, Scopes};
