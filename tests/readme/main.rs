//! The README's first five minutes, walked: every command is typed into one terminal, in order, against a fresh service
//! in a process of its own, and what it prints is compared with what the page shows.
//!
//! - [`page`]: the section as steps;
//! - [`shown`]: what is shown, and whether it is what was printed;
//! - [`terminal`]: the shell that the commands are typed into;
//! - [`service`]: the service, started and stopped as from a terminal.

mod page;
mod service;
mod shown;
mod terminal;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use page::Step;
use service::Service;
use terminal::Terminal;

/// The address that the page names; the test's service listens elsewhere.
const ADDRESS_SHOWN: &str = "127.0.0.1:8080";

/// Longer than any step takes, on any machine: a step that is waited for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_first_five_minutes_are_as_the_page_shows_them() {
    let curl = Command::new("curl").arg("--version").output();
    assert!(
        curl.is_ok_and(|output| output.status.success()),
        "curl is not installed, and the README's commands need it: `apt-get install curl`, or as your system has it"
    );
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let steps = page::first_five_minutes(&std::fs::read_to_string(readme).expect("the README can be read"));

    // Root's PostgreSQL runs as another user, who must come this far.
    let everybody = Permissions::from_mode(0o755);
    let directory = tempfile::Builder::new().prefix("onefold-readme-").permissions(everybody).tempdir();
    let directory = directory.expect("a directory for the test");
    let mut terminal = Terminal::open(directory.path());
    let mut service = Service::start(directory.path());
    let mut faults = Vec::new();
    for step in steps {
        match step {
            Step::Restart => {
                service.stop();
                service = Service::start(directory.path());
            }
            Step::Type { line, command, shown } => {
                let printed = terminal.run(&command.replace(ADDRESS_SHOWN, service.address()));
                if let Err(fault) = shown.compare(&printed) {
                    faults.push(format!("README.md:{line}: {fault}\n--- printed ---\n{printed}"));
                }
            }
        }
    }
    service.stop();
    assert!(faults.is_empty(), "{} step(s) differ:\n\n{}", faults.len(), faults.join("\n\n"));
}
