//! A server: the desk, the HTTP surface and the listener, started in order and shut down in the opposite one.
//!
//! It runs in any process and any number of times in one, so that a test starts exactly what the program starts. In
//! reading order:
//!
//! - this file: start and shutdown;
//! - [`database`]: reaching a database and migrating it.

pub mod database;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::desk::schema::Database;
use ::desk::sweeper::SweepSettings;
use ::desk::{Clock, Desk, Hooks, Metrics, SystemClock, housekeeping, sweeper};
use anyhow::Context;
use chrono::TimeDelta;
use consumers::Consumer;
use events::Broker;
use events::brokers::Address;
use events::relay::{ACCEPTED_WITHIN, Lag, Relay};
use gateway::repeats;
use sqlx::postgres::PgConnectOptions;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app::{self, AppState, HttpSettings};
use crate::configuration::Configuration;
use crate::consuming::EventWork;
use crate::demo::{self, Demo};
use crate::endpoints::{self, Endpoint, Endpoints};
use crate::issued_keys::{Issuer, Issuing};
use crate::listen::{Limits, Listening, Reserved};
use crate::metrics::Consumers;
use crate::provider_calls::polling::Polling;
use crate::provider_calls::refunding::Refunding;
use crate::provider_calls::{self, CallSettings};
use crate::pruning::{self, Kept};
use crate::render::render;
use crate::routes::Surface;
use crate::telemetry::traced_broker::TracedBroker;
use crate::watch::{self, AuditSettings};
use crate::webhooks::WebhookSettings;

/// How long requests that run when the server is told to stop may still take. They share the 10 s that a stop may take
/// with the rest of it: 2 s for the desk, and what is left for the embedded PostgreSQL.
const FINISH_WITHIN: Duration = Duration::from_secs(4);

/// How long the desk may then take to commit what it has taken.
const DRAIN_WITHIN: Duration = Duration::from_secs(2);

/// How long the answers of that may take to leave, and each of the background tasks to end.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);

/// What a server is started with.
pub struct ServerSettings {
    /// Where it serves.
    pub listen: Reserved,
    /// Where what is for operators alone is served; with everything else, if nowhere of its own.
    pub operations_listen: Option<Reserved>,
    /// How to connect to the database, as its owner.
    pub database: PgConnectOptions,
    /// Whether to apply the migrations that are missing. If not, a database that lacks some stops the start.
    pub migrate: bool,
    /// Whether to see to the demo data.
    pub demo: bool,
    /// What the HTTP surface allows. Whether the demo's key is good is not its owner's to say but the address's.
    pub http: HttpSettings,
    /// What connections may take.
    pub limits: Limits,
    /// Lanes, batches and patience of the desk.
    pub desk: ::desk::Settings,
    /// Where payment providers call, besides the demo's endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Where the demo's providers are simulated, if they are to be asked.
    pub demo_providers: Option<String>,
    /// How providers are called.
    pub provider_calls: CallSettings,
    /// What is configured about keys that the server makes.
    pub issuing: Issuing,
    /// The filter for repeats, if there is one.
    pub repeats: Option<repeats::Settings>,
    /// When a person is asked about what the sweeper finds.
    pub sweep: SweepSettings,
    /// When the books are audited.
    pub audit: AuditSettings,
    /// Whether anything is counted.
    pub metrics: bool,
    /// Whether events are published from here.
    pub relays: bool,
    /// Where events are published.
    pub broker: Address,
    /// For how long published events are kept.
    pub events_kept: TimeDelta,
    /// For how long what of events is kept that is done with, or that nobody could take.
    pub kept: Kept,
    /// What is done with events here.
    pub consumers: Vec<Consumer>,
    /// How clients are told of their events.
    pub webhooks: WebhookSettings,
    /// Connections for reads.
    pub pool_max: u32,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where a test may stop a lane.
    pub hooks: Hooks,
}

impl ServerSettings {
    /// A server with the settings of `configuration`, the machine's clock, migrations, and no demo data.
    pub fn new(listen: Reserved, database: PgConnectOptions, configuration: &Configuration) -> Self {
        Self {
            listen,
            operations_listen: None,
            database,
            migrate: true,
            demo: false,
            http: configuration.http_settings(),
            limits: configuration.listen_limits(),
            desk: configuration.desk_settings(),
            endpoints: Vec::new(),
            demo_providers: None,
            provider_calls: configuration.call_settings(),
            issuing: Issuing::default(),
            repeats: None,
            sweep: configuration.sweep_settings(),
            audit: configuration.audit_settings(),
            metrics: configuration.telemetry.metrics,
            relays: configuration.events.relay,
            broker: configuration.events.broker.clone(),
            events_kept: configuration.events_kept(),
            kept: configuration.kept(),
            consumers: configuration.consumers.enabled(),
            webhooks: configuration.webhooks.settings(),
            pool_max: configuration.database.pool_max,
            clock: Arc::new(SystemClock),
            hooks: Hooks::default(),
        }
    }
}

