//! The memory of a reconciliation does not grow with the statement.

use std::fs::File;
use std::process::Command;
use std::str::FromStr;

use reconciliation::{Difference, DifferenceKind, ReconcileError, Summary, reconcile};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::large::{books, request, statement};

/// Tells this test, run again as a process of its own, which database and which statement to compare.
const DATABASE: &str = "ONEFOLD_TEST_RECONCILE_DATABASE";
const STATEMENT: &str = "ONEFOLD_TEST_RECONCILE_STATEMENT";

/// Begins the line in which that process tells its peak.
const PEAK: &str = "peak memory in kB: ";

/// How much more a process may take for ten times the lines: buffers that were larger by chance, and no more.
const GROWTH_MAX_KB: u64 = 4 * 1024;

/// Of so many lines, one is not in the books and one of the books is not in the statement.
const DIFFERENT_EVERY: u32 = 1_000;

#[tokio::test]
async fn ten_times_the_lines_take_no_more_memory() {
    if let Ok(url) = std::env::var(DATABASE) {
        let statement = std::env::var(STATEMENT).expect("a statement");
        let options = PgConnectOptions::from_str(&url).expect("a URL");
        let (summary, found) = compared(&options, &statement).await;
        println!("{} lines, {} differences", summary.payments, found);
        return println!("{PEAK}{}", peak_kb());
    }
    let lines: u32 = if onefold_tests::long() { 1_000_000 } else { 100_000 };
    let few = peak_of_comparing(lines / 10).await;
    let many = peak_of_comparing(lines).await;
    println!("{few} kB for {} lines, {many} kB for {lines}", lines / 10);
    assert!(many <= few + GROWTH_MAX_KB, "{few} kB for {} lines, {many} kB for {lines}", lines / 10);
}

/// The peak of a process that compares a statement of so many lines with books of as many payments.
async fn peak_of_comparing(lines: u32) -> u64 {
    let database = books(lines).await.expect("books");
    let (_directory, path) = statement(lines, |k, line| match k % DIFFERENT_EVERY {
        0 => vec![line.replacen("pay-", "paid-", 1)],
        _ => vec![line],
    })
    .expect("a statement");
    let this = std::env::current_exe().expect("this program");
    let ended = Command::new(this)
        .args(["--exact", "memory::ten_times_the_lines_take_no_more_memory", "--nocapture"])
        .env(DATABASE, database.owner_options().to_url_lossy().to_string())
        .env(STATEMENT, path)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&ended.stdout);
    let expected = format!("{lines} lines, {} differences", 2 * (lines / DIFFERENT_EVERY));
    assert!(said.contains(&expected), "{expected} in {ended:?}");
    let peak = said.lines().find_map(|line| line.split_once(PEAK)).map(|(_, peak)| peak.parse());
    peak.unwrap_or_else(|| panic!("no peak was told: {ended:?}")).expect("a number")
}

async fn compared(options: &PgConnectOptions, statement: &str) -> (Summary, u64) {
    let mut found = 0;
    let mut each = async |difference: Difference| -> Result<(), ReconcileError> {
        assert!(matches!(difference.kind, DifferenceKind::MissingHere | DifferenceKind::MissingThere));
        found += 1;
        Ok(())
    };
    let file = File::open(statement).expect("the statement");
    let summary = reconcile(options, file, request(), &mut |_| {}, &mut each).await.expect("a comparison");
    (summary, found)
}

/// The largest resident memory that this process ever had.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
