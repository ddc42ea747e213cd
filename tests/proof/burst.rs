//! Load that is being put on a server, until it is told to stop or nobody answers any more.

use anyhow::Context;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::program::DEADLINE;

/// Load that is being put on a server.
pub struct Burst {
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Burst {
    /// Starts so many clients, each of which ends by itself, or when it sees that it is told to.
    pub fn start<F>(clients: usize, client: impl Fn(watch::Receiver<bool>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = watch::Sender::new(false);
        let mut running = JoinSet::new();
        for _ in 0..clients {
            running.spawn(client(stop.subscribe()));
        }
        Self { stop, running }
    }

    /// Waits until every client has stopped by itself, because its server has died.
    pub async fn ended(mut self) -> anyhow::Result<()> {
        let all = async {
            while self.running.join_next().await.transpose()?.is_some() {}
            anyhow::Ok(())
        };
        timeout(DEADLINE, all).await.context("a client goes on")?
    }

    /// Tells every client to stop, and waits until it has.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        self.ended().await
    }
}
