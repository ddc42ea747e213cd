//! The order: its states, its transitions and its records.
//!
//! In reading order:
//!
//! - [`status`]: the states of an order and what may happen in each, as one total function;
//! - [`order`]: the order itself;
//! - [`place`]: the rule that places an order and pays it;
//! - [`provider`]: the rules of an order that is paid at a provider;
//! - [`version`]: what each change of an order was, and at whose word;
//! - [`store`]: the SQL of the tables `orders` and `order_versions`.
//!
//! Rules are pure functions: time and new ids come in as arguments. This crate must not know idempotency or
//! HTTP.

pub mod order;
pub mod place;
pub mod provider;
pub mod status;
pub mod store;
pub mod version;

pub use order::{Order, OrderId, PaymentMethod};
pub use place::{PaymentTerms, PlaceRefusal, Placed, Placement};
pub use status::{OrderEvent, OrderStatus, StateConflict, Step};
pub use version::{Change, OrderVersion};
