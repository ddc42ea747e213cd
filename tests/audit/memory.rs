//! The audit's memory does not grow with the books.

use std::process::Command;
use std::str::FromStr;

use onefold_tests::database::new_service_database;
use sqlx::postgres::PgConnectOptions;

use crate::ledger::{audited, large};

/// Tells this test, run again as a process of its own, which database to audit.
const DATABASE: &str = "ONEFOLD_TEST_AUDIT_DATABASE";

/// Sets how many journal rows the larger books have; in all tables together there are four times as many rows.
const ROWS: &str = "ONEFOLD_TEST_AUDIT_ROWS";

/// Begins the line in which that process tells its peak.
const PEAK: &str = "peak memory in kB: ";

/// How much more a process may take for ten times the rows: buffers that were larger by chance, and no more.
const GROWTH_MAX_KB: u64 = 4 * 1024;

#[tokio::test]
async fn ten_times_the_rows_take_no_more_memory() {
    if let Ok(url) = std::env::var(DATABASE) {
        let options = PgConnectOptions::from_str(&url).expect("a URL");
        assert!(audited(&options).await.expect("an audit").is_clean());
        return println!("{PEAK}{}", peak_kb());
    }
    let rows: u32 = std::env::var(ROWS).ok().map_or(75_000, |rows| rows.parse().expect("a number"));
    let few = peak_of_auditing(rows / 10).await;
    let many = peak_of_auditing(rows).await;
    println!("{few} kB for {} rows, {many} kB for {rows}", rows / 10);
    assert!(many <= few + GROWTH_MAX_KB, "{few} kB for {} rows, {many} kB for {rows}", rows / 10);
}

/// The peak of a process that audits books of so many journal rows.
async fn peak_of_auditing(rows: u32) -> u64 {
    let database = new_service_database().await.expect("a database");
    let accounts = (rows / 100).clamp(1, 100_000);
    large(database.owner_options(), accounts, rows / accounts).await.expect("books");
    let this = std::env::current_exe().expect("this program");
    let ended = Command::new(this)
        .args(["--exact", "memory::ten_times_the_rows_take_no_more_memory", "--nocapture"])
        .env(DATABASE, url(database.owner_options()))
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&ended.stdout);
    let peak = said.lines().find_map(|line| line.split_once(PEAK)).map(|(_, peak)| peak.parse());
    peak.unwrap_or_else(|| panic!("no peak was told: {ended:?}")).expect("a number")
}

/// The URL of a database on the unix socket of the tests' PostgreSQL.
fn url(options: &PgConnectOptions) -> String {
    use sqlx::ConnectOptions;
    options.to_url_lossy().to_string()
}

/// The largest resident memory that this process ever had.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
