//! A run, from its first account to its audit.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::net::lookup_host;
use tokio::runtime::Runtime;

use crate::accounts::{self, Answered};
use crate::audit::Auditor;
use crate::ledger::{Ledger, State};
use crate::orders::{OrderConnection, Thread};
use crate::pace::{Pacer, Schedule, Window};
use crate::replays::ReplayConnection;
use crate::request::Requests;
use crate::spread::Picker;
use crate::tally::{Live, Tally};
use crate::{Error, Pace, Plan, Report, Target, Work};

/// How often the progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Something to tell somebody who waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Accounts are being opened.
    Opening {
        /// How many are open and funded.
        ready: usize,
        /// Of how many.
        of: usize,
    },
    /// Requests are being answered before the load.
    Preparing,
    /// The load, over the last second.
    Loading {
        /// Seconds since it began.
        second: u64,
        /// Whether it is still the warm-up.
        is_warm_up: bool,
        /// Orders a second.
        orders: u64,
        /// Replays a second.
        replays: u64,
        /// Troubles, since the beginning.
        troubles: u64,
    },
    /// What was answered is compared with what is there.
    Auditing,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opening { ready, of } => write!(formatter, "accounts opened and funded: {ready} of {of}"),
            Self::Preparing => formatter.write_str("placing the orders that are to be asked for again"),
            Self::Loading { second, is_warm_up, orders, replays, troubles } => {
                let warm_up = if *is_warm_up { ", warm-up" } else { "" };
                write!(
                    formatter,
                    "{second:>4} s  {orders:>7} orders/s  {replays:>7} replays/s  {troubles} troubles{warm_up}"
                )
            }
            Self::Auditing => formatter.write_str("auditing"),
        }
    }
}

/// Runs the plan and audits it. It blocks; `watch` is told about once a second how it goes.
///
/// # Errors
///
/// When the run could not be prepared or audited. What goes wrong under load stands in the report.
pub fn run(plan: &Plan, mut watch: impl FnMut(Progress)) -> Result<Report, Error> {
    let runtime = runtime()?;
    let run = new_name();
    let requests = Requests::new(&plan.target, &plan.api_key);
    let address = runtime.block_on(resolve(&plan.target))?;
    let load_target = plan.load_target.as_ref().unwrap_or(&plan.target);
    let load_requests = Requests::new(load_target, &plan.api_key);
    let load_address = runtime.block_on(resolve(load_target))?;

    let account_ids = runtime.block_on(open_accounts(plan, &run, address, &requests, &mut watch))?;
    let answered = match plan.work {
        Work::Orders { .. } => Vec::new(),
        Work::Replays => {
            watch(Progress::Preparing);
            let placing =
                accounts::place_one_on_each(plan, &run, plan.threads, address, &requests, &account_ids);
            runtime.block_on(placing)?
        }
    };

    if let Some(command) = &plan.before_load {
        do_before_load(command)?;
    }
    let load = Load {
        plan,
        run: &run,
        address: load_address,
        requests: &load_requests,
        account_ids: &account_ids,
        answered: &answered,
    };
    let Loaded { tally, mut ledgers, not_sent } = load.run(&mut watch)?;
    if plan.work == Work::Replays {
        ledgers.push(ledger_of_one_on_each(account_ids.len()));
    }

    let audit = if plan.audit {
        watch(Progress::Auditing);
        let (ledgers, account_ids) = (&ledgers, &account_ids);
        let auditor = Auditor { plan, run: &run, address, requests: &requests, account_ids, ledgers };
        Some(runtime.block_on(auditor.audit())?)
    } else {
        None
    };
    Ok(Report::of(plan, &run, &tally, not_sent, audit))
}

/// Its standard output is the report's, so what the command says goes where progress goes.
fn do_before_load(command: &str) -> Result<(), Error> {
    let failed = |how: String| Error::BeforeLoad { command: command.to_owned(), how };
    let status = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// What has been prepared for a run that needs no more than accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) name: &'a str,
    pub(crate) address: SocketAddr,
    pub(crate) requests: &'a Requests,
    pub(crate) account_ids: &'a [String],
}

/// Opens the plan's accounts and does with them what `work` does, on one thread.
pub(crate) fn with_accounts<R>(
    plan: &Plan,
    mut watch: impl FnMut(Progress),
    work: impl AsyncFnOnce(Run<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let name = new_name();
    let requests = Requests::new(&plan.target, &plan.api_key);
    runtime()?.block_on(async {
        let address = resolve(&plan.target).await?;
        let account_ids = open_accounts(plan, &name, address, &requests, &mut watch).await?;
        work(Run { plan, name: &name, address, requests: &requests, account_ids: &account_ids }).await
    })
}

fn new_name() -> Arc<str> {
    format!("{:08x}", rand::random::<u32>()).into()
}

fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Threads)
}

/// Once, before the load: a resolver has no part in what is measured.
async fn resolve(target: &Target) -> Result<SocketAddr, Error> {
    let unresolved = |source| Error::Unresolved { target: target.clone(), source };
    let mut addresses = lookup_host(target.endpoint()).await.map_err(unresolved)?;
    addresses.next().ok_or_else(|| unresolved(io::ErrorKind::NotFound.into()))
}

