//! Waiting for names that another process is running.
//!
//! One task asks for all of them together, so that a waiting duplicate costs no connection of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempotency::{Name, store};
use sqlx::PgPool;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// How long the database may take to say which names run. It gives up by itself sooner, after 2 s without a free
/// connection and 5 s of a statement; a network that swallows packets lets a question hang for as long as TCP tries.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

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
            let asking = timeout(ANSWER_WITHIN, store::running(&pool, &names));
            let answered = tokio::select! {
                // The end of the service does not wait for an answer that nobody will use.
                () = stop.cancelled() => break,
                answered = asking => answered,
            };
            match answered {
                Ok(Ok(running)) => {
                    self.wake(names.iter().zip(running).filter(|(_, runs)| !runs).map(|(name, _)| name))
                }
                // Those who wait have their deadlines; until then the database may come back.
                Ok(Err(error)) => tracing::debug!(%error, "cannot ask which names are running"),
                Err(_) => tracing::debug!("no answer in time which names are running"),
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

#[cfg(test)]
mod tests {
    use idempotency::Key;
    use sqlx::postgres::PgPoolOptions;
    use tokio::net::TcpListener;
    use uuid::Uuid;

    use super::*;

    /// Less than a question may take, and more than a stop does.
    const AT_ONCE: Duration = Duration::from_secs(4);

    #[tokio::test]
    async fn a_stop_does_not_wait_for_a_database_that_says_nothing() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://nobody@{}/none", silent.local_addr().unwrap());
        let pool = PgPoolOptions::new().connect_lazy(&url).unwrap();
        let (poller, stop) = (Poller::default(), CancellationToken::new());
        let running = tokio::spawn(poller.clone().run(pool, Duration::from_millis(1), stop.clone()));
        let name =
            Name { client_id: client::ClientId(Uuid::nil()), key: Key::from_value("k").expect("a key") };
        let waiting = tokio::spawn(async move { poller.freed(&name, Instant::now() + 10 * AT_ONCE).await });

        let _asked = timeout(AT_ONCE, silent.accept()).await.expect("the poller asks").unwrap();
        stop.cancel();
        timeout(AT_ONCE, running).await.expect("the poller stops").unwrap();
        assert!(!waiting.await.unwrap(), "nobody is left to tell");
    }
}
