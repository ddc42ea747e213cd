//! Daily totals: how much of what happened on a day, by client and currency.
//!
//! In reading order:
//!
//! - [`line`](mod@line): what is counted;
//! - [`happened`]: from what an event tells of to the lines that it adds to;
//! - [`total`]: one line of one day, under a version;
//! - [`store`]: the SQL of the table `daily_totals`, and what the books say its rows should be.
//!
//! **The promise.** A day's totals are the sums of its events, each once and in any order, for an event brings what was
//! before as well as what is now. A day that has been rebuilt from the books is done: events of that day are in it already.
//!
//! This crate must not know how events come, nor what keeps one from being counted twice: that is the door's care.

pub mod happened;
pub mod line;
pub mod store;
pub mod total;

pub use happened::{Addition, Ending, Happened, OrderFigures, Shrunk};
pub use line::Line;
pub use total::{DailyTotal, Tally, TotalKey};
