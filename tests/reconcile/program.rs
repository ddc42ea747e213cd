//! `onefold reconcile` as its users run it.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use provider_simulator::Provider;
use sqlx::ConnectOptions;
use tempfile::TempDir;

use crate::books::{Books, Ended, PLAIN, number, onefold};
use crate::large;

#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_a_table_or_csv_or_json_and_goes_where_it_is_told_to() {
    let books = Books::start().await.expect("books");
    books.paid(Provider::Standard, "p1", &number("p1"), "88.80", "CNY").await;
    let at = books.time(0);
    let same = format!("{PLAIN}\np1,P-p1,88.80,CNY,payment,{at}\n");
    let ended = books.reconcile(Provider::Standard, same.as_bytes(), &[]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "Read 1 payments and 0 refunds; layout: plain; encoding: utf-8.");
    assert!(lines[1].contains(" the statement agrees with the books of "), "{ended:?}");
    // Standard error is no terminal here: plain lines, and nothing that moves the cursor.
    assert!(ended.stderr.contains("comparing the payments") && !ended.stderr.contains(['\u{1b}', '\r']));

    let other = format!("{PLAIN}\np1,P-p1,88.81,CNY,payment,{at}\n");
    let ended = books.reconcile(Provider::Standard, other.as_bytes(), &[]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.starts_with("DIFFERENCE "), "{ended:?}");
    assert!(
        ended
            .stdout
            .lines()
            .last()
            .is_some_and(|line| line.ends_with(" have 1 difference: 1 amount_differs."))
    );

    let ended = books.reconcile(Provider::Standard, other.as_bytes(), &["--format", "csv"]).await;
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!((lines.len(), ended.code), (2, 1), "{ended:?}");
    assert!(lines[1].starts_with("amount_differs,2,payment,p1,,P-p1,88.81,CNY,"), "{ended:?}");
    assert!(ended.stderr.contains("1 difference"), "{ended:?}");

    let directory = tempfile::tempdir().expect("a directory");
    let report = directory.path().join("report.json");
    let flags = ["--format", "json", "--output", report.to_str().expect("a path")];
    let ended = books.reconcile(Provider::Standard, other.as_bytes(), &flags).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(written["summary"]["differences"], 1);
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1, "nothing else is left");

    let ended = books.run(&["--provider", "standard", "-"], Some(same.into_bytes())).await;
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compared_is_told_in_a_sentence_and_exits_with_2() {
    let books = Books::start().await.expect("books");
    let statement = format!("{PLAIN}\np1,P-p1,88.80,CNY,payment,{}\n", books.time(0));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &statement).expect("a statement");
    let path = file.path().to_str().expect("a path");
    let directory = tempfile::tempdir().expect("a directory");
    let configuration = directory.path().join("onefold.toml");
    std::fs::write(&configuration, "[statements.standard]\namounts = \"cents\"\n").expect("a file");
    let configuration = configuration.to_str().expect("a path");
    for (arguments, told) in [
        (&["--provider", "standard", "no-such-file.csv"][..], "cannot read the statement no-such-file.csv"),
        (&["--provider", "standard", "."], "it is a directory"),
        (&["--provider", "paypal", path], "there are stripe, alipay, wechatpay, standard"),
        (&["--provider", "standard", "--client", "nobody", path], "there is no client named nobody"),
        (&["--provider", "standard", "--from", "yesterday", path], "2026-03-04T05:06:07Z"),
        (&["--provider", "standard", "--from", "2026-03-05", "--to", "2026-03-03", path], "before it begins"),
        (&["--provider", "standard", "--output", "no/such/directory", path], "cannot write"),
        (
            &["--provider", "standard", "--config", configuration, path],
            "statements.standard.amounts is major",
        ),
    ] {
        let ended = books.run(arguments, None).await;
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains(told), "{told}: {ended:?}");
        assert_eq!(ended.stdout, "", "{ended:?}");
    }
    std::fs::write(file.path(), "a,b\n1,2\n").expect("a file");
    let ended = books.run(&["--provider", "stripe", path], None).await;
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("looked for") && ended.stderr.contains("payment_intent_id"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_of_ones_own_is_configured() {
    let books = Books::start().await.expect("books");
    books.paid(Provider::Standard, "v-1", "P-0001", "88.80", "CNY").await;
    let configuration = "[statements.standard]\n\
                         payment_id = \"Vorgang\"\n\
                         payment_no = \"\"\n\
                         amount = \"Betrag\"\n\
                         currency = \"\"\n\
                         currency_of_all = \"CNY\"\n\
                         kind = \"\"\n\
                         time = \"Wann\"\n\
                         amounts = \"minor\"\n\
                         delimiter = \";\"\n\
                         utc_offset = \"+01:00\"\n";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("onefold.toml");
    std::fs::write(&path, configuration).expect("a file");
    let statement = format!("Wann;Vorgang;Betrag;Text\n{};v-1;8880;Tee\n", books.time(1));
    let flags = ["--config", path.to_str().expect("a path")];
    let ended = books.reconcile(Provider::Standard, statement.as_bytes(), &flags).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("layout: statements.standard"), "{ended:?}");
    assert!(ended.stdout.contains("It has no column with our numbers"), "{ended:?}");

    std::fs::write(&path, configuration.replace("payment_id", "payment_ids")).expect("a file");
    let ended = books.reconcile(Provider::Standard, statement.as_bytes(), &flags).await;
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("did you mean statements.standard.payment_id?"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_lines_are_compared() {
    const LINES: u32 = 100_000;
    let database = large::books(LINES).await.expect("books");
    let (_directory, path) = large::statement(LINES, |k, line| match k {
        7 => vec![],
        70 => vec![line.clone(), line],
        700 => vec![line.replace("7.00", "7.01")],
        7_000 => vec![line.replace("pay-", "paid-")],
        _ => vec![line],
    })
    .expect("a statement");
    let home = tempfile::tempdir().expect("a directory");
    let url = database.owner_options().to_url_lossy().to_string();
    let mut command =
        onefold(&home, &["reconcile", "--provider", "standard", "--client", large::CLIENT_NAME]);
    command.args(["--database-url", &url, "--format", "json"]).arg(&path);
    let ended = tokio::task::spawn_blocking(|| Ended::of(command, None)).await.expect("an end");
    let document = ended.document();
    let found: Vec<(&str, &str)> = document["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            (one["difference"].as_str().expect("a word"), one["provider_payment_id"].as_str().expect("an id"))
        })
        .collect();
    assert_eq!(
        found,
        [
            ("missing_here", "paid-7000"),
            ("amount_differs", "pay-700"),
            ("duplicate_line", "pay-70"),
            ("missing_there", "pay-7"),
            ("missing_there", "pay-7000"),
        ]
    );
    assert_eq!(document["summary"]["payments"], LINES);
    assert_eq!(ended.code, 1, "{ended:?}");
}

/// A working directory that PostgreSQL's user may enter, whoever runs the tests.
fn home() -> TempDir {
    let everybody = Permissions::from_mode(0o755);
    tempfile::Builder::new()
        .prefix("onefold-reconcile")
        .permissions(everybody)
        .tempdir()
        .expect("a directory")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_compared_beside_its_server_and_after_it() {
    let home = home();
    std::fs::write(home.path().join("statement.csv"), format!("{PLAIN}\np1,P-p1,1.00,CNY,payment,\n"))
        .expect("a statement");
    let reconcile = || {
        let day = ["--from", "2026-01-01", "--to", "2026-01-01"];
        let mut command = onefold(&home, &["reconcile", "--provider", "stripe", "statement.csv"]);
        command.args(day);
        Ended::of(command, None)
    };
    let mut server = onefold(&home, &["serve", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().expect("it is piped"));
    stdout.read_line(&mut line).expect("a line");
    assert!(line.starts_with("listening on "), "{line}");
    let beside = reconcile();
    let stop = Command::new("sh").args(["-c", &format!("kill -TERM {}", server.id())]).status();
    assert!(stop.expect("a shell").success() && server.wait().expect("an end").success());
    let alone = reconcile();
    for ended in [beside, alone] {
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stdout.contains("missing_here"), "{ended:?}");
    }
    assert!(
        !home.path().join(".onefold/data/postmaster.pid").exists(),
        "PostgreSQL has outlived its command"
    );
}
