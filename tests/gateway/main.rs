//! The filter for repeats, with a real Redis: what it saves, and that nothing depends on it.

mod hints;
mod outages;
mod pair;
