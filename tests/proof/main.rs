//! Kills, cuts and crashes at every moment: after each of them one effect under each name, and nothing that was told is
//! taken back.
//!
//! - [`load`]: clients whose keys are known, and the ledger of what each was told;
//! - [`lives`]: holds and orders that live on after they were placed, and what must have become of them;
//! - [`program`]: the service in a process of its own, which may die;
//! - [`kills`]: the service is killed at random moments;
//! - [`database_kills`]: PostgreSQL is;
//! - [`cuts`]: a connection is cut while its commit is in flight;
//! - [`crashes`]: the service dies after each of its steps in turn;
//! - [`polls`], [`asked_refunds`]: it dies between a provider's answer and the commit of what follows from it;
//! - [`soak`]: a long time of all of it, after which nothing has grown.

mod asked_refunds;
mod callbacks;
mod crashes;
mod cuts;
mod database_kills;
mod kills;
mod lives;
mod load;
mod polls;
mod program;
#[cfg(target_os = "linux")]
mod soak;
