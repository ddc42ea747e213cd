//! Plays the payment providers against a running server.
//!
//! It knows Onefold as a provider does: by the address of a callback, and by what is answered there. It shares no code
//! with the server, and above all none with the adapters that verify callbacks: each side is written from the
//! providers' descriptions alone, so that one can catch the other's mistake.
//!
//! # Reading order
//!
//! - [`demo_keys`]: keys and ids that everybody knows, and what a server configures of them.

pub mod demo_keys;
