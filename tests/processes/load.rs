//! Requests that are sent again until they have an answer to keep, as a good client does.

use std::time::Duration;

use anyhow::ensure;
use onefold_tests::http::{ALICE, Caller, Exchange, order_body};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::program::DEADLINE;

/// How long a client waits before it asks again. A real one goes by `Retry-After`; these tests are in a hurry.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Whether the same request may be sent again under the same key, and nothing else is known of it yet.
pub fn is_passing(exchange: &Exchange) -> bool {
    const PASSING: [&str; 5] =
        ["idempotency-in-progress", "unavailable", "outcome-unknown", "balance-contended", "overloaded"];
    exchange.slug().is_some_and(|slug| PASSING.contains(&slug.as_str()))
}

/// Posts under a key, at one server after the other, until there is an answer that stays.
///
/// # Errors
///
/// If there is none in [`DEADLINE`].
pub async fn post_until_answered(
    callers: &[Caller],
    path: &str,
    key: &str,
    body: &Value,
) -> anyhow::Result<Exchange> {
    let began = Instant::now();
    for caller in callers.iter().cycle() {
        ensure!(began.elapsed() < DEADLINE, "{key} has no answer that stays");
        match caller.post(path, key, body).await {
            Ok(answer) if !is_passing(&answer) => return Ok(answer),
            // A process that was killed, or a reason that passes.
            Ok(_) | Err(_) => sleep(ASK_AGAIN).await,
        }
    }
    unreachable!("the callers are tried for ever")
}

/// Places an order of one yuan from alice's account, numbered by its key.
pub async fn order_until_answered(callers: &[Caller], key: &str) -> anyhow::Result<Exchange> {
    post_until_answered(callers, "/v1/orders", key, &order_body(ALICE, key, "1.00")).await
}
