//! A consumer that keeps what it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use events::{Broker, Message};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// How long anything in these tests may take. It never does; a test that has hung shall say so.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// The pause between two looks at a condition, and between two attempts to subscribe.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long nothing must have come for the broker to be held for silent.
const STILL_FOR: Duration = Duration::from_secs(1);

/// The consumer's name.
pub const NAME: &str = "spectator";

/// What was delivered so far, repetitions included.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<Message>>>);

impl Seen {
    /// How many deliveries there were.
    pub fn deliveries(&self) -> usize {
        self.0.lock().expect("nobody has panicked").len()
    }

    /// How many there were when no more had come for a while.
    pub async fn deliveries_when_still(&self) -> usize {
        let (mut before, mut since) = (self.deliveries(), Instant::now());
        while since.elapsed() < STILL_FOR {
            sleep(LOOK_AGAIN).await;
            if self.deliveries() != before {
                (before, since) = (self.deliveries(), Instant::now());
            }
        }
        before
    }

    /// The events that were delivered.
    pub fn ids(&self) -> BTreeSet<Uuid> {
        self.0.lock().expect("nobody has panicked").iter().map(|message| message.id.0).collect()
    }

    /// Of each thing the sequences of its events, in the order in which they were delivered first.
    pub fn first_deliveries(&self) -> BTreeMap<String, Vec<i64>> {
        let mut known = BTreeSet::new();
        let mut of_things: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for message in self.0.lock().expect("nobody has panicked").iter() {
            if known.insert(message.id.0) {
                of_things.entry(message.subject.clone()).or_default().push(message.sequence);
            }
        }
        of_things
    }
}

/// A consumer at work. It subscribes again for as long as the broker is away, and ends when it is dropped.
pub struct Spectator {
    /// What it was given.
    pub seen: Seen,
    task: JoinHandle<()>,
}

impl Spectator {
    /// Subscribes; answers when it has.
    pub async fn start(broker: Arc<dyn Broker>) -> anyhow::Result<Self> {
        let seen = Seen::default();
        let began = Instant::now();
        let first = loop {
            match broker.subscribe(NAME).await {
                Ok(subscription) => break subscription,
                Err(error) if began.elapsed() > DEADLINE => return Err(error).context("cannot subscribe"),
                Err(_) => sleep(LOOK_AGAIN).await,
            }
        };
        let task = tokio::spawn({
            let seen = seen.clone();
            async move {
                let mut subscription = Some(first);
                loop {
                    let Some(open) = &mut subscription else {
                        sleep(LOOK_AGAIN).await;
                        subscription = broker.subscribe(NAME).await.ok();
                        continue;
                    };
                    match open.next().await {
                        Ok(delivery) => {
                            seen.0.lock().expect("nobody has panicked").push(delivery.message.clone());
                            // What cannot be acknowledged is delivered again.
                            let _ = delivery.ack().await;
                        }
                        Err(_) => subscription = None,
                    }
                }
            }
        });
        Ok(Self { seen, task })
    }
}

impl Drop for Spectator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Looks until the condition holds.
///
/// # Errors
///
/// What is `missing`, if it does not within [`DEADLINE`].
pub async fn until(
    missing: impl Fn() -> String,
    mut condition: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !condition().await? {
        anyhow::ensure!(began.elapsed() < DEADLINE, "waited in vain: {}", missing());
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
