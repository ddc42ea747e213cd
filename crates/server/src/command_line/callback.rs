//! `onefold callback`: what an endpoint says to captured deliveries, without a server or a database.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use payment_callback::capture::{Capture, read_captures};

use super::{print_line, tell};

/// The exit code when a file could not be checked: 1 says that something came out other than expected.
pub const COULD_NOT_CHECK: u8 = 2;

/// What to do with callbacks.
#[derive(Clone, Debug, Subcommand)]
pub enum CallbackCommand {
    /// Say what is made of captured deliveries: exit with 0, with 1 if one comes out other than expected, with 2 if a file
    /// or one of its captures cannot be read
    Check {
        /// Files with captures, in the format of the test vectors
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Runs the command. Nothing is checked before every file was read; a capture that cannot be read is told of, and the
/// others are checked.
pub fn run(command: &CallbackCommand) -> anyhow::Result<ExitCode> {
    let CallbackCommand::Check { files } = command;
    let mut captures = Vec::new();
    for file in files {
        captures.extend(read(file)?);
    }
    let (mut as_expected, mut all_read) = (true, true);
    for capture in &captures {
        match capture {
            Ok(capture) => as_expected &= check(capture)?,
            Err(problem) => {
                all_read = false;
                tell(problem);
            }
        }
    }
    Ok(match (all_read, as_expected) {
        (false, _) => ExitCode::from(COULD_NOT_CHECK),
        (true, false) => ExitCode::FAILURE,
        (true, true) => ExitCode::SUCCESS,
    })
}

/// The captures of a file, and what is wrong with those that are none.
fn read(file: &Path) -> anyhow::Result<Vec<Result<Capture, String>>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let captures = read_captures(&bytes).with_context(|| format!("cannot check {}", file.display()))?;
    let located = |fault| format!("cannot check {}: {fault}", file.display());
    Ok(captures.into_iter().map(|capture| capture.map_err(located)).collect())
}

/// One line of JSON for a program, and for a person what differs, or why the delivery was rejected where nothing was
/// expected of it.
fn check(capture: &Capture) -> anyhow::Result<bool> {
    let outcome = capture.check();
    print_line(&serde_json::to_string(&outcome)?)?;
    let Some(expect) = &capture.expect else {
        if let (Some(reason), Some(detail)) = (outcome.reason, &outcome.detail) {
            tell(&format!("{}: {reason}: {detail}", capture.id));
        }
        return Ok(true);
    };
    let differences = outcome.differences(expect);
    for difference in &differences {
        tell(&format!("{}: {difference}", capture.id));
    }
    Ok(differences.is_empty())
}
