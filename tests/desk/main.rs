//! The desk on a real PostgreSQL: what it promises when requests meet, repeat, contend, and lose their database.
//!
//! Two desks on one database are to each other like two processes: nothing but the database is between them.

mod contention;
mod duplicates;
mod faults;
mod gate;
mod interleavings;
mod lost_commits;
mod observe;
mod sweeps;
