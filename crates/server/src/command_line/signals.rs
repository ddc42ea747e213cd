//! Being told to stop: SIGTERM (from a supervisor) and SIGINT (Ctrl-C).

use std::process;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::telemetry;

/// Begins to listen for signals. The first one cancels the token; a second one ends the process at once, with the exit
/// code that a shell gives to a process that a signal has killed: what is lost by that, the next start recovers.
pub fn first_signal() -> anyhow::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        let (name, _) = next(&mut interrupt, &mut terminate).await;
        tracing::info!(signal = name, "stopping; a second signal stops at once");
        stop.cancel();
        let (name, number) = next(&mut interrupt, &mut terminate).await;
        tracing::warn!(signal = name, "stopped at once");
        telemetry::flush();
        process::exit(128 + number);
    });
    Ok(token)
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> (&'static str, i32) {
    tokio::select! {
        _ = interrupt.recv() => ("SIGINT", SignalKind::interrupt().as_raw_value()),
        _ = terminate.recv() => ("SIGTERM", SignalKind::terminate().as_raw_value()),
    }
}
