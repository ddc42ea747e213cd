//! One PostgreSQL, shared by every process that names its directory.
//!
//! Who starts, attaches or stops holds `start.lock` exclusively while at it, and takes or gives back `in-use.lock`
//! (shared) only then. So under `start.lock` "nobody else holds `in-use.lock`" is not only true but stays true, and the
//! last to leave can stop the server without a new user slipping in between.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::command::Runner;
use crate::configuration::flushing_is_off;
use crate::home::{Home, remove_if_there};
use crate::lock::LockFile;
use crate::postmaster::{Endpoint, Sighting, is_running, look};
use crate::programs::{find_programs, find_programs_of};
use crate::{Error, Programs, Settings, USER, socket};

/// Between two looks at a server that is starting or stopping.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long what a killed server has left behind may keep a new one from starting: its backends hold the shared
/// memory until they notice that their parent is gone.
const LEFTOVERS_GONE_WITHIN: Duration = Duration::from_secs(15);

/// A stop's shares, together less than the 10 s that the service has for its own: for the lock; for an orderly stop with
/// a checkpoint; and, after that, for one without, which the next start makes good from the log.
const STOP_LOCK_WITHIN: Duration = Duration::from_secs(1);
const STOP_FAST_WITHIN_S: u64 = 5;
const STOP_IMMEDIATE_WITHIN_S: u64 = 2;

/// How long another's share is doubted by the one who would be the last: see `lock`.
const BELIEVED_IN_USE_AFTER: Duration = Duration::from_millis(60);

/// A PostgreSQL that runs, and this process's share in it.
///
/// Dropping it without [`stop`](Self::stop) leaves PostgreSQL running, for the others that use it; the next process
/// that asks for the directory adopts it. So does the death of this process.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
    runner: Runner,
    endpoint: Endpoint,
    started_by_us: bool,
    /// Held shared.
    in_use: LockFile,
}

/// What [`Cluster::stop`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// PostgreSQL has stopped.
    Stopped,
    /// PostgreSQL runs on: another process, or another [`Cluster`] in this one, uses it.
    StillInUse,
}

impl Cluster {
    /// Attaches to the PostgreSQL of `settings.data_dir`, after starting it if it does not run, after making it if there
    /// is none. Any number of processes may do so at once: one starts it, the others wait and attach.
    ///
    /// # Errors
    ///
    /// All but [`Error::NotStopped`]. Nothing is left running that was not running before, except after [`Error::NotReady`].
    pub async fn attach_or_start(settings: Settings) -> Result<Self, Error> {
        let began = Instant::now();
        let data_dir = settings.data_dir.clone();
        let home = off_thread(move || Home::prepare(&data_dir)).await?;

        let start_lock = LockFile::open(home.start_lock())?;
        if !start_lock.lock_within(settings.start_within).await? {
            let waited_s = settings.start_within.as_secs();
            return Err(Error::Busy { path: start_lock.path().to_owned(), waited_s });
        }
        // Made while we waited, perhaps: whose it is and which version it has is known only under the lock.
        let (home, programs) = off_thread({
            let settings = settings.clone();
            move || {
                let home = Home::prepare(&settings.data_dir)?;
                let programs = programs_for(&home, settings.programs.as_deref())?;
                Ok((home, programs))
            }
        })
        .await?;
        let in_use = LockFile::open(home.in_use_lock())?;
        // Free, but for the moment in which a copy of it may still be held.
        if !in_use.lock_shared_within(settings.start_within).await? {
            return Err(Error::Busy {
                path: in_use.path().to_owned(),
                waited_s: settings.start_within.as_secs(),
            });
        }

        let runner = Runner { programs, home };
        let (endpoint, started_by_us) = serve(&runner, &settings, began).await?;
        let act = if started_by_us { "started" } else { "attached" };
        tracing::info!(
            data_dir = %runner.home.path().display(), "{act}; PostgreSQL is ready in {} ms", began.elapsed().as_millis()
        );
        Ok(Self { settings, runner, endpoint, started_by_us, in_use })
    }

    /// The directory of the unix socket. Others with the same data directory find the same.
    pub fn socket_dir(&self) -> &Path {
        &self.endpoint.socket_dir
    }

