//! Logs, on standard error, for people on a terminal, as JSON lines for everything else; and traces, sent to a collector.
//!
//! - this file: what is logged, in which of the two shapes, and who else listens;
//! - [`json_lines`]: an event as a line of JSON;
//! - [`gathered`]: many lines, one write;
//! - [`traces`]: the spans that are made, and what they tell;
//! - [`traced_broker`]: those of an event on its way to its consumers;
//! - [`otlp`]: sending them.
//!
//! Every line that is logged while a request is served has the request's id ([`request_id::current`]).

pub mod gathered;
pub mod json_lines;
pub mod otlp;
pub mod traced_broker;
pub mod traces;

use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::panic;

use anyhow::{Context, anyhow};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use self::gathered::Gathered;
use self::json_lines::JsonLines;
use self::otlp::Otlp;
use crate::request_id;

/// Variables that say what is logged, in the words of `tracing-subscriber` (`info`, `desk=debug,warn`). The first that
/// is set and not empty counts.
pub const FILTER_VARIABLES: [&str; 2] = ["ONEFOLD_LOG", "RUST_LOG"];

/// What a server logs: what it does, and what goes wrong. sqlx would tell of every slow statement twice.
pub const DEFAULT_OF_A_SERVER: &str = "info,sqlx=warn,hyper=warn";

/// What a command logs that a person has typed and waits for: only what goes wrong.
pub const DEFAULT_OF_A_COMMAND: &str = "warn";

/// The lines that are not written yet, of the whole process.
static GATHERED: Gathered = Gathered::new();

/// Starts logging, and sending traces if there is somebody to send them to. Whoever ends the process calls [`flush`]
/// before.
pub fn start(default: &str, traces: Option<&Otlp>) -> anyhow::Result<()> {
    // Spans are for traces alone: where those are off nobody listens to them, and they cost nothing.
    let logged = filter(default)?.and(filter_fn(|metadata| !metadata.is_span()));
    let listeners = tracing_subscriber::registry().with(traces.map(Otlp::layer));
    let logs = tracing_subscriber::fmt::layer();
    let started = if io::stderr().is_terminal() {
        let logs = logs
            .with_ansi(env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
            .with_writer(io::stderr)
            .fmt_fields(WithRequestId(DefaultFields::new()));
        listeners.with(logs.with_filter(logged)).try_init()
    } else {
        GATHERED.begin().context("cannot start the thread that writes the logs")?;
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            flush();
            tell(panic);
        }));
        let logs = logs.event_format(JsonLines).with_writer(&GATHERED);
        listeners.with(logs.with_filter(logged)).try_init()
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// Writes what was logged and is not written yet.
pub fn flush() {
    GATHERED.flush();
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

/// Fields as a person reads them, and after them the id of the request that is being served.
struct WithRequestId(DefaultFields);

impl<'writer> FormatFields<'writer> for WithRequestId {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        self.0.format_fields(writer.by_ref(), fields)?;
        match request_id::current() {
            Some(id) => write!(writer, " request_id={id}"),
            None => Ok(()),
        }
    }
}
