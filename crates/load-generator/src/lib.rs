//! Load over HTTP, with percentiles, and an audit of what it did: what `onefold bench` runs.
//!
//! It knows Onefold as any client does, by its HTTP contract, and shares no code with the server: so it can be wrong in
//! other ways than the server is. It opens and funds accounts of its own, places orders on them, retries what was lost
//! under the same key, sends some requests again on purpose, and in the end compares what it was answered with what is
//! there.
//!
//! # What it promises
//!
//! - *Nothing is refused quietly.* Every answer that is no 201 is counted by its problem's slug, every fault of the
//!   connection by its kind, and both are part of the report.
//! - *Latency is a client's.* An order's latency ends with its final answer, retries and their pauses included. In an open
//!   loop it begins when the order was due, whether or not a connection was free then, so a server that stalls is charged
//!   for everybody whom it kept waiting.
//! - *The audit is exact.* The accounts are this run's alone, so each must have fallen by its orders and by nothing
//!   else, and each order that was answered must be there once.
//! - *It is cheap.* It often shares the machine with the server and the database. Requests are put together by copying
//!   bytes, an answer's head is read in place, a connection costs three system calls an order, and there is one thread
//!   unless more are asked for.
//!
//! # Reading order
//!
//! - [`plan`]: what to do; [`report`]: what came of it;
//! - [`generator`]: a run from its first account to its audit;
//! - [`orders`] and [`replays`]: what one connection does; [`pace`] and [`spread`]: when, and to which account;
//! - [`ledger`], [`tally`]: what is remembered of it; [`audit`], [`store`]: what is compared with it;
//! - [`sale`] and [`life`]: runs of a known number of requests, a flash sale and what becomes of orders; [`volley`]: how
//!   their requests are sent and timed;
//! - [`accounts`]: the accounts of a run;
//! - [`caller`], [`request`], [`connection`], [`answer`]: HTTP/1.1, as much of it as this takes.

pub mod accounts;
pub mod answer;
pub mod audit;
pub mod caller;
pub mod connection;
mod error;
pub mod generator;
pub mod ledger;
pub mod life;
pub mod orders;
pub mod pace;
pub mod plan;
pub mod replays;
pub mod report;
pub mod request;
pub mod sale;
pub mod spread;
pub mod store;
pub mod tally;
pub mod volley;

pub use error::Error;
pub use generator::run;
pub use plan::{Pace, Plan, Spread, Target, Work};
pub use report::Report;
pub use sale::Sale;
