//! Real clusters, one per test, in directories of their own.

mod place;
mod recovery;
mod sharing;
mod starting;
