//! The layers in front of the desk: who may ask, for what and how often; and repeats that are stopped early.
//!
//! Each is a [tower](https://docs.rs/tower) layer ([`layers`]) that the server puts before its routes, or before its desk;
//! each can be left out, and the desk's guarantees hold without any. What they are made of, in the order in which a request
//! meets it:
//!
//! - [`forwarded`]: where it comes from, if proxies stand in front;
//! - [`credentials`]: the API key that a request shows;
//! - [`api_keys`]: whose key it is, remembered for less than a second, and addresses that guess keys;
//! - [`rate_limit`]: how often a client may ask, altogether and for each route;
//! - [`buckets`]: the token buckets of these two, in bounded memory;
//! - [`allowance`]: what is left, in the header fields that tell it;
//! - [`repeats`]: repeats that another server has answered or is answering, if a Redis is configured.
//!
//! This crate must not know what is asked for: no order, no account, no problem document. It answers in words of its
//! own, and the server puts them into those of the API.

pub mod allowance;
pub mod api_keys;
pub mod buckets;
pub mod credentials;
pub mod forwarded;
pub mod layers;
pub mod rate_limit;
pub mod repeats;
