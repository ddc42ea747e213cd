//! A provider's statement against the books.

mod alerts;
mod books;
mod differences;
mod large;
mod memory;
mod program;
