//! The filter for repeats, with a real Redis: what it saves, and that nothing depends on it.

mod cluster;
mod hints;
mod outages;
mod pair;
mod readiness;
mod silence;
mod tls;
