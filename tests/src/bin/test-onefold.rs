//! The program `onefold` as it is, built together with the tests: cargo tells a test where the programs of its own
//! package are, and of no other.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::command_line::run()
}