/// A server at work. Dropped without [`shutdown`](Self::shutdown), it stops accepting and leaves the rest to the end of
/// the runtime.
pub struct Server {
    listening: Listening,
    operations: Option<Listening>,
    desk: Desk,
    database: Database,
    demo: Option<Demo>,
    housekeeping: JoinHandle<()>,
    sweeping: JoinHandle<()>,
    polling: Polling,
    refunding: Refunding,
    calling: JoinHandle<()>,
    watching: JoinHandle<()>,
    pruning: JoinHandle<()>,
    relaying: JoinHandle<()>,
    event_work: EventWork,
    stop_housekeeping: DropGuard,
}

impl Server {
    /// Starts a server: migrations, demo data, desk, and at last the listener, so that whoever can connect is served.
    pub async fn start(settings: ServerSettings) -> anyhow::Result<Self> {
        let ServerSettings {
            listen,
            operations_listen,
            database,
            migrate,
            demo,
            mut http,
            limits,
            desk,
            mut endpoints,
            demo_providers,
            provider_calls,
            issuing,
            repeats,
            sweep,
            audit,
            metrics,
            relays,
            broker,
            events_kept,
            kept,
            consumers,
            webhooks,
            pool_max,
            clock,
            hooks,
        } = settings;
        if migrate {
            database::migrate(&database).await?;
        } else {
            database::check_migrations(&database).await?;
        }
        let database = Database::connect(database, pool_max).await.context("cannot use the database")?;
        if !database.restricted() {
            tracing::warn!(
                "the database's user may not make or take the role {}: only the program, not the database, keeps the journal append-only",
                ::desk::schema::SERVICE_ROLE
            );
        }
        let demo = if demo { Some(demo::ensure(database.owner_options(), clock.now()).await?) } else { None };
        http.demo_key_allowed = listen.is_loopback();
        warn_about(demo, &listen);
        let demo_is_usable = matches!(demo, Some(Demo::Added | Demo::Kept)) && listen.is_loopback();
        if demo_is_usable {
            let configured: HashSet<String> =
                endpoints.iter().map(|endpoint| endpoint.name.clone()).collect();
            let of_demo = endpoints::of_demo(demo_providers.as_deref());
            endpoints.extend(of_demo.into_iter().filter(|demo| !configured.contains(&demo.name)));
        }
        let endpoints = Endpoints::open(endpoints, database.pool()).await?;
        endpoints.warn_of_keys_out_of_time(clock.now());
        let issuer = Issuer::open(issuing, demo_is_usable, database.pool()).await?;

        let metrics = if metrics { Metrics::default() } else { Metrics::unrecorded() };
        let lag = Arc::new(Lag::default());
        let names: Vec<&str> = consumers.iter().map(|consumer| consumer.name()).collect();
        let broker = broker.broker(&names, events_kept.to_std().unwrap_or_default())?;
        let broker: Arc<dyn Broker> = Arc::new(TracedBroker(broker));
        let lags = consumers.iter().map(|consumer| Arc::new(consumers::Lag::of(*consumer))).collect();
        let consumers = Consumers { lags, clock: clock.clone() };
        let desk_settings = desk.clone();
        let desk =
            Desk::open(database.clone(), desk, clock.clone(), Arc::new(render), hooks, metrics.clone());
        let state = AppState::new(
            desk.clone(),
            database.clone(),
            clock.clone(),
            crate::metrics::Metrics::new(&metrics, lag.clone(), consumers.clone()),
            endpoints,
            issuer,
            http,
        );
        let stop = CancellationToken::new();
        if let Some(settings) = repeats {
            state.open_repeats(settings, &stop)?;
        }
        let operations = operations_listen
            .map(|listen| listen.listen(app::router(state.clone(), Surface::Operations), &limits))
            .transpose()?;
        let surface = if operations.is_some() { Surface::Public } else { Surface::Whole };
        let listening = listen.listen(app::router(state.clone(), surface), &limits)?;
        let housekeeping = tokio::spawn(housekeeping::run(database.clone(), clock.clone(), stop.clone()));
        let pruning = tokio::spawn(pruning::run(database.pool().clone(), clock.clone(), kept, stop.clone()));
        let sweeping =
            tokio::spawn(sweeper::run(desk.clone(), database.clone(), sweep, clock.clone(), stop.clone()));
        let watching = tokio::spawn(watch::run(state.clone(), audit, stop.clone()));
        let lags = (consumers.lags.as_slice(), &broker);
        let event_work = EventWork::start(&database, desk_settings, &clock, lags, webhooks);
        let relay = Relay {
            database: database.service_options().clone(),
            broker,
            committed: desk.events_committed(),
            lag,
            retention: events_kept,
            now: Arc::new({
                let clock = clock.clone();
                move || clock.now()
            }),
            accepted_within: ACCEPTED_WITHIN,
        };
        let relaying = match relays {
            true => tokio::spawn(relay.run(stop.clone())),
            false => tokio::spawn(async {}),
        };
        let lines = provider_calls::lines(&state, provider_calls);
        let polling = Polling::new(&lines, provider_calls.pause);
        let refunding = Refunding::new(&lines, provider_calls.pause);
        let (polls, refunds) = (polling.clone().run(stop.clone()), refunding.clone().run(stop.clone()));
        let calling = tokio::spawn(async {
            tokio::join!(polls, refunds);
        });
        Ok(Self {
            listening,
            operations,
            desk,
            database,
            demo,
            housekeeping,
            sweeping,
            polling,
            refunding,
            calling,
            watching,
            pruning,
            relaying,
            event_work,
            stop_housekeeping: stop.drop_guard(),
        })
    }

