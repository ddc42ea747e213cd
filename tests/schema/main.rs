//! What the migrations make, and the statements that run on it.

mod clients;
mod collecting;
mod layout;
mod migrating;
mod permissions;
mod statements;