    /// The number in the socket's name; no TCP port is open.
    pub fn port(&self) -> u16 {
        self.endpoint.port
    }

    /// The superuser to connect as, without a password.
    pub fn user(&self) -> &str {
        USER
    }

    /// The data directory, without symbolic links.
    pub fn data_dir(&self) -> &Path {
        self.runner.home.path()
    }

    /// PostgreSQL's own log.
    pub fn log_file(&self) -> PathBuf {
        self.runner.home.log()
    }

    /// The programs that run it, `psql` often beside them.
    pub fn programs(&self) -> &Programs {
        &self.runner.programs
    }

    /// Whether this call started PostgreSQL, rather than attach to one that ran.
    pub fn started_by_us(&self) -> bool {
        self.started_by_us
    }

    /// The URL of a database, which need not exist yet (`postgres` does), for sqlx, `psql` and whatever else is built on libpq's
    /// form. A URL cannot name a user without a host, so both stand in its parameters.
    pub fn database_url(&self, database: &str) -> String {
        let host = percent_encoded(&self.socket_dir().to_string_lossy());
        let (database, port) = (percent_encoded(database), self.port());
        format!("postgres:///{database}?host={host}&port={port}&user={USER}&sslmode=disable")
    }

    /// Looks whether PostgreSQL is still there, and starts it again if it is not (killed, or out of memory): whether this
    /// call did so. Of several processes that look at once, one starts it. As cheap as reading two small files while
    /// it runs, one that hangs included.
    ///
    /// Drop the future only where [`stop`](Self::stop) follows: it takes up what was begun.
    ///
    /// # Errors
    ///
    /// Those of [`attach_or_start`](Self::attach_or_start), and [`Error::NoCluster`]: an empty database would be no
    /// substitute for the one whose files are gone.
    pub async fn restart_if_gone(&self) -> Result<bool, Error> {
        let home = &self.runner.home;
        if self.is_there().await? {
            return Ok(false);
        }
        let began = Instant::now();
        if home.made_by()?.is_none() {
            return Err(Error::NoCluster { path: home.path().to_owned() });
        }
        let start_lock = LockFile::open(home.start_lock())?;
        if !start_lock.lock_within(self.settings.start_within).await? {
            let waited_s = self.settings.start_within.as_secs();
            return Err(Error::Busy { path: start_lock.path().to_owned(), waited_s });
        }
        // Again, under the lock: it may have been moved away while we waited.
        if home.made_by()?.is_none() {
            return Err(Error::NoCluster { path: home.path().to_owned() });
        }
        let (_, started) = serve(&self.runner, &self.settings, Instant::now()).await?;
        if started {
            tracing::warn!(
                data_dir = %home.path().display(),
                "PostgreSQL was gone and has been started again, in {} ms", began.elapsed().as_millis()
            );
        }
        Ok(started)
    }

    async fn is_there(&self) -> Result<bool, Error> {
        let home = self.runner.home.clone();
        if off_thread(move || is_running(&home)).await? {
            return Ok(true);
        }
        // One in another container on the same volume shows no process, and answers.
        Ok(look(&self.runner.home).await?.is_alive())
    }

    /// Gives up this process's share and, if that was the last, stops PostgreSQL: in order, else (after 5 s) without its
    /// last checkpoint, which costs the next start a recovery and loses nothing. Takes little more than 8 s at most.
    ///
    /// # Errors
    ///
    /// [`Error::NotStopped`], and [`Error::Io`] or [`Error::Unreachable`] when `pg_ctl` cannot be run.
    pub async fn stop(self) -> Result<Stopped, Error> {
        let Self { runner, endpoint, in_use, .. } = self;
        let start_lock = LockFile::open(runner.home.start_lock())?;
        if !start_lock.lock_within(STOP_LOCK_WITHIN).await? {
            // Whoever holds it is about to use the cluster, or is stopping it.
            return Ok(Stopped::StillInUse);
        }
        // Not an upgrade of the shared lock, which flock does not promise to do in one step.
        drop(in_use);
        let in_use = LockFile::open(runner.home.in_use_lock())?;
        if !in_use.lock_within(BELIEVED_IN_USE_AFTER).await? {
            return Ok(Stopped::StillInUse);
        }
        if is_running(&runner.home)? && !runner.stop("fast", STOP_FAST_WITHIN_S).await? {
            runner.stop("immediate", STOP_IMMEDIATE_WITHIN_S).await?;
            if is_running(&runner.home)? {
                return Err(Error::NotStopped { path: runner.home.path().to_owned() });
            }
        }
        socket::remove_directory(&endpoint.socket_dir, &runner.home);
        tracing::info!(data_dir = %runner.home.path().display(), "PostgreSQL has stopped");
        Ok(Stopped::Stopped)
    }
}

