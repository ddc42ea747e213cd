//! The adapters from outside, with deliveries that are signed here.
//!
//! - [`endpoint`]: an endpoint of each provider, and the signing of what is delivered to it;
//! - [`stripe`], [`alipay`], [`wechatpay`], [`standard`]: what each refuses, and what it reads;
//! - [`amounts`]: every price through every adapter, and the table of amounts;
//! - [`any_bit`]: no changed bit of a signed delivery passes;
//! - [`asking`]: what is asked of providers, and what is read from their answers;
//! - [`settings`]: configurations with which a server must not start.

mod alipay;
mod amounts;
mod any_bit;
mod asking;
mod endpoint;
mod settings;
mod standard;
mod stripe;
mod wechatpay;
