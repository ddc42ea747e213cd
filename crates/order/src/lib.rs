//! The order: its states, its transitions and its records.
//!
//! In reading order:
//!
//! - [`status`]: the states of an order and what may happen in each, as one total function;
//! - [`order`]: the order itself;
//! - [`item`]: what is ordered, and what it costs by the catalogue;
//! - [`place`]: the rules that place an order, paid at once or by a hold;
//! - [`provider`]: the rules of an order that is paid at a provider;
//! - [`capture`]: taking what was frozen for it;
//! - [`end`]: calling it off, and what becomes of it when its time is over;
//! - [`refund`]: giving back what was taken;
//! - [`stock`]: what each of these does to the skus of its items;
//! - [`version`]: what each change of an order was, and at whose word;
//! - [`store`]: the SQL of the tables `orders`, `order_items`, `order_versions`, `refunds` and `refund_items`.
//!
//! Rules are pure functions: time and new ids come in as arguments. This crate must not know idempotency or
//! HTTP.

pub mod capture;
pub mod end;
pub mod item;
pub mod order;
pub mod place;
pub mod provider;
pub mod refund;
pub mod status;
pub mod stock;
pub mod store;
pub mod version;

pub use capture::{OrderCaptureRefusal, OrderCaptured};
pub use end::{EndRefusal, OrderEnded};
pub use item::{ItemWanted, OrderItem, PricingRefusal};
pub use order::{Order, OrderId, PaymentMethod};
pub use place::{PaymentTerms, PlaceRefusal, Placed, Placement};
pub use refund::{Refund, RefundId, RefundRefusal, RefundStatus, Refunded, Refunding};
pub use status::{OrderEvent, OrderStatus, StateConflict, Step};
pub use version::{Change, OrderVersion, RefundStep, VersionOfRefund};
