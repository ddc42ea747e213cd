//! Logs: on standard error, for people on a terminal, as JSON lines for everything else.

use std::env;
use std::io::{self, IsTerminal};

use anyhow::{Context, anyhow};
use tracing_subscriber::EnvFilter;

/// Variables that say what is logged, in the words of `tracing-subscriber` (`info`, `desk=debug,warn`). The first that
/// is set and not empty counts.
pub const FILTER_VARIABLES: [&str; 2] = ["ONEFOLD_LOG", "RUST_LOG"];

/// What a server logs: what it does, and what goes wrong. sqlx would tell of every slow statement twice.
pub const DEFAULT_OF_A_SERVER: &str = "info,sqlx=warn,hyper=warn";

/// What a command logs that a person has typed and waits for: only what goes wrong.
pub const DEFAULT_OF_A_COMMAND: &str = "warn";

/// Starts logging.
pub fn start(default: &str) -> anyhow::Result<()> {
    let filter = filter(default)?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = if io::stderr().is_terminal() {
        logs.with_ansi(env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())).try_init()
    } else {
        logs.json().flatten_event(true).try_init()
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}

fn filter(default: &str) -> anyhow::Result<EnvFilter> {
    for variable in FILTER_VARIABLES {
        if let Ok(text) = env::var(variable)
            && !text.is_empty()
        {
            return EnvFilter::try_new(&text)
                .with_context(|| format!("{variable} is not a filter such as info or desk=debug,warn"));
        }
    }
    Ok(EnvFilter::new(default))
}