async fn open_accounts(
    plan: &Plan,
    run: &str,
    address: SocketAddr,
    requests: &Requests,
    watch: &mut impl FnMut(Progress),
) -> Result<Arc<[String]>, Error> {
    let of = plan.accounts_opened();
    let mut told_at = Instant::now();
    let ids = accounts::open(plan, run, address, requests, |ready| {
        if told_at.elapsed() >= TELL_EVERY || ready == of {
            told_at = Instant::now();
            watch(Progress::Opening { ready, of });
        }
    });
    Ok(ids.await?.into())
}

/// The orders that were placed before the load: their thread is one more than there are.
fn ledger_of_one_on_each(accounts: usize) -> Ledger {
    let mut ledger = Ledger::default();
    for account in 0..accounts {
        let index = ledger.enter(u32::try_from(account).unwrap_or(u32::MAX));
        ledger.settle(index, State::Placed);
    }
    ledger
}

/// The load alone.
struct Load<'a> {
    plan: &'a Plan,
    run: &'a Arc<str>,
    address: SocketAddr,
    requests: &'a Requests,
    account_ids: &'a Arc<[String]>,
    answered: &'a [Answered],
}

/// What came of it.
struct Loaded {
    tally: Tally,
    ledgers: Vec<Ledger>,
    not_sent: u64,
}

impl Load<'_> {
    fn run(&self, watch: &mut impl FnMut(Progress)) -> Result<Loaded, Error> {
        let runtimes = (0..self.plan.threads).map(|_| runtime()).collect::<Result<Vec<_>, _>>()?;
        let window = Window::beginning_now(self.plan.warm_up, self.plan.measured);
        let pacer = match self.plan.pace {
            Pace::Closed => Pacer::Closed(window),
            Pace::Open { per_second } => Pacer::Open(Schedule::new(window, per_second)),
        };
        let live = Arc::new(Live::default());
        let mut loaded = Loaded { tally: Tally::new(window), ledgers: Vec::new(), not_sent: 0 };
        thread::scope(|scope| {
            let (ended, still_running) = mpsc::channel::<()>();
            let mut threads = Vec::new();
            for (index, runtime) in runtimes.into_iter().enumerate() {
                let (pacer, live, ended) = (&pacer, live.clone(), ended.clone());
                threads.push(scope.spawn(move || {
                    let seen = self.run_thread(&runtime, index, window, pacer, live);
                    drop(ended);
                    seen
                }));
            }
            drop(ended);
            let keeper = match &pacer {
                Pacer::Open(schedule) => Some(scope.spawn(|| schedule.keep())),
                Pacer::Closed(_) => None,
            };
            tell(window, &live, &still_running, watch);
            for thread in threads {
                let (tally, ledger) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                loaded.tally.add(tally);
                loaded.ledgers.push(ledger);
            }
            loaded.not_sent = keeper.map_or(0, |keeper| keeper.join().unwrap_or_default());
        });
        Ok(loaded)
    }

    /// One thread's share of the connections, until each has its last answer.
    fn run_thread(
        &self,
        runtime: &Runtime,
        index: usize,
        window: Window,
        pacer: &Pacer,
        live: Arc<Live>,
    ) -> (Tally, Ledger) {
        let accounts = u32::try_from(self.account_ids.len()).unwrap_or(u32::MAX);
        let thread = Thread {
            thread: index,
            run: self.run.clone(),
            address: self.address,
            requests: self.requests.clone(),
            window,
            account_ids: self.account_ids.clone(),
            picker: Picker::new(self.plan.spread, accounts),
            dice: RefCell::new(StdRng::from_os_rng()),
            duplicates_percent: match self.plan.work {
                Work::Orders { duplicates_percent } => duplicates_percent,
                Work::Replays => 0,
            },
            duplicates_due: Cell::new(0),
            ledger: RefCell::default(),
            tally: RefCell::new(Tally::new(window)),
            live,
        };
        let (all, threads) = (self.plan.connections, self.plan.threads);
        let connections = all / threads + usize::from(index < all % threads);
        runtime.block_on(async {
            let futures = (0..connections).map(async |_| match self.plan.work {
                Work::Orders { .. } => OrderConnection::new(&thread).run(pacer).await,
                Work::Replays => ReplayConnection::new(&thread, self.answered).run(pacer).await,
            });
            futures::future::join_all(futures).await
        });
        (thread.tally.into_inner(), thread.ledger.into_inner())
    }
}

/// Tells how it goes, until every thread has ended.
fn tell(window: Window, live: &Live, still_running: &mpsc::Receiver<()>, watch: &mut impl FnMut(Progress)) {
    let (mut orders_before, mut replays_before) = (0, 0);
    let mut told_at = window.begins_at;
    while still_running.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
        let now = Instant::now();
        let orders = live.orders.load(Ordering::Relaxed);
        let replays = live.replays.load(Ordering::Relaxed);
        let elapsed_ms = u64::try_from(now.duration_since(told_at).as_millis()).unwrap_or(u64::MAX).max(1);
        watch(Progress::Loading {
            second: now.duration_since(window.begins_at).as_secs(),
            is_warm_up: now < window.measured_from,
            orders: (orders - orders_before) * 1000 / elapsed_ms,
            replays: (replays - replays_before) * 1000 / elapsed_ms,
            troubles: live.troubles.load(Ordering::Relaxed),
        });
        (orders_before, replays_before, told_at) = (orders, replays, now);
    }
}
