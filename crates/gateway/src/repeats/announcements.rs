//! How a server learns the names that others have noted.
//!
//! Whoever notes something in a Redis publishes the hash of its name there; every server listens, and keeps the hashes in
//! its Bloom filter. A message that is published while nobody listens is lost, so the filter may be trusted only when the
//! server has listened without a break for as long as anything stays in Redis: whatever it has missed is gone by then.
//! Until then, and whenever the connection was lost, each name is looked up.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use redis::{Client, RedisResult};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::names::Names;

/// Where names are announced.
pub(super) const CHANNEL: &str = "onefold:1:names";

/// How often it is asked whether the connection is still there, and how long that may take. A connection that the network
/// has forgotten would else say nothing for ever, which is what no news looks like.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// Between two attempts to listen.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// How long it may take to begin to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(1);

/// What one Redis announces.
pub struct Listener {
    names: Arc<Names>,
    /// Since when it is listened to without a break.
    listening_since: Mutex<Option<Instant>>,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("listening_since", &self.listening_since).finish_non_exhaustive()
    }
}

impl Listener {
    /// Listens to nothing yet.
    pub(super) fn new(names: Arc<Names>) -> Self {
        Self { names, listening_since: Mutex::new(None) }
    }

    /// Whether nothing that is still in that Redis can have been missed.
    pub(super) fn has_heard_everything(&self, now: Instant) -> bool {
        let since = *self.listening_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| now.saturating_duration_since(since) >= self.names.kept())
    }

    /// Whether it is listened to now: that Redis has answered within the last second or two.
    pub(super) fn is_listening(&self) -> bool {
        self.listening_since.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn listens(&self, since: Option<Instant>) {
        *self.listening_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn hear(&self, announced: &[u8]) {
        let (hashes, _) = announced.as_chunks();
        for hash in hashes {
            self.names.note(u64::from_be_bytes(*hash));
        }
    }
}

/// Listens until it is told to stop, and begins again whenever it was interrupted.
pub(super) async fn listen(client: Client, listener: Arc<Listener>, stop: CancellationToken) {
    let listening = async {
        loop {
            if let Err(error) = listen_once(&client, &listener).await {
                tracing::debug!(error = %error, "a Redis of the filter for repeats cannot be listened to");
            }
            listener.listens(None);
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    };
    tokio::select! {
        () = listening => {}
        () = stop.cancelled() => {}
    }
}

async fn listen_once(client: &Client, listener: &Listener) -> RedisResult<()> {
    let subscribing = async {
        let (mut sink, stream) = client.get_async_pubsub().await?.split();
        sink.subscribe(CHANNEL).await?;
        RedisResult::Ok((sink, stream))
    };
    let Ok(subscribed) = timeout(LISTENS_WITHIN, subscribing).await else { return Ok(()) };
    let (mut sink, mut stream) = subscribed?;
    listener.listens(Some(Instant::now()));
    let mut ask = interval(ASKED_EVERY);
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = stream.next() => match message {
                Some(message) => listener.hear(message.get_payload_bytes()),
                None => return Ok(()),
            },
            _ = ask.tick() => match timeout(ASKED_EVERY, sink.ping::<redis::Value>()).await {
                Ok(answer) => drop(answer?),
                Err(_) => return Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Duration = Duration::from_secs(60);

    #[test]
    fn only_who_has_listened_for_as_long_as_anything_is_kept_has_heard_everything() {
        let listener = Listener::new(Arc::new(Names::new(100, KEPT)));
        let now = Instant::now();
        assert!(!listener.has_heard_everything(now) && !listener.is_listening());
        listener.listens(Some(now));
        assert!(listener.is_listening());
        assert!(!listener.has_heard_everything(now + KEPT / 2));
        assert!(listener.has_heard_everything(now + KEPT));
        listener.listens(None);
        assert!(!listener.has_heard_everything(now + KEPT));
    }

    #[test]
    fn what_is_announced_is_known_and_bytes_that_are_no_hash_are_passed_over() {
        let listener = Listener::new(Arc::new(Names::new(100, KEPT)));
        let announced = [&7_u64.to_be_bytes()[..], &8_u64.to_be_bytes(), b"odd"].concat();
        listener.hear(&announced);
        assert!(listener.names.note(7) && listener.names.note(8) && !listener.names.note(9));
    }
}
