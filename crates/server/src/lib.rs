//! The binary onefold: routes, OpenAPI, configuration, telemetry, command line.
//!
//! The program, in reading order:
//!
//! - [`command_line`]: the commands, their flags, and what they print;
//! - [`configuration`]: the settings file, with the default of every key;
//! - [`serve`]: a server from its start to its shutdown;
//! - [`listen`]: the listener, and its limits;
//! - [`demo`]: the demo data; [`demo_providers`]: the payment providers that are played beside it;
//! - [`endpoints`]: where payment providers call;
//! - [`provider_calls`]: asking those providers, instead of waiting for them;
//! - [`consuming`]: what is done with events; [`webhooks`]: telling clients of their events at their own endpoints;
//! - [`pruning`]: deleting what of events is kept long enough;
//! - [`telemetry`]: the logs.
//!
//! The HTTP side, in reading order:
//!
//! - [`app`]: what the application is made of, and its router;
//! - [`routes`]: the whole API on one screen, and an endpoint a file;
//! - [`submission`] and [`reading`]: the way of a request with an effect, and of one without;
//! - [`body`], [`path`], [`query`], [`page`], [`cursor`]: what a request is read from;
//! - [`admission`]: who may ask, for what, and how often;
//! - [`repeats`]: repeats that another server has answered;
//! - [`look_up`]: reading from the database;
//! - [`render`]: outcomes in the words of the API, as they are stored;
//! - [`problem`]: everything that is answered instead;
//! - [`edge`]: what every request passes, with [`request_id`], [`access_log`], [`operations`] and [`metrics`];
//! - [`openapi`]: the document that describes all this; [`asyncapi`], the one that describes events.

pub mod accept;
pub mod access_log;
pub mod admission;
pub mod app;
pub mod asyncapi;
pub mod body;
pub mod command_line;
pub mod configuration;
pub mod consuming;
pub mod csv;
pub mod cursor;
pub mod demo;
pub mod demo_providers;
pub mod edge;
pub mod endpoints;
pub mod issued_keys;
pub mod listen;
pub mod look_up;
pub mod metrics;
pub mod openapi;
pub mod operations;
pub mod page;
pub mod path;
pub mod problem;
pub mod provider_calls;
pub mod pruning;
pub mod query;
pub mod reading;
pub mod render;
pub mod repeats;
pub mod request_id;
pub mod routes;
pub mod serve;
pub mod submission;
pub mod telemetry;
pub mod watch;
pub mod webhooks;
