//! The command line of `onefold`.
//!
//! In reading order:
//!
//! - this file: the commands, the flags and what they default to;
//! - [`serve`]: the server, from the first line of the start to the last of the shutdown;
//! - [`database`]: the database that a command works on: given, or embedded and started for it;
//! - [`migrate`], [`client`], [`webhook`], [`consumer`], [`report`], [`show`], [`callback`], [`mod@bench`], [`simulate`]: the
//!   other commands;
//! - [`signals`]: being told to stop.
//!
//! What a program reads goes to standard output, and nothing else does: one line from `serve`, a key from `client
//! create`. A command that fails says why in one sentence on standard error and exits with 1 (`verify` and `callback check`
//! with 2, for their 1 says that something differs); a command line that cannot be understood exits with 2.

pub mod bench;
pub mod callback;
pub mod client;
pub mod consumer;
pub mod database;
pub mod migrate;
pub mod reconcile;
pub mod report;
pub mod serve;
pub mod show;
pub mod signals;
pub mod simulate;
pub mod verify;
pub mod webhook;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use sqlx::postgres::PgConnectOptions;
use tokio::runtime::Handle;

use crate::configuration::Configuration;
use crate::telemetry;
use crate::telemetry::otlp::{self, Otlp};

/// Where `serve` listens unless told otherwise.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:8080";

/// The data directory below the working directory, unless told otherwise.
pub const DATA_DIR_DEFAULT: &str = ".onefold";

/// An order and account service in which every effect happens once.
#[derive(Clone, Debug, Parser)]
#[command(name = "onefold", version, propagate_version = true)]
pub struct CommandLine {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of every command.
    #[command(flatten)]
    pub options: Options,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve requests until SIGTERM or SIGINT (the default)
    Serve,
    /// Apply the migrations that the database lacks
    Migrate,
    /// Make, list and revoke clients
    #[command(subcommand)]
    Client(client::ClientCommand),
    /// Add, list and remove the endpoints at which clients are told of their events
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// List the events that a consumer could not take, or have them taken once more
    #[command(subcommand)]
    Consumer(consumer::ConsumerCommand),
    /// Compute daily totals from the books
    #[command(subcommand)]
    Report(report::ReportCommand),
    /// Audit the books: exit with 0 if they balance, 1 if something differs, 2 if they cannot be audited
    Verify(verify::VerifyArguments),
    /// Find out why a provider's callback is refused
    #[command(subcommand)]
    Callback(callback::CallbackCommand),
    /// Compare a provider's settlement statement with the books: exit with 0 if they agree, 1 if something differs, 2 if
    /// they cannot be compared
    Reconcile(Box<reconcile::ReconcileArguments>),
    /// Show an order, an account or a payment
    #[command(subcommand)]
    Show(show::ShowCommand),
    /// Put load on a running server, and audit what it did
    Bench(Box<bench::BenchOptions>),
    /// Play a payment provider against a running server
    #[command(subcommand)]
    Simulate(simulate::SimulateCommand),
    /// Print the OpenAPI document
    Openapi,
    /// Print the AsyncAPI document, which describes the events
    Asyncapi,
}

/// Flags of every command; they may stand before or after it.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Where to listen, as HOST:PORT; port 0 picks a free one
    #[arg(long, global = true, env = "ONEFOLD_LISTEN", value_name = "HOST:PORT", default_value = LISTEN_DEFAULT)]
    pub listen: String,
    /// Where to serve /readyz and /metrics, as HOST:PORT, in place of --listen
    #[arg(long, global = true, env = "ONEFOLD_OPERATIONS_LISTEN", value_name = "HOST:PORT")]
    pub operations_listen: Option<String>,
    /// The PostgreSQL to use, as postgres://USER:PASSWORD@HOST/DATABASE; without it, a private one is run
    #[arg(long, global = true, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database_url: Option<String>,
    /// A file with the password for --database-url, in place of one in the URL
    #[arg(long, global = true, env = "DATABASE_PASSWORD_FILE", value_name = "FILE", value_parser = path())]
    pub database_password_file: Option<PathBuf>,
    /// Where the private PostgreSQL keeps its data [default: .onefold]
    #[arg(long, global = true, env = "ONEFOLD_DATA_DIR", value_name = "DIRECTORY", value_parser = path())]
    pub data_dir: Option<PathBuf>,
    /// A TOML file with settings; onefold.example.toml describes them
    #[arg(long, global = true, env = "ONEFOLD_CONFIG", value_name = "FILE", value_parser = path())]
    pub config: Option<PathBuf>,
    /// Do not apply migrations; refuse to work on a database that lacks some
    #[arg(long, global = true)]
    pub no_migrate: bool,
    /// Add the demo data to the database of --database-url (the private one always has it)
    #[arg(long, global = true)]
    pub demo: bool,
}

/// A path that may be empty, unlike clap's own: a variable that is set to nothing is one.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

