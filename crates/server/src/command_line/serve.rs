//! `onefold serve`.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use desk::Hooks;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::database::OpenDatabase;
use super::{Options, print_line, signals, tell};
use crate::configuration::Configuration;
use crate::demo::{self, Demo};
use crate::demo_providers::DemoProviders;
use crate::endpoints::{self, Endpoint};
use crate::listen::{self, Reserved};
use crate::serve::{Server, ServerSettings};

/// How long a stop may take in all; a supervisor that kills after 10 s shall not have to.
const STOP_WITHIN: Duration = Duration::from_millis(9_500);

/// How long a restart of the embedded PostgreSQL that is under way may go on after the signal to stop. The server's own
/// shutdown, which may need it, takes as long; after that it is stopped, however far it has come.
const RESTART_GIVEN_UP_AFTER: Duration = Duration::from_secs(4);

/// Serves until SIGTERM or SIGINT.
pub async fn run(options: &Options, configuration: &Configuration) -> anyhow::Result<()> {
    let stop = signals::first_signal()?;
    let listen = listen::reserve(options.listen()).await?;
    let operations_listen = match options.operations_listen() {
        Some(address) => Some(listen::reserve(address).await.context("--operations-listen")?),
        None => None,
    };
    // Before a database is started: an endpoint that could take a forgery for a callback stops the start.
    let endpoints = configuration.callback_endpoints()?;
    endpoints::refuse_unsafe(&endpoints, !listen.is_loopback())?;
    let Some(database) = open(options, configuration, &stop).await? else { return Ok(()) };

    let served =
        serve(options, configuration, (listen, operations_listen, endpoints), &database, &stop).await;
    let stopped_at = served.as_ref().map_or_else(|_| Instant::now(), |stopped_at| *stopped_at);
    match timeout_at(stopped_at + STOP_WITHIN, database.close()).await {
        Ok(closed) => served.and(closed),
        Err(_) => {
            tracing::warn!(
                "the embedded PostgreSQL has not stopped in time; the next start takes it over as it is"
            );
            served.map(drop)
        }
    }
}

/// Opens the database; `None` if the program was told to stop while it waited for one that is not there.
async fn open(
    options: &Options,
    configuration: &Configuration,
    stop: &CancellationToken,
) -> anyhow::Result<Option<OpenDatabase>> {
    let opening = OpenDatabase::open(options, configuration);
    if options.database_url().is_none() {
        // Not to be left half done: whoever starts a PostgreSQL must know it, to be able to stop it.
        return opening.await.map(Some);
    }
    tokio::select! {
        opened = opening => opened.map(Some),
        () = stop.cancelled() => Ok(None),
    }
}

/// Serves until `stop`; answers when that was.
async fn serve(
    options: &Options,
    configuration: &Configuration,
    (listen, operations_listen, endpoints): (Reserved, Option<Reserved>, Vec<Endpoint>),
    database: &OpenDatabase,
    stop: &CancellationToken,
) -> anyhow::Result<Instant> {
    let demo = options.demo || database.is_embedded();
    let providers = match demo && listen.is_loopback() {
        true => Some(DemoProviders::reserve(picks_port(options)).await.context(NO_PROVIDERS)?),
        false => None,
    };
    let settings = ServerSettings {
        operations_listen,
        migrate: !options.no_migrate,
        demo,
        endpoints,
        demo_providers: providers.as_ref().map(DemoProviders::url),
        issuing: configuration.idempotency.issuing()?,
        broker: configuration.events.address()?,
        repeats: configuration.repeats_settings()?,
        hooks: Hooks::from_environment(),
        ..ServerSettings::new(listen, database.options().clone(), configuration)
    };
    let server = tokio::select! {
        started = Server::start(settings) => started?,
        () = stop.cancelled() => return Ok(Instant::now()),
    };
    // The one line for programs: whoever waits for it can connect from here on.
    let address = server.address();
    if let Err(error) = print_line(&format!("listening on http://{address}")) {
        tracing::warn!("listening on http://{address}, and {error:#}");
    }
    if let Some(address) = server.operations_address() {
        tracing::info!("operators are served on http://{address}");
    }
    let demo_is_usable =
        matches!(server.demo(), Some(Demo::Added | Demo::Kept)) && address.ip().is_loopback();
    // Where nobody reads along, standard error is for JSON lines.
    if demo_is_usable && io::stderr().is_terminal() {
        tell(&try_this(address));
    }
    if let Some(providers) = providers.filter(|_| demo_is_usable) {
        let directory = database.data_dir().map(Path::to_owned);
        tokio::spawn(providers.play(address, directory, stop.clone()));
    }
    let shut_down = async {
        stop.cancelled().await;
        let stopped_at = Instant::now();
        server.shutdown().await;
        stopped_at
    };
    let keep_database = async {
        tokio::select! {
            () = database.keep_running(stop) => {}
            () = async { stop.cancelled().await; sleep(RESTART_GIVEN_UP_AFTER).await } => {}
        }
    };
    let (stopped_at, ()) = tokio::join!(shut_down, keep_database);
    Ok(stopped_at)
}

/// Why the demo does not start, if its providers cannot listen.
const NO_PROVIDERS: &str = "cannot listen for the demo's payment providers";

/// Whether the service listens on a port that the system picks.
fn picks_port(options: &Options) -> bool {
    options.listen().ends_with(":0")
}

/// What a person may type next. The key and the order's number are new at each start, so that the first of the two commands
/// is a first time.
fn try_this(address: SocketAddr) -> String {
    let (key, account) = (demo::API_KEY, demo::ACCOUNT_A);
    let name = format!("{:08x}", rand::random::<u32>());
    format!(
        "
Try this: an order is placed, and 128.00 CNY leave alice's account.

  curl -i http://{address}/v1/orders -H 'Authorization: Bearer {key}' \\
    -H 'Idempotency-Key: try-{name}' -H 'Content-Type: application/json' \\
    -d '{{\"account_id\":\"{account}\",\"client_order_no\":\"TRY-{name}\",\"currency\":\"CNY\",\"amount\":\"128.00\",\"payment\":{{\"method\":\"balance\"}}}}'

Type it once more: the same answer comes back, with Idempotency-Replayed: true, and the money has left once:

  curl http://{address}/v1/accounts/{account} -H 'Authorization: Bearer {key}'

Payment providers are played beside the service: place an order with
\"payment\":{{\"method\":\"provider\",\"provider\":\"alipay\",\"payment_no\":\"PAY-{name}\"}}, and let its buyer pay it:

  onefold simulate pay PAY-{name} --server http://{address}

The API's pages are at http://{address}/docs. Ctrl-C stops.
"
    )
}
