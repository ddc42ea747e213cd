//! The service against a model of its contract.
//!
//! The model is written from the contract's text and shares no rule with the service: it counts in whole minor units of
//! its own, keeps everything in memory, and does one thing at a time. Random scripts are played to both, and every answer
//! is compared. In reading order:
//!
//! - [`figures`]: amounts as the contract writes them, read and printed by the model's own means;
//! - [`request`]: what can be asked, and what the model reads in it;
//! - [`model`]: the contract, played;
//! - [`script`]: random scripts that read like a story, and how a step becomes a request;
//! - [`told`]: the comparison of an answer with what the model expects;
//! - [`ledger`]: the service's rules alone, without a database, with their invariants;
//! - [`rules`]: scripts played to the rules alone;
//! - [`wire`]: a request as bytes on the wire, in more than one spelling;
//! - [`stage`]: a server, its clients, and one request after the other;
//! - [`reads`]: what can be read afterwards;
//! - [`http`]: scripts played to the whole service;
//! - [`together`]: a script played by many at once, and an order found in which it could have happened;
//! - [`mistakes`]: models with a mistake on purpose, each of which is found out.

mod figures;
mod http;
mod ledger;
mod mistakes;
mod model;
mod reads;
mod request;
mod rules;
mod script;
mod stage;
mod together;
mod told;
mod wire;