/// Under both locks: has PostgreSQL serve, and says where, and whether it had to be started.
async fn serve(runner: &Runner, settings: &Settings, began: Instant) -> Result<(Endpoint, bool), Error> {
    let home = &runner.home;
    let mut started = false;
    let mut died_at = None;
    loop {
        let within_deadline = began.elapsed() < settings.start_within;
        match look(home).await? {
            Sighting::Serving(_) if settings.durable && !started && flushing_is_off(home) => {
                return Err(Error::NotDurable { path: home.path().to_owned() });
            }
            Sighting::Serving(endpoint) => return Ok((endpoint, started)),
            Sighting::Refusing(message) => return Err(Error::Refused { message }),
            Sighting::Changing { .. } if within_deadline => {}
            Sighting::Changing { pid } => {
                let (waited_s, log) = (settings.start_within.as_secs(), home.log());
                return Err(Error::NotReady { pid, waited_s, log, tail: home.tail_of_log(0) });
            }
            seen @ (Sighting::Dead | Sighting::DeadButMistakable | Sighting::Absent) => {
                if !matches!(seen, Sighting::Absent) {
                    died_at.get_or_insert_with(Instant::now);
                }
                if matches!(seen, Sighting::DeadButMistakable) {
                    // Safe though it looks bold: a server whose backends live on is still betrayed by its shared
                    // memory, which PostgreSQL looks for under the data directory's own key.
                    runner.remove_pid_file()?;
                }
                match start(runner, settings, died_at.is_some()).await {
                    Ok(()) => started = true,
                    Err(error @ Error::StartFailed { .. }) => {
                        let leftovers = died_at.is_some_and(|at| at.elapsed() < LEFTOVERS_GONE_WITHIN);
                        // One whose starter was killed may have been faster than ours; or ours is still recovering.
                        let alive = look(home).await?.is_alive();
                        if !(alive || within_deadline && leftovers) {
                            return Err(error);
                        }
                    }
                    Err(error) => return Err(error),
                }
                if started {
                    continue;
                }
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn start(runner: &Runner, settings: &Settings, after_a_death: bool) -> Result<(), Error> {
    let home = &runner.home;
    let (data_dir, major) = (home.path().display(), runner.programs.major());
    if home.made_by()?.is_none() {
        tracing::info!(%data_dir, user = %home.runner, "creating a PostgreSQL {major} cluster");
        runner.create_cluster(settings.durable).await?;
    } else if settings.durable && flushing_is_off(home) {
        runner.flush_cluster().await?;
    }
    let for_directory = home.clone();
    let socket_dir = off_thread(move || socket::make_directory(&for_directory)).await?;
    if after_a_death {
        // It names the dead server's process too, and PostgreSQL would be as mistaken about it.
        remove_if_there(&socket::lock_file_in(&socket_dir))?;
    }
    settings.write(home, &socket_dir)?;
    tracing::info!(%data_dir, "starting PostgreSQL {major}");
    runner.start(settings.start_within.as_secs().max(1)).await
}

fn programs_for(home: &Home, configured: Option<&Path>) -> Result<Programs, Error> {
    match home.made_by()? {
        Some(made_by) => find_programs_of(made_by, home.path(), configured),
        None => find_programs(configured),
    }
}

/// Looking up users and programs runs short commands, which would hold up an async thread.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// RFC 3986, section 2.1: every byte but the unreserved ones.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
