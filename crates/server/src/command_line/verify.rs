//! `onefold verify`: an audit of the books, beside running servers or without any.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use ::audit::{CheckReport, Progress, Report, Settings, audit};
use anyhow::bail;
use chrono::SecondsFormat;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::database::OpenDatabase;
use super::{Options, print_line, signals, tell};
use crate::configuration::Configuration;

/// What the program exits with when the books could not be audited; 1 means that they were, and something differs.
pub const COULD_NOT_AUDIT: u8 = 2;

/// Between two drawings of the progress bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// What to do with what the audit finds.
#[derive(Clone, Debug, Args)]
pub struct VerifyArguments {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// List so many differences at most; all are counted
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub limit: u32,
}

/// Audits the books and prints what came of it.
///
/// # Errors
///
/// If the books could not be audited. Differences are no error, but exit code 1.
pub async fn run(
    arguments: &VerifyArguments,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<ExitCode> {
    let stop = signals::first_signal()?;
    let work = async |database: &OpenDatabase| audit_until(&stop, database, arguments, configuration).await;
    let report = OpenDatabase::used_by(options, configuration, work).await?;
    if arguments.json {
        print_line(&serde_json::to_string_pretty(&document(&report))?)?;
    } else {
        for line in table(&report) {
            print_line(&line)?;
        }
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn audit_until(
    stop: &CancellationToken,
    database: &OpenDatabase,
    arguments: &VerifyArguments,
    configuration: &Configuration,
) -> anyhow::Result<Report> {
    let settings = Settings {
        retention: configuration.desk_settings().retention,
        listed_max: usize::try_from(arguments.limit)?,
    };
    let mut shown = Shown::on_standard_error();
    let mut show = |progress| shown.show(progress);
    tokio::select! {
        report = audit(database.options(), settings, &mut show) => Ok(report?),
        () = stop.cancelled() => bail!("stopped before the books were read to their end"),
    }
}

/// The progress, on standard error: a bar on a terminal, a line for each table otherwise.
enum Shown {
    Bar(ProgressBar),
    Lines,
}

impl Shown {
    fn on_standard_error() -> Self {
        if !io::stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::new(0);
        let template = "{msg:32} {bar:30} {human_pos} of about {human_len} rows, {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message("taking a snapshot");
        bar.enable_steady_tick(DRAW_EVERY);
        Self::Bar(bar)
    }

    fn show(&mut self, progress: Progress) {
        match (self, progress) {
            (Self::Bar(bar), Progress::Reading { what, rows_estimated, again }) => {
                bar.set_message(reading(what, again));
                bar.set_length(rows_estimated);
                bar.set_position(0);
            }
            (Self::Bar(bar), Progress::Read { rows }) => {
                // An estimate that the table has outgrown would show more than all.
                bar.set_length(bar.length().unwrap_or(0).max(rows));
                bar.set_position(rows);
            }
            (Self::Lines, Progress::Reading { what, rows_estimated, again }) => {
                tell(&format!("{}, about {rows_estimated} rows", reading(what, again)));
            }
            (Self::Lines, Progress::Read { .. }) => {}
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn reading(what: &str, again: bool) -> String {
    if again { format!("searching the {what}") } else { format!("reading the {what}") }
}

/// The report for a person: a line for each check, then what differs.
fn table(report: &Report) -> Vec<String> {
    let line = |name: &str, rows: &str, differences: &str, promise: &str| {
        format!("{name:14}  {rows:>12}  {differences:>11}  {promise}")
    };
    let mut lines = vec![line("CHECK", "ROWS", "DIFFERENCES", "HOLDS THAT")];
    lines.extend(
        report
            .checks
            .iter()
            .map(|check| line(check.name, &check.rows.to_string(), &count(check), check.promise)),
    );
    let taken_at = report.taken_at.to_rfc3339_opts(SecondsFormat::Micros, true);
    let listed: usize = report.checks.iter().map(|check| check.listed.len()).sum();
    lines.push(String::new());
    if report.is_clean() {
        lines.push(format!("The books of {taken_at} balance."));
        return lines;
    }
    let at_least = if report.may_be_more() { "at least " } else { "" };
    let differences = report.differences();
    lines.push(format!(
        "The books of {taken_at} have {at_least}{differences} differences; {listed} are listed."
    ));
    for check in &report.checks {
        for difference in &check.listed {
            lines.push(format!(
                "{}: client {}, {}: expected {}, found {}",
                check.name, difference.client_id, difference.subject, difference.expected, difference.found
            ));
        }
    }
    lines
}

fn count(check: &CheckReport) -> String {
    let at_least = if check.may_be_more { "≥ " } else { "" };
    format!("{at_least}{}", check.differences)
}

/// The report for a program.
fn document(report: &Report) -> Value {
    let checks: Vec<Value> = report.checks.iter().map(check_document).collect();
    json!({
        "taken_at": report.taken_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        "clean": report.is_clean(),
        "differences": report.differences(),
        "may_be_more": report.may_be_more(),
        "checks": checks,
    })
}

fn check_document(check: &CheckReport) -> Value {
    let listed: Vec<Value> = check
        .listed
        .iter()
        .map(|difference| {
            json!({
                "client_id": difference.client_id,
                "subject": difference.subject,
                "expected": difference.expected,
                "found": difference.found,
            })
        })
        .collect();
    json!({
        "check": check.name,
        "promise": check.promise,
        "rows": check.rows,
        "differences": check.differences,
        "may_be_more": check.may_be_more,
        "listed": listed,
    })
}

#[cfg(test)]
mod tests {
    use ::audit::Difference;
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;

    fn report(differences: u64, may_be_more: bool) -> Report {
        let listed = vec![Difference {
            client_id: Uuid::nil(),
            subject: "account 1".to_owned(),
            expected: "1.00".to_owned(),
            found: "2.00".to_owned(),
        }];
        let check = CheckReport {
            name: "balances",
            promise: "they hold",
            rows: 3,
            differences,
            may_be_more,
            listed: if differences == 0 { Vec::new() } else { listed },
        };
        Report { taken_at: DateTime::UNIX_EPOCH, checks: vec![check] }
    }

    #[test]
    fn clean_books_are_a_table_and_a_sentence() {
        assert_eq!(
            table(&report(0, false)),
            [
                "CHECK                   ROWS  DIFFERENCES  HOLDS THAT",
                "balances                   3            0  they hold",
                "",
                "The books of 1970-01-01T00:00:00.000000Z balance.",
            ]
        );
    }

    #[test]
    fn differences_are_counted_and_listed() {
        let lines = table(&report(7, true));
        assert_eq!(lines[1], "balances                   3          ≥ 7  they hold");
        assert_eq!(
            lines[3..],
            [
                "The books of 1970-01-01T00:00:00.000000Z have at least 7 differences; 1 are listed.",
                "balances: client 00000000-0000-0000-0000-000000000000, account 1: expected 1.00, found 2.00",
            ]
        );
    }

    #[test]
    fn the_document_says_the_same() {
        let document = document(&report(7, false));
        assert_eq!(document["clean"], false);
        assert_eq!(document["differences"], 7);
        assert_eq!(document["checks"][0]["listed"][0]["found"], "2.00");
    }
}