impl Options {
    /// Where to listen.
    pub fn listen(&self) -> &str {
        if self.listen.is_empty() { LISTEN_DEFAULT } else { &self.listen }
    }

    /// Where to serve what is for operators alone, if at an address of its own.
    pub fn operations_listen(&self) -> Option<&str> {
        self.operations_listen.as_deref().filter(|address| !address.is_empty())
    }

    /// The database's URL. A variable that is set to nothing counts as not set.
    pub fn database_url(&self) -> Option<&str> {
        self.database_url.as_deref().filter(|url| !url.is_empty())
    }

    /// How to connect to the database that was named, with the password of its file.
    pub fn database(&self) -> anyhow::Result<Option<PgConnectOptions>> {
        let password = self.database_password_file.as_deref().filter(|path| !path.as_os_str().is_empty());
        match (self.database_url(), password) {
            (Some(url), Some(file)) => Ok(Some(database::given(url)?.password(&database::password(file)?))),
            (Some(url), None) => database::given(url).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// The data directory that was asked for.
    pub fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref().filter(|path| !path.as_os_str().is_empty())
    }

    /// The settings of the file, or the defaults when there is none.
    pub fn configuration(&self) -> anyhow::Result<Configuration> {
        match self.config.as_deref().filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => Ok(Configuration::read(path)?),
            None => Ok(Configuration::default()),
        }
    }
}

/// Runs the program; answers what it exits with.
pub fn run() -> ExitCode {
    let command_line = CommandLine::parse();
    let failure = match command_line.command {
        Some(Command::Verify(_)) => ExitCode::from(verify::COULD_NOT_AUDIT),
        Some(Command::Reconcile(_)) => ExitCode::from(reconcile::COULD_NOT_COMPARE),
        Some(Command::Callback(_)) => ExitCode::from(callback::COULD_NOT_CHECK),
        _ => ExitCode::FAILURE,
    };
    let exit_code = run_command(command_line);
    telemetry::flush();
    exit_code.unwrap_or_else(|error| {
        tell(&format!("onefold: {}", sentence(&error)));
        failure
    })
}

/// An error with its causes; a cause that the sentence tells already is left out.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        _ if told.contains(&cause) => told,
        _ => format!("{told}: {cause}"),
    })
}

fn run_command(command_line: CommandLine) -> anyhow::Result<ExitCode> {
    let CommandLine { command, options } = command_line;
    let command = command.unwrap_or(Command::Serve);
    match &command {
        Command::Openapi => return print_line(crate::openapi::json().trim_end()).map(succeeded),
        Command::Asyncapi => return print_line(crate::asyncapi::json().trim_end()).map(succeeded),
        Command::Bench(bench) => return bench::run(bench, &options).map(succeeded),
        Command::Callback(command) => return callback::run(command),
        _ => {}
    }
    let configuration = options.configuration()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the program")?;
    let traces = match command {
        Command::Serve => traces(&configuration, runtime.handle().clone())?,
        _ => None,
    };
    let logged = match command {
        Command::Serve => telemetry::DEFAULT_OF_A_SERVER,
        _ => telemetry::DEFAULT_OF_A_COMMAND,
    };
    telemetry::start(logged, traces.as_ref())?;
    let exit_code = runtime.block_on(async {
        match command {
            Command::Show(command) => show::run(&command, &options, &configuration).await.map(succeeded),
            Command::Serve => serve::run(&options, &configuration).await.map(succeeded),
            Command::Migrate => migrate::run(&options, &configuration).await.map(succeeded),
            Command::Client(command) => client::run(command, &options, &configuration).await.map(succeeded),
            Command::Webhook(command) => webhook::run(command, &options, &configuration).await.map(succeeded),
            Command::Consumer(command) => {
                consumer::run(command, &options, &configuration).await.map(succeeded)
            }
            Command::Report(command) => report::run(command, &options, &configuration).await.map(succeeded),
            Command::Simulate(command) => simulate::run(command).await,
            Command::Verify(arguments) => verify::run(&arguments, &options, &configuration).await,
            Command::Reconcile(arguments) => reconcile::run(&arguments, &options, &configuration).await,
            Command::Openapi | Command::Asyncapi | Command::Bench(_) | Command::Callback(_) => {
                Ok(ExitCode::SUCCESS)
            }
        }
    });
    if let Some(traces) = traces {
        traces.end();
    }
    exit_code
}

/// Sends the traces of a server, if its configuration or a variable names a collector.
fn traces(configuration: &Configuration, runtime: Handle) -> anyhow::Result<Option<Otlp>> {
    let endpoint = otlp::endpoint(&configuration.telemetry.otlp_endpoint, |name| env::var(name).ok())?;
    endpoint.map(|endpoint| Otlp::begin(&endpoint, runtime)).transpose()
}

/// The exit code of a command that has nothing more to say than that it did what it was told.
fn succeeded((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// Prints a line on standard output, for a program to read; one that has read enough (`head`) is no error.
fn print_line(line: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a line on standard error, for a person to read.
fn tell(line: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests;
