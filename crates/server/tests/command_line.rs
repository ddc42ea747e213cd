//! The program as its users run it: real processes, a real PostgreSQL of their own, signals, and what they print.

#[path = "command_line/program.rs"]
mod program;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use embedded_postgres::{Cluster, Settings};
use program::{DEMO_KEY, Home, Server};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::time::interval;

const ACCOUNT_A: &str = "/v1/accounts/01900000-0000-7000-8000-00000000000a";
const ACCOUNT_B: &str = "/v1/accounts/01900000-0000-7000-8000-00000000000b";
const ACCOUNT_C: &str = "/v1/accounts/01900000-0000-7000-8000-00000000000c";

/// What the contract gives a stop.
const STOP_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_there_after_a_restart() {
    let home = Home::new();
    let server = home.serve().await;
    assert!(home.postgres_runs());
    let account = server.get(ACCOUNT_A, DEMO_KEY).await.json::<Value>().await.unwrap();
    assert_eq!(account["balance"], "10000.00");
    assert_eq!(server.get(ACCOUNT_B, DEMO_KEY).await.json::<Value>().await.unwrap()["balance"], "0.00");
    assert_eq!(server.get(ACCOUNT_C, DEMO_KEY).await.json::<Value>().await.unwrap()["balance"], "500000");

    let order = json!({
        "account_id": account["id"],
        "client_order_no": "A-1",
        "currency": "CNY",
        "amount": "128.00",
        "payment": { "method": "balance" },
    });
    let first = server.post("/v1/orders", DEMO_KEY, "order-1", &order).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    let first = first.bytes().await.unwrap();

    let ended = server.stop("TERM").await;
    assert!(ended.success(), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
    assert!(!home.postgres_runs(), "PostgreSQL has outlived its server");

    let server = home.serve().await;
    let account = server.get(ACCOUNT_A, DEMO_KEY).await.json::<Value>().await.unwrap();
    assert_eq!(account["balance"], "9872.00", "the demo data of the second start must not undo the order");
    let again = server.post("/v1/orders", DEMO_KEY, "order-1", &order).await;
    assert_eq!(again.headers()["Idempotency-Replayed"], "true");
    assert_eq!(again.bytes().await.unwrap(), first);
    assert!(server.stop("INT").await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demos_money_is_in_the_books() {
    let home = Home::new();
    let server = home.serve().await;
    let statement =
        server.get(&format!("{ACCOUNT_A}/entries"), DEMO_KEY).await.json::<Value>().await.unwrap();
    assert_eq!(statement["data"].as_array().map(Vec::len), Some(1));
    let entry = &statement["data"][0];
    assert_eq!(entry["kind"], "deposit");
    assert_eq!(entry["direction"], "credit");
    assert_eq!(entry["counter_account"], "outside");
    assert_eq!(entry["available_after"], "10000.00");
    assert_eq!(entry["account_version"], 1);
    assert_eq!(entry["reference"], "demo-opening-a");
    assert!(server.stop("TERM").await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_started_again_on_the_postgresql_it_has_left_behind() {
    let home = Home::new();
    let server = home.serve().await;
    server.stop("KILL").await;
    assert!(home.postgres_runs(), "there is nothing left to recover");

    let server = home.serve().await;
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::OK);
    assert!(server.stop("TERM").await.success());
    assert!(!home.postgres_runs());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_postgresql_is_started_again_beside_the_server_which_goes_on() {
    let home = Home::new();
    let mut server = home.serve().await;
    home.kill_postgres();
    server.wait_for_log("PostgreSQL was gone and has been started again").await;

    let deadline = Instant::now() + Duration::from_secs(15);
    let mut tries = interval(Duration::from_millis(100));
    let order = json!({
        "account_id": "01900000-0000-7000-8000-00000000000a",
        "client_order_no": "A-1",
        "currency": "CNY",
        "amount": "128.00",
        "payment": { "method": "balance" },
    });
    while server.post("/v1/orders", DEMO_KEY, "order-1", &order).await.status() != StatusCode::CREATED {
        assert!(Instant::now() < deadline, "no order succeeds after the restart");
        tries.tick().await;
    }
    let account = server.get(ACCOUNT_A, DEMO_KEY).await.json::<Value>().await.unwrap();
    assert_eq!(account["balance"], "9872.00");

    // Told to stop while there is none: it may be starting it just then.
    home.kill_postgres();
    let began = Instant::now();
    let ended = server.stop("TERM").await;
    assert!(ended.success(), "{ended:?}");
    assert!(began.elapsed() < STOP_WITHIN, "the stop has taken {:?}", began.elapsed());
    let verified = home.run(&["verify"]).await;
    assert!(verified.success(), "{verified:?}");
    assert!(!home.postgres_runs());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_idle_or_never_finish_asking_do_not_hold_up_the_exit() {
    let home = Home::new();
    let server = home.serve().await;
    // reqwest keeps this one open for the next request.
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::OK);
    let untouched = TcpStream::connect(server.address()).unwrap();
    let mut unfinished = TcpStream::connect(server.address()).unwrap();
    unfinished.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();

    let began = Instant::now();
    assert!(server.stop("TERM").await.success());
    assert!(began.elapsed() < STOP_WITHIN, "the stop has taken {:?}", began.elapsed());
    drop((untouched, unfinished));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_the_process_may_open_files_are_left_to_wait_and_not_to_fail() {
    let home = Home::new();
    let mut server = home.serve_with_open_files(128).await;
    server.wait_for_log("only 64 connections at a time are served").await;
    let crowd: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(server.address()).expect("the kernel takes it")).collect();
    drop(crowd);
    // Behind all of them: answered when each was accepted and found to be closed.
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::OK);

    let ended = server.stop("TERM").await;
    assert!(ended.success() && !ended.stderr.contains("cannot accept a connection"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_stops_at_once() {
    let home = Home::new();
    let mut server = home.serve().await;
    // Holds up the orderly stop for as long as that waits for requests.
    let mut unfinished = TcpStream::connect(server.address()).unwrap();
    unfinished.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
    // Answered later than the other connection was accepted, so that one is known to the server.
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::OK);

    server.signal("TERM");
    server.wait_for_log("a second signal stops at once").await;
    assert_eq!(server.stop("INT").await.code, Some(130));
    drop(unfinished);
    assert!(home.serve().await.stop("TERM").await.success());
    assert!(!home.postgres_runs());
}

/// Waits until a key that was revoked is refused.
async fn is_refused(server: &Server, key: &str) {
    let deadline = Instant::now() + Duration::from_secs(3);
    let mut tries = interval(Duration::from_millis(50));
    while server.get("/v1/accounts", key).await.status() != StatusCode::UNAUTHORIZED {
        assert!(Instant::now() < deadline, "a revoked key is still taken");
        tries.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_made_and_revoked_beside_a_running_server() {
    let home = Home::new();
    let server = home.serve().await;
    let made = home.run(&["client", "create", "tea-shop"]).await;
    assert!(made.success(), "{made:?}");
    let key = made.stdout.trim_end();
    assert_eq!(made.stdout, format!("{key}\n"), "the key stands alone on its line");
    assert_eq!(server.get("/v1/accounts", key).await.status(), StatusCode::OK);

    let again = home.run(&["client", "create", "tea-shop"]).await;
    assert_eq!((again.code, again.stdout.as_str()), (Some(1), ""));
    assert!(again.stderr.contains("there is a client named tea-shop already"), "{again:?}");
    let listed = home.run(&["client", "list"]).await;
    assert!(listed.stdout.contains("demo ") && listed.stdout.contains("tea-shop "), "{listed:?}");
    assert!(!listed.stdout.contains(key));

    let made = home.run(&["client", "key", "tea-shop", "--scope", "orders:read"]).await;
    let reader = made.stdout.trim_end();
    assert_eq!(server.get("/v1/orders", reader).await.status(), StatusCode::OK);
    assert_eq!(server.get("/v1/accounts", reader).await.status(), StatusCode::FORBIDDEN);
    let unknown = home.run(&["client", "key", "tea-shop", "--scope", "orders:all"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let keys = home.run(&["client", "keys", "tea-shop"]).await;
    let line = keys.stdout.lines().find(|line| line.ends_with("orders:read")).expect("the second key");
    let id = line.split(' ').next().expect("an id");
    assert!(home.run(&["client", "revoke", "tea-shop", "--key", id]).await.success());
    is_refused(&server, reader).await;
    assert_eq!(server.get("/v1/accounts", key).await.status(), StatusCode::OK, "the other key is good");
    assert_eq!(
        home.run(&["client", "revoke", "tea-shop", "--key", id]).await.code,
        Some(1),
        "it was good once"
    );

    assert!(home.run(&["client", "revoke", "tea-shop"]).await.success());
    is_refused(&server, key).await;
    assert_eq!(home.run(&["client", "revoke", "coffee-shop"]).await.code, Some(1));

    assert!(server.stop("TERM").await.success());
    assert!(
        home.run(&["client", "list"]).await.stdout.contains("tea-shop "),
        "without a server it starts its own"
    );
    assert!(!home.postgres_runs(), "and stops it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_a_database_is_an_error_and_nothing_is_made_in_it() {
    let home = Home::new();
    let file = home.write("file", "");
    for (arguments, code) in [
        (&["verify"][..], 2),
        (&["client", "list"], 1),
        (&["client", "create", "tea-shop"], 1),
        (&["client", "revoke", "tea-shop"], 1),
    ] {
        let ended = home.run(arguments).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        let named = format!("onefold: there is no database in {}: ", home.data_dir().display());
        assert!(ended.sentence().starts_with(&named), "{ended:?}");
        assert!(ended.sentence().contains("--data-dir"), "{ended:?}");
        assert!(!home.data_dir().exists(), "{arguments:?}");
        let ended = home.run(&[arguments, &["--data-dir", &file]].concat()).await;
        assert_eq!(ended.code, Some(code));
        assert!(ended.sentence().starts_with(&format!("onefold: {file} is a file")), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_key_is_refused_where_others_can_connect() {
    let home = Home::new();
    let mut server = home.serve_with(&["--listen", "0.0.0.0:0"]).await;
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::UNAUTHORIZED);
    server.wait_for_log("the API key demo-key is refused").await;
    assert!(server.stop("TERM").await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_named_before_any_database_is_started() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = home.run(&["--listen", &address]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(
        ended.sentence().starts_with(&format!("onefold: cannot listen on {address}: another program")),
        "{ended:?}"
    );
    assert!(!home.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_answered_with_an_example() {
    let ended = Home::new().run(&["--listen", "8080"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.sentence().contains("it is not HOST:PORT, such as 127.0.0.1:8080"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_key_of_the_configuration_stops_the_start() {
    let home = Home::new();
    let file = home.write("onefold.toml", "[desk]\nlanez = 3\n");
    let ended = home.run(&["--config", &file]).await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.sentence(),
        format!("onefold: {file}: there is no key desk.lanez; did you mean desk.lanes?")
    );
    assert!(!home.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_is_none_exits_with_2() {
    assert_eq!(Home::new().run(&["--lissten", "x"]).await.code, Some(2));
    assert_eq!(Home::new().run(&["client", "create", " x"]).await.code, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_answer_is_named_without_its_password() {
    let home = Home::new();
    let file = home.write("onefold.toml", "[database]\nstart_wait_ms = 0\n");
    // A port that was free a moment ago, and that nobody else is given so soon.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://shop:sesame@{free}/books");
    let ended = home.run(&["--config", &file, "--database-url", &url]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.sentence().starts_with(&format!("onefold: the database at {free} (books) does not answer")),
        "{ended:?}"
    );
    assert!(!ended.stderr.contains("sesame"), "{ended:?}");

    let ended = home.run(&["--database-url", "mysql://shop:sesame@db/books"]).await;
    assert!(
        ended.sentence().contains("must begin with postgres://") && !ended.stderr.contains("sesame"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_ones_own_is_migrated_and_has_no_demo_data_unless_asked_for() {
    let home = Home::new();
    let settings = Settings { durable: false, ..Settings::new(home.data_dir()) };
    let cluster = Cluster::attach_or_start(settings).await.unwrap();
    let url = cluster.database_url("books");

    let ended = home.run(&["--database-url", &url]).await;
    assert!(ended.sentence().contains("has no such database: create it"), "{ended:?}");
    let ended = home.run(&["--database-url", &url.replace("user=onefold", "user=stranger")]).await;
    assert!(ended.sentence().contains("does not let the user stranger in"), "{ended:?}");
    let postgres: PgConnectOptions = cluster.database_url("postgres").parse().unwrap();
    PgConnection::connect_with(&postgres).await.unwrap().execute("CREATE DATABASE books").await.unwrap();

    for arguments in [&["--no-migrate"][..], &["client", "list"][..]] {
        let ended = home.run(&[arguments, &["--database-url", &url]].concat()).await;
        assert!(ended.sentence().contains("run `onefold migrate`"), "{ended:?}");
    }
    let migrated = home.run(&["migrate", "--database-url", &url]).await;
    assert!(migrated.stdout.starts_with("applied 0001 service role\napplied 0002 clients\n"), "{migrated:?}");
    let migrated = home.run(&["migrate", "--database-url", &url]).await;
    assert_eq!(migrated.stdout, "nothing to apply: the database is up to date\n");

    let server = home.serve_with(&["--no-migrate", "--database-url", &url]).await;
    assert_eq!(server.get(ACCOUNT_A, DEMO_KEY).await.status(), StatusCode::UNAUTHORIZED);
    // Two at once, both of them with the demo.
    let arguments = ["--demo", "--database-url", &url];
    let (one, other) = tokio::join!(home.serve_with(&arguments), home.serve_with(&arguments));
    for server in [&one, &other] {
        let account = server.get(ACCOUNT_A, DEMO_KEY).await.json::<Value>().await.unwrap();
        assert_eq!(account["balance"], "10000.00");
    }
    for server in [one, other, server] {
        assert!(server.stop("TERM").await.success());
    }

    let books: PgConnectOptions = url.parse().unwrap();
    let mut connection = PgConnection::connect_with(&books).await.unwrap();
    connection
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'of tomorrow', TRUE, '', 0)",
        )
        .await
        .unwrap();
    connection.close().await.unwrap();
    for arguments in [&["serve"][..], &["serve", "--no-migrate"][..], &["migrate"][..]] {
        let ended = home.run(&[arguments, &["--database-url", &url]].concat()).await;
        assert_eq!(ended.code, Some(1));
        assert!(ended.sentence().contains("newer than this program: it has the migration 9999"), "{ended:?}");
    }
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_hold_every_text_is_refused_before_anything_is_made_in_it() {
    let home = Home::new();
    let settings = Settings { durable: false, ..Settings::new(home.data_dir()) };
    let cluster = Cluster::attach_or_start(settings).await.unwrap();
    let postgres: PgConnectOptions = cluster.database_url("postgres").parse().unwrap();
    let mut connection = PgConnection::connect_with(&postgres).await.unwrap();
    for (name, encoding) in [("latin", "LATIN1"), ("ascii", "SQL_ASCII")] {
        let create = format!(
            "CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        );
        connection.execute(AssertSqlSafe(create)).await.unwrap();
        for command in ["serve", "migrate"] {
            let ended = home.run(&[command, "--database-url", &cluster.database_url(name)]).await;
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{command}");
            assert!(ended.sentence().contains(&format!("is encoded in {encoding}")), "{ended:?}");
        }
    }
    connection.close().await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_needs_no_database() {
    let home = Home::new();
    let printed = home.run(&["openapi"]).await;
    let document: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert!(document["paths"]["/v1/orders"]["post"].is_object());
    assert!(!home.data_dir().exists());
}
