//! The program `onefold`.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::command_line::run()
}
