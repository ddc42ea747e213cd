//! A provider's statement against the books.

mod large;
mod memory;
