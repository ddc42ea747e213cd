//! The command line of Onefold.

fn main() {}
