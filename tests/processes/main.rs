//! Several processes of the service on one database: what only the database can arbitrate, and what a death leaves behind.

mod database_restart;
mod duplicates;
mod in_progress;
mod killed;
mod load;
mod logs;
mod program;
mod traces;
