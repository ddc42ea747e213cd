//! The load generator against the whole service, and against a network that loses answers.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use embedded_postgres::{Cluster, Settings};
use load_generator::accounts;
use load_generator::audit::Auditor;
use load_generator::ledger::{Ledger, State};
use load_generator::request::Requests;
use load_generator::{Pace, Plan, Report, Sale, Spread, Work, life, sale};
use server::configuration::Configuration;
use server::demo;
use server::listen::reserve;
use server::serve::{Server, ServerSettings};
use sqlx::Postgres;
use sqlx::migrate::MigrateDatabase;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server with the demo data, on a database of its own.
struct Service {
    _directory: tempfile::TempDir,
    cluster: Cluster,
    server: Server,
    database: PgConnectOptions,
}

impl Service {
    async fn start() -> Self {
        let everybody = fs::Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().prefix("onefold").permissions(everybody).tempdir().unwrap();
        let settings = Settings { durable: false, ..Settings::new(directory.path().join("data")) };
        let cluster = Cluster::attach_or_start(settings).await.unwrap();
        let database_url = cluster.database_url("bench");
        Postgres::create_database(&database_url).await.unwrap();
        let database: PgConnectOptions = database_url.parse().unwrap();
        let listen = reserve("127.0.0.1:0").await.unwrap();
        let settings = ServerSettings::new(listen, database.clone(), &Configuration::default());
        let server = Server::start(ServerSettings { demo: true, ..settings }).await.unwrap();
        Self { _directory: directory, cluster, server, database }
    }

    async fn stop(self) {
        self.server.shutdown().await;
        self.cluster.stop().await.unwrap();
    }
}

fn plan(address: SocketAddr) -> Plan {
    Plan {
        target: format!("http://{address}").parse().unwrap(),
        load_target: None,
        before_load: None,
        api_key: demo::API_KEY.to_owned(),
        pace: Pace::Closed,
        work: Work::Orders { duplicates_percent: 0 },
        spread: Spread::Zipf,
        connections: 8,
        threads: 2,
        warm_up: Duration::ZERO,
        measured: Duration::from_secs(1),
        accounts: 20,
        database: None,
        audit: true,
    }
}

async fn run(plan: Plan) -> Report {
    tokio::task::spawn_blocking(move || load_generator::run(&plan, |_| {})).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_that_is_answered_is_there_once_whichever_way_it_was_sent() {
    let service = Service::start().await;
    let address = service.server.address();

    let twice = Work::Orders { duplicates_percent: 50 };
    let report = run(Plan { work: twice, database: Some(service.database.clone()), ..plan(address) }).await;
    assert!(report.passed(), "{report}");
    assert!(report.orders.answered_in_all > 0 && report.duplicates.replayed > 0, "{report}");
    let rows = report.audit.and_then(|audit| audit.rows).unwrap();
    assert_eq!(u64::try_from(rows.orders).unwrap(), report.orders.answered_in_all);

    let open = Pace::Open { per_second: NonZeroU32::new(40).unwrap() };
    let report = run(Plan { pace: open, spread: Spread::Hot, ..plan(address) }).await;
    assert!(report.passed(), "{report}");
    assert_eq!(report.orders.answered_in_all + report.not_sent, 40, "{report}");

    let report = run(Plan { work: Work::Replays, ..plan(address) }).await;
    assert!(report.passed() && report.replays.answered_in_all > 0, "{report}");
    assert_eq!(report.orders.answered_in_all, 0, "{report}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_loses_its_answer_is_asked_again_under_its_key_and_happens_once() {
    let service = Service::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let losing = listener.local_addr().unwrap();
    let proxy = tokio::spawn(lose_answers(listener, service.server.address()));

    // A page of the list is longer than any connection lives, so the audit counts in the database.
    let database = Some(service.database.clone());
    let report = run(Plan { database, ..plan(losing) }).await;
    assert!(report.transport_faults.get("closed").is_some_and(|count| *count > 0), "{report}");
    assert!(report.passed(), "{report}");
    proxy.abort();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_not_there_and_one_that_nobody_answered_fail_the_audit() {
    let service = Service::start().await;
    let address = service.server.address();
    let plan = Plan { accounts: 1, ..plan(address) };
    let requests = Requests::new(&plan.target, &plan.api_key);
    let account_ids = accounts::open(&plan, "r", address, &requests, |_| {}).await.unwrap();
    let answered =
        accounts::place_one_on_each(&plan, "r", 0, address, &requests, &account_ids).await.unwrap();
    assert_eq!(answered.len(), 1);

    // What is believed of the orders r-0-0, which is there, and r-0-1, which is not.
    let beliefs = [
        ([State::Placed].as_slice(), true),
        (&[State::Placed, State::Refused], true),
        (&[], false),
        (&[State::Refused], false),
        (&[State::Unsettled], false),
        (&[State::Placed, State::Placed], false),
        (&[State::Refused, State::Placed], false),
    ];
    for database in [None, Some(service.database.clone())] {
        let plan = Plan { database, ..plan.clone() };
        for (states, passes) in beliefs {
            let mut ledger = Ledger::default();
            for state in states {
                let index = ledger.enter(0);
                ledger.settle(index, *state);
            }
            // Which order it is that is there, the list tells, and a count does not.
            if plan.database.is_some() && states == [State::Refused, State::Placed] {
                continue;
            }
            let (ledgers, account_ids) = (&[ledger], &account_ids);
            let auditor =
                Auditor { plan: &plan, run: "r", address, requests: &requests, account_ids, ledgers };
            let audit = auditor.audit().await.unwrap();
            assert_eq!(audit.passed, passes, "{states:?}: {audit:?}");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_counted_by_its_slug() {
    let service = Service::start().await;
    let plan = Plan { api_key: "nobody".to_owned(), ..plan(service.server.address()) };
    let refused = tokio::task::spawn_blocking(move || load_generator::run(&plan, |_| {})).await.unwrap();
    assert!(refused.unwrap_err().to_string().contains("unauthorized"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_sells_every_piece_once_and_orders_reach_each_of_their_ends() {
    let service = Service::start().await;
    let plan = plan(service.server.address());
    let (of_sale, of_life) = tokio::task::spawn_blocking(move || {
        (sale::run(&plan, Sale { buyers: 60, pieces: 7 }, |_| {}), life::run(&plan, 10, |_| {}))
    })
    .await
    .unwrap();
    let sold = of_sale.unwrap();
    assert!(sold.passed, "{sold}");
    assert_eq!((sold.orders.answered, sold.refusals.answered, sold.sold), (7, 53, 7), "{sold}");
    let lived = of_life.unwrap();
    assert!(lived.passed(), "{lived}");
    let counts = [lived.authorized, lived.captured, lived.cancelled, lived.paid, lived.refunded];
    assert_eq!(counts.map(|pace| pace.answered), [20, 10, 10, 10, 10], "{lived}");
    service.stop().await;
}

/// Bytes of answers that a connection is good for: some whole ones, and a part of another.
const ANSWER_BYTES: usize = 3_000;

/// Passes everything on, and cuts each connection in the middle of an answer.
async fn lose_answers(listener: TcpListener, server: SocketAddr) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        tokio::spawn(pass_on(client, TcpStream::connect(server).await.unwrap()));
    }
}

async fn pass_on(client: TcpStream, server: TcpStream) {
    let (mut from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut answers = from_server.take(u64::try_from(ANSWER_BYTES).unwrap());
    // Whichever side goes first, the connection is over.
    let _ = tokio::io::copy(&mut answers, &mut to_client).await;
    let _ = to_client.shutdown().await;
    requests.abort();
}
