//! Plays the payment providers against a running server.
//!
//! It knows Onefold as a provider does: by the address of a callback, and by what is answered there. It shares no code
//! with the server, and above all none with the adapters that verify callbacks: each side is written from the
//! providers' descriptions alone, so that one can catch the other's mistake.
//!
//! # Reading order
//!
//! - [`demo_keys`]: keys and ids that everybody knows, and what a server configures of them;
//! - [`provider`]: the four, when they try again, and what satisfies them; [`amount`], [`event`], [`ids`]: what they speak of;
//! - [`stripe`], [`alipay`], [`wechatpay`], [`standard`]: how each says it and signs it; [`rsa`]: with what two of them
//!   sign; [`sender`]: one of the four; [`message`]: what is sent;
//! - [`scenario`]: what is to happen to a payment; [`look_up`]: what the service says of it;
//! - [`delivery`]: sending it until it is acknowledged; [`exchange`], [`target`]: HTTP; [`report`]: what is told of it;
//! - [`office`]: the providers with their [`books`], kept in a [`journal`], and the [`statement`] that they print;
//! - [`api`]: what merchants ask them ([`stripe::api`], [`alipay::api`], [`wechatpay::api`], [`standard::api`], [`mod@form`]); how
//!   it goes wrong: [`trouble`]; and who says what happens: [`control`], asked by [`through`].

pub mod alipay;
pub mod amount;
pub mod api;
pub mod books;
pub mod clock;
pub mod control;
pub mod delivery;
pub mod demo_keys;
pub mod event;
pub mod exchange;
pub mod form;
pub mod ids;
pub mod journal;
pub mod look_up;
pub mod message;
pub mod office;
pub mod provider;
pub mod report;
pub mod rsa;
pub mod scenario;
pub mod sender;
pub mod standard;
pub mod statement;
pub mod stripe;
pub mod target;
pub mod through;
pub mod trouble;
pub mod wechatpay;

pub use amount::Amount;
pub use event::Event;
pub use message::Message;
pub use provider::Provider;
pub use sender::{Sender, Style};
