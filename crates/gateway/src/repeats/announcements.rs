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

use super::counted::{Announced, Counted};
use super::names::Names;
use super::node::NOTES_AT_ONCE;

/// Where names are announced.
pub(super) const CHANNEL: &str = "onefold:1:names";

/// The longest message that a server publishes: a hash for each note of a round trip. Whoever else may publish there could
/// otherwise have this server note millions of names for one message, while its requests wait. What is passed over costs
/// the name's repeats a look into the database.
const BYTES_MAX: usize = NOTES_AT_ONCE * size_of::<u64>();

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
    counted: Counted,
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
    pub(super) fn new(names: Arc<Names>, counted: Counted) -> Self {
        Self { names, counted, listening_since: Mutex::new(None) }
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
        let (hashes, rest) = announced.as_chunks();
        if announced.len() > BYTES_MAX || !rest.is_empty() {
            self.counted.announced(Announced::Dropped);
            return;
        }
        for hash in hashes {
            self.names.note(u64::from_be_bytes(*hash));
        }
        self.counted.announced(Announced::Heard);
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
        let listener = listener();
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
    fn what_is_announced_is_known() {
        let listener = listener();
        listener.hear(&[&7_u64.to_be_bytes()[..], &8_u64.to_be_bytes()].concat());
        assert!(listener.names.note(7) && listener.names.note(8) && !listener.names.note(9));
        assert_eq!(counts(&listener), [1, 0]);
    }

    #[test]
    fn a_message_that_no_server_can_have_published_is_passed_over_and_counted() {
        let listener = listener();
        let hashes = |count: u64| (0..count).flat_map(u64::to_be_bytes).collect::<Vec<u8>>();
        listener.hear(&hashes(129));
        listener.hear(&[&7_u64.to_be_bytes()[..], b"odd"].concat());
        assert!(!listener.names.note(7));
        assert_eq!(counts(&listener), [0, 2]);
        listener.hear(&hashes(128));
        assert!(listener.names.note(127));
        assert_eq!(counts(&listener), [1, 2]);
    }

    fn listener() -> Listener {
        Listener::new(Arc::new(Names::new(1_000, KEPT)), Counted::default())
    }

    fn counts(listener: &Listener) -> [u64; 2] {
        [Announced::Heard, Announced::Dropped].map(|outcome| listener.counted.announcements(outcome))
    }
}