    /// Where requests are served.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Where what is for operators alone is served, if that is at an address of its own.
    pub fn operations_address(&self) -> Option<SocketAddr> {
        self.operations.as_ref().map(Listening::address)
    }

    /// The desk behind the HTTP surface.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// What became of the demo data, if it was asked for.
    pub fn demo(&self) -> Option<Demo> {
        self.demo
    }

    /// What asks providers about payments whose callback does not come.
    pub fn polling(&self) -> &Polling {
        &self.polling
    }

    /// What asks providers for refunds.
    pub fn refunding(&self) -> &Refunding {
        &self.refunding
    }

    /// Stops accepting, finishes what is running, commits, answers. Takes 8 s at most: what is not done by then is cut off,
    /// and its client, which has no answer, asks again under the same key.
    pub async fn shutdown(self) {
        let deadline = Instant::now() + FINISH_WITHIN;
        let connections = self.listening.stop_accepting().await;
        let finished = connections.finished_by(deadline).await;
        if timeout(DRAIN_WITHIN, self.desk.drain()).await.is_err() {
            tracing::warn!("the desk has not committed everything in time; its clients will ask again");
        }
        if !finished && !connections.finished_by(Instant::now() + LEAVE_WITHIN).await {
            let cut = connections.cut().await;
            tracing::warn!("{cut} connections were cut off before their answers");
        }
        drop(self.stop_housekeeping);
        if timeout(LEAVE_WITHIN, self.housekeeping).await.is_err() {
            tracing::warn!("a round of housekeeping was cut off; the next one does it again");
        }
        if timeout(LEAVE_WITHIN, self.relaying).await.is_err() {
            tracing::warn!("a batch of events was cut off; it is published again");
        }
        // After the relay, whose batch in hand may wait for them.
        if timeout(LEAVE_WITHIN, self.event_work.finish()).await.is_err() {
            tracing::warn!("events were cut off on their way; they are delivered again");
        }
        // What it has submitted is drained with the desk, or due at the next start.
        self.sweeping.abort();
        // Whoever has not answered yet is asked again at the payment's next turn.
        self.calling.abort();
        // Last of what listens, so that it can be watched until then. Who asks at this moment is not answered.
        if let Some(operations) = self.operations {
            operations.stop_accepting().await.cut().await;
        }
        // It writes nothing.
        self.watching.abort();
        // What it has not deleted is deleted later.
        self.pruning.abort();
        // A read that hangs would hold it up; the process's end closes what is left.
        let _ = timeout(LEAVE_WITHIN, self.database.pool().close()).await;
    }
}

fn warn_about(demo: Option<Demo>, listen: &Reserved) {
    match demo {
        Some(Demo::NameTaken) => tracing::warn!(
            "there is a client named {} that is not the demo's: no demo data was added",
            demo::CLIENT_NAME
        ),
        Some(Demo::Added | Demo::Kept) if !listen.is_loopback() => tracing::warn!(
            "the API key {} is refused, as everybody knows it and {} is not a loopback address: make a client of your own with `onefold client create`",
            demo::API_KEY,
            listen.address()
        ),
        _ => {}
    }
}
