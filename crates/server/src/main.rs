//! The program `onefold`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// An order is a few dozen small allocations, most of them given back by another thread than took them; the system's
/// allocator spends a good part of the server's time on that.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    server::command_line::run()
}
