//! The brokers: [`in_process`] when none is configured.

pub mod in_process;

pub use in_process::InProcess;
