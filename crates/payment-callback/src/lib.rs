//! Payment providers: what they tell us, verified to the byte, and what follows from it for a payment.
//!
//! In reading order:
//!
//! - [`provider`]: what a provider's adapter does, and the list of those there are;
//! - [`event`]: what a verified delivery means, in words that all providers share;
//! - [`decision`]: what one delivery alone asks for, given the payment it speaks of;
//! - [`api`]: asking a provider, instead of waiting to be told; and asking for refunds;
//! - [`configuration`] and [`secret`]: how an endpoint's settings are read, and what of them is never printed;
//! - [`capture`]: captured deliveries, to be checked without a server.
//!
//! **The promise.** Nothing is read out of a delivery before its signature was found right, over exactly the bytes that
//! came. An amount is what the provider wrote, to the last digit, or it is reported as malformed; nothing rounds. An
//! adapter is a function of the bytes, the configuration and the time: it does no I/O, keeps no state, and no input
//! makes it panic.
//!
//! This crate must not know idempotency or any HTTP framework.

pub mod api;
pub mod capture;
pub mod configuration;
pub mod decision;
pub mod event;
pub mod provider;
pub mod secret;

mod amount_reading;
mod form;
mod freshness;
mod json;
mod provider_id;
mod signature;

pub use decision::{Decision, KnownPayment, judge};
pub use event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
pub use provider::{
    Answer, ConfigFault, Delivery, Provider, ProviderKind, Purpose, Reason, Rejection, Verdict,
};
