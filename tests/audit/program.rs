//! `onefold verify` as its users run it.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::ledger::{small, tamper};

fn onefold(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_test-onefold"));
    command.args(arguments).current_dir(directory.path()).stdin(Stdio::null());
    for variable in onefold_tests::SERVICE_VARIABLES {
        command.env_remove(variable);
    }
    command.env("ONEFOLD_LISTEN", "127.0.0.1:0");
    command
}

/// A working directory that PostgreSQL's user may enter, whoever runs the tests.
fn home() -> TempDir {
    let everybody = Permissions::from_mode(0o755);
    tempfile::Builder::new().prefix("onefold-verify").permissions(everybody).tempdir().expect("a directory")
}

fn verify(database: &PgConnectOptions, arguments: &[&str]) -> Output {
    let url = database.to_url_lossy().to_string();
    let arguments: Vec<&str> = ["verify", "--database-url", &url].iter().chain(arguments).copied().collect();
    onefold(&home(), &arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_exits_with_0_for_books_that_balance() {
    let database = small().await.expect("books");
    let ended = verify(database.owner_options(), &[]);
    let stdout = text(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(stdout.lines().next().is_some_and(|line| line.starts_with("CHECK")), "{stdout}");
    assert!(stdout.lines().last().is_some_and(|line| line.ends_with(" balance.")), "{stdout}");
    // Standard error is no terminal here: plain lines, and nothing that moves the cursor.
    let stderr = text(&ended.stderr);
    assert!(stderr.lines().any(|line| line.starts_with("reading the journal, about ")), "{stderr}");
    assert!(!stderr.contains(['\u{1b}', '\r']), "{stderr:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_exits_with_1_and_lists_what_differs() {
    let database = small().await.expect("books");
    let damage = "UPDATE accounts SET available = available + 1 WHERE owner IN ('alice', 'bob')";
    tamper(database.owner_options(), damage).await.expect("damage");

    let ended = verify(database.owner_options(), &["--limit", "2"]);
    let stdout = text(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(stdout.contains(" have 3 differences; 2 are listed."), "{stdout}");
    let listed: Vec<&str> = stdout.lines().filter(|line| line.contains(": expected ")).collect();
    assert_eq!(listed.len(), 2, "{stdout}");
    assert!(listed[0].starts_with("balances: client 01900000-0000-7000-8000-0000000000c1, account "));

    let ended = verify(database.owner_options(), &["--json"]);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let document: Value = serde_json::from_slice(&ended.stdout).expect("one JSON document");
    assert_eq!(document["differences"], 3);
    assert_eq!(document["clean"], false);
    let balances = &document["checks"][0];
    assert_eq!((&balances["check"], &balances["differences"]), (&"balances".into(), &2.into()));
    assert_eq!(balances["listed"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_exits_with_2_when_it_could_not_audit() {
    let database = small().await.expect("books");
    let elsewhere = verify(&database.owner_options().clone().database("no_such_database"), &[]);
    let misconfigured = verify(database.owner_options(), &["--config", "no-such-file.toml"]);
    let drop = "ALTER TABLE orders DROP COLUMN captured_amount CASCADE";
    tamper(database.owner_options(), drop).await.expect("the column is gone");
    let unreadable = verify(database.owner_options(), &[]);
    for ended in [elsewhere, misconfigured, unreadable] {
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        assert!(ended.stdout.is_empty(), "{ended:?}");
        assert!(text(&ended.stderr).lines().last().is_some_and(|line| line.starts_with("onefold: ")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_audits_the_demo_beside_its_server_and_after_it() {
    let home = home();
    let mut server =
        onefold(&home, &["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().expect("it is piped"));
    stdout.read_line(&mut line).expect("a line");
    assert!(line.starts_with("listening on "), "{line}");

    let beside = onefold(&home, &["verify"]).output().expect("the program runs");
    let stop = Command::new("sh").args(["-c", &format!("kill -TERM {}", server.id())]).status();
    assert!(stop.expect("a shell").success() && server.wait().expect("an end").success());
    let alone = onefold(&home, &["verify", "--json"]).output().expect("the program runs");
    assert_eq!((beside.status.code(), alone.status.code()), (Some(0), Some(0)), "{beside:?} {alone:?}");
    let document: Value = serde_json::from_slice(&alone.stdout).expect("JSON");
    let records =
        document["checks"].as_array().expect("checks").iter().find(|one| one["check"] == "balances");
    assert_eq!(records.expect("the check")["rows"], 3, "the accounts of the demo");
    assert!(!home.path().join(".onefold/data/postmaster.pid").exists(), "PostgreSQL has outlived its audit");
}
