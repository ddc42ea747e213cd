//! Payment providers: what they tell us, verified to the byte, and what follows from it for a payment.
//!
//! In reading order:
//!
//! - [`provider`]: what a provider's adapter does, and the list of those there are;
//! - [`event`]: what a verified delivery means, in words that all providers share;
//! - [`decision`]: what one delivery alone asks for, given the payment it speaks of;
//! - [`payable`]: which amounts can be asked for at a provider;
//! - [`api`]: asking a provider, instead of waiting to be told; and asking for refunds;
//! - [`configuration`] and [`secret`]: how an endpoint's settings are read, and what of them is never printed;
//! - [`capture`]: captured deliveries, to be checked without a server;
//! - [`payment`]: the payment of an order, and its number, where everything about it meets;
//! - [`receipt`]: what a provider says was received, and where that money stands;
//! - [`alert`]: what a person has to decide;
//! - [`delivery`]: the record of a delivery;
//! - [`poll`]: when a payment is asked about;
//! - [`asked_refund`]: a refund that a provider is asked for;
//! - [`case`]: all that is known of one payment, while something happens to it;
//! - [`told`], [`settle`], [`refund`], [`resolve`]: what a callback, its money, a refund, and a person or a late order do
//!   to it;
//! - [`store`]: the SQL of this crate's tables.
//!
//! **The promise.** Nothing is read out of a delivery before its signature was found right, over exactly the bytes that
//! came. An amount is what the provider wrote, to the last digit, or it is reported as malformed; nothing rounds. An
//! adapter is a function of the bytes, the configuration and the time: it does no I/O, keeps no state, and no input
//! makes it panic.
//!
//! This crate must not know idempotency or any HTTP framework.

pub mod alert;
pub mod api;
pub mod asked_refund;
pub mod capture;
pub mod case;
pub mod configuration;
pub mod decision;
pub mod delivery;
pub mod dispute;
pub mod event;
pub mod payable;
pub mod payment;
pub mod poll;
pub mod provider;
pub mod receipt;
pub mod refund;
pub mod resolve;
pub mod secret;
pub mod settle;
pub mod store;
pub mod told;
pub mod trust;

mod amount_reading;
mod form;
mod freshness;
mod json;
mod provider_id;
mod signature;

pub use alert::{Alert, AlertAction, AlertCause, AlertId, AlertKind, Resolution};
pub use asked_refund::{Asked, AskedRefund, AskedStatus, NotAsked};
pub use case::{Case, CaseChanges, Known};
pub use decision::{Decision, KnownPayment, judge};
pub use delivery::{
    DeliveryFingerprint, DeliveryId, DeliveryKey, DeliveryRecord, KnownDelivery, QuarantinedBody,
};
pub use event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
pub use payable::Unpayable;
pub use payment::{Payment, PaymentRequest, PaymentStatus};
pub use provider::{
    Answer, ConfigFault, Delivery, Provider, ProviderKind, Purpose, Reason, Rejection, Verdict,
};
pub use receipt::{Funds, Receipt, ReceiptId, ReceiptKey, ReceiptRefund, ReceiptRefundKey, ReceiptState};
pub use resolve::ResolveRefusal;
pub use told::{Effect, Told};
pub use trust::{KeyMark, Trust};
