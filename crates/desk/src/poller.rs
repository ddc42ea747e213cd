//! Waiting for names that another process is running.
//!
//! One task asks for all of them together, so that a waiting duplicate costs no connection of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempotency::{Name, store};
use sqlx::PgPool;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

/// Tells when a name is no longer run elsewhere. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Poller(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// None once the poller has stopped: then there is nobody to wait for.
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

type Waiters = HashMap<Name, Vec<oneshot::Sender<()>>>;

#[derive(Debug)]
struct Waiting(Option<Waiters>);

impl Default for Waiting {
    fn default() -> Self {
        Self(Some(Waiters::default()))
    }
}

impl Poller {
    /// Waits until no transaction runs the name any more; `false` if the deadline came first, or the end of the
    /// service.
    pub async fn freed(&self, name: &Name, deadline: Instant) -> bool {
        let (free, freed) = oneshot::channel();
        match &mut self.waiting().0 {
            Some(waiters) => waiters.entry(name.clone()).or_default().push(free),
            None => return false,
        }
        self.0.arrived.notify_one();
        matches!(timeout_at(deadline, freed).await, Ok(Ok(())))
    }

    /// Asks, every `interval` while somebody waits, until `stop`: then nobody waits any longer.
    pub async fn run(self, pool: PgPool, interval: Duration, stop: CancellationToken) {
        loop {
            let names = self.names();
            let pause = async {
                if names.is_empty() { self.0.arrived.notified().await } else { sleep(interval).await }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = pause => {}
            }
            let names = self.names();
            match store::running(&pool, &names).await {
                Ok(running) => {
                    self.wake(names.iter().zip(running).filter(|(_, runs)| !runs).map(|(name, _)| name))
                }
                // Those who wait have their deadlines; until then the database may come back.
                Err(error) => tracing::debug!(%error, "cannot ask which names are running"),
            }
        }
        self.waiting().0 = None;
    }

    /// The names that somebody still waits for.
    fn names(&self) -> Vec<Name> {
        let mut waiting = self.waiting();
        let Some(names) = &mut waiting.0 else { return Vec::new() };
        names.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        names.keys().cloned().collect()
    }

    fn wake<'a>(&self, free: impl Iterator<Item = &'a Name>) {
        let mut waiting = self.waiting();
        let Some(names) = &mut waiting.0 else { return };
        for waiter in free.filter_map(|name| names.remove(name)).flatten() {
            // Whoever stopped waiting meanwhile need not be told.
            let _ = waiter.send(());
        }
    }

    // A panic while the lock is held leaves the map as good as it was: every change is a single call.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
