//! The relay on a real PostgreSQL: nothing is lost, and of each thing nothing comes before what it rests upon, in whatever order
//! transactions commit and whoever is interrupted.

mod order;
mod pruning;
mod reader;
mod restored;
mod slow;
