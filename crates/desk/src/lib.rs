//! The one door: every effect happens here, at most once under its name, in one transaction.
//!
//! Whoever wants an effect brings a name for it (a client and its idempotency key) and a command. Under one
//! name one effect happens, however often and from wherever it is asked for. In reading order:
//!
//! - [`desk`]: the door itself: [`Desk::submit`], [`Desk::look_up`], [`Desk::drain`];
//! - [`command`]: what can be asked for;
//! - [`outcome`], [`refusal`]: what came of it, and every business "no";
//! - [`decide`]: from a command and what was loaded to an outcome and its changes, without any I/O;
//! - [`needs`]: what the commands of a batch name, and need to have loaded;
//! - [`working_set`]: what a batch has loaded, and what it has changed so far;
//! - [`business_keys`]: the names that clients give to effects, which must be free;
//! - [`versioned`]: rows of one kind in it, each under its version;
//! - [`ids`]: the ids that a command's rows will have;
//! - [`announce`]: the events that tell of an outcome;
//! - [`lane`]: the task that runs batches of commands, each batch as one transaction;
//! - [`batch`]: one attempt at a batch: claim and recall, load, decide, save, commit;
//! - [`load`]: reading what a batch needs;
//! - [`in_flight`]: the names that this process is running, and who waits for them;
//! - [`remembered`]: finished answers, given again without asking the database;
//! - [`poller`]: waiting for names that another process is running;
//! - [`store`]: the statements of a batch, composed of the SQL of the other crates;
//! - [`fault`]: which database errors mean what;
//! - [`connection`]: how a lane's connection is set up, and when it is given up;
//! - [`sweeper`]: commands about what has become due;
//! - [`housekeeping`]: deleting expired records, rolling up collecting accounts;
//! - [`clock`], [`hooks`], [`metrics`], [`schema`], [`settings`]: what the rest needs.
//!
//! This crate must not know HTTP: how an outcome is put into words is given to it as a function
//! ([`outcome::Render`]), because the words are stored with the effect.

pub mod announce;
pub mod batch;
pub mod business_keys;
pub mod clock;
pub mod command;
pub mod connection;
pub mod decide;
pub mod desk;
pub mod fault;
pub mod hooks;
pub mod housekeeping;
pub mod ids;
pub mod in_flight;
pub mod lane;
pub mod load;
pub mod metrics;
pub mod needs;
pub mod outcome;
pub mod poller;
pub mod refusal;
pub mod remembered;
pub mod schema;
pub mod settings;
pub mod store;
pub mod sweeper;
pub mod versioned;
pub mod working_set;

pub use clock::{Clock, SystemClock};
pub use command::{CaptureTerms, Command, Request, SkuCondition};
pub use desk::{Answered, Desk, LookedUp, Reply};
pub use hooks::{Hooks, Step};
pub use metrics::Metrics;
pub use outcome::{Outcome, Render, Rendered};
pub use refusal::Refusal;
pub use settings::Settings;
