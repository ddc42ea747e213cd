//! Kills, cuts and crashes at every moment: after each of them one effect under each name, and nothing that was told is
//! taken back.
//!
//! - [`ledger`]: clients whose keys are known, and the ledger of what each was told;
//! - [`asked`]: a request under a key;
//! - [`burst`]: the clients at work, until they are stopped;
//! - [`lives`]: holds and orders that live on after they were placed, and what must have become of them;
//! - [`program`]: the service in a process of its own, which may die;
//! - [`kills`]: the service is killed at random moments;
//! - [`database_kills`]: PostgreSQL is;
//! - [`cuts`]: a connection is cut while its commit is in flight;
//! - [`crashes`]: the service dies after each of its steps in turn;
//! - [`sweeps`]: it dies while it lets run out what is due;
//! - [`polls`], [`asked_refunds`]: it dies between a provider's answer and the commit of what follows from it;
//! - [`refunds_through_kills`]: it dies, and PostgreSQL dies, while providers are asked for refunds;
//! - [`stuck_refunds`]: it dies, and PostgreSQL dies, while refunds are stuck at WeChat Pay;
//! - [`soak`]: a long time of all of it, after which nothing has grown.

mod asked;
mod asked_refunds;
mod burst;
mod callbacks;
mod crashes;
mod cuts;
mod database_kills;
mod kills;
mod ledger;
mod lives;
mod polls;
mod program;
mod refunds_through_kills;
#[cfg(target_os = "linux")]
mod soak;
mod stuck_refunds;
mod sweeps;
