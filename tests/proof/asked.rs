//! A request under a key, and what its answers must have in common.

use std::time::Duration;

use anyhow::ensure;
use onefold_tests::http::{Caller, Exchange};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::lives::Deed;
use crate::program::DEADLINE;

/// How long a client waits before it asks again. A real one goes by `Retry-After`; these tests are in a hurry.
pub const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Whether the same request may be sent again under the same key, and nothing else is known of it yet.
pub fn is_passing(exchange: &Exchange) -> bool {
    const PASSING: [&str; 5] =
        ["idempotency-in-progress", "unavailable", "outcome-unknown", "balance-contended", "overloaded"];
    exchange.slug().is_some_and(|slug| PASSING.contains(&slug.as_str()))
}

/// A request under a key.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The key.
    pub key: String,
    /// Where it is posted to.
    pub path: String,
    /// What is posted.
    pub body: Value,
    /// The statuses that an answer which stays may have: more than one if what else happens decides.
    pub expected: &'static [u16],
    /// What it does to something that lives on, if it succeeds.
    pub deed: Option<Deed>,
}

impl Asked {
    /// Sends it once.
    pub async fn send(&self, caller: &Caller) -> anyhow::Result<Exchange> {
        caller.post(&self.path, &self.key, &self.body).await
    }

    /// Sends it until there is an answer that stays.
    pub async fn send_until_answered(&self, caller: &Caller) -> anyhow::Result<Exchange> {
        let began = Instant::now();
        loop {
            ensure!(began.elapsed() < DEADLINE, "{} has no answer that stays", self.key);
            match self.send(caller).await {
                Ok(answer) if !is_passing(&answer) => return Ok(answer),
                Ok(_) | Err(_) => sleep(ASK_AGAIN).await,
            }
        }
    }
}

/// Reads this path until what is there fits.
pub async fn until(caller: &Caller, path: &str, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let found = caller.get(path).await?.json();
        if fits(&found) {
            return Ok(found);
        }
        ensure!(began.elapsed() < DEADLINE, "waited in vain at {path}: {found}");
        sleep(ASK_AGAIN).await;
    }
}

/// Whether the same key was told the same.
pub fn is_unchanged(asked: &Asked, told: &Exchange, again: &Exchange) -> anyhow::Result<()> {
    let of = |answer: &Exchange| {
        let header = |name| answer.header(name).map(str::to_owned);
        (answer.status, header("content-type"), header("location"), answer.bytes.clone())
    };
    ensure!(
        of(told) == of(again),
        "{} was told {} {} and then {} {}",
        asked.key,
        told.status,
        String::from_utf8_lossy(&told.bytes),
        again.status,
        String::from_utf8_lossy(&again.bytes)
    );
    Ok(())
}
