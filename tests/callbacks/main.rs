//! Payment callbacks, over HTTP and on a real database: what a provider tells of, however often and in whatever order, is
//! booked once, and what does not fit is asked about.
//!
//! - [`stage`]: a server with the demo's endpoints and a clock, and providers that sign;
//! - [`effects`]: each row of the table of what a callback does;
//! - [`sequences`]: the deliveries of `sequences.json`, to the byte;
//! - [`races`]: copies at once, a callback and its order at once;
//! - [`history`]: what has become of an order, step by step;
//! - [`refunds`], [`alerts`], [`expiry`]: refunds told of, people who decide, time that runs out;
//! - [`cancelled`]: orders that are called off, and money that comes all the same;
//! - [`deliveries`]: what is shown and kept of deliveries;
//! - [`corrections`]: providers that correct themselves, and people who have decided before that;
//! - [`asked_refunds`]: refunds that providers are asked for;
//! - [`returned_items`]: what comes back to stock with them, and when;
//! - [`told_totals`]: providers that tell totals, and what is owed back and not given;
//! - [`polls`]: providers that are asked, since no callback comes;
//! - [`faults`]: a database that goes away, a server that dies, records that are forgotten.

mod alerts;
mod asked_refunds;
mod cancelled;
mod corrections;
mod deliveries;
mod effects;
mod expiry;
mod faults;
mod history;
mod polls;
mod races;
mod refunds;
mod returned_items;
mod sequences;
mod stage;
mod told_totals;
