//! `onefold simulate provider`: the four providers as one server with books of its own; and `simulate statement`, which
//! asks it for them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use provider_simulator::books::Books;
use provider_simulator::delivery::{FASTER_DEFAULT, Plan};
use provider_simulator::journal::Journal;
use provider_simulator::office::Office;
use provider_simulator::target::Target;
use provider_simulator::trouble::{Chances, Trouble};
use provider_simulator::{Provider, api, through};
use tokio::net::TcpListener;

use super::super::{path, print_line, signals};

/// Where `simulate provider` listens unless told otherwise: where the demo's providers are, which it takes the place of.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:8090";

/// The flags of `simulate provider`.
#[derive(Clone, Debug, Args)]
pub struct ProviderFlags {
    /// Where to listen, as HOST:PORT; port 0 picks a free one
    // It takes the place of the server's flag, and must be called like it for that.
    #[arg(long, value_name = "HOST:PORT", default_value = LISTEN_DEFAULT)]
    listen: String,
    /// The server that is called back
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: Target,
    /// Call nobody back: whoever wants to know must ask
    #[arg(long)]
    silent: bool,
    /// By what the providers' pauses between attempts are divided: 3600 makes an hour a second
    #[arg(long, value_name = "FACTOR", default_value_t = FASTER_DEFAULT, value_parser = clap::value_parser!(u32).range(1..))]
    faster: u32,
    /// A file to keep the books in, so that the next start remembers
    #[arg(long, value_name = "FILE", value_parser = path())]
    journal: Option<PathBuf>,
    /// Of a hundred requests, how many get no answer and have no effect
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    timeouts: u8,
    /// Of a hundred requests, how many have their effect and get no answer
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    lost: u8,
    /// Of a hundred requests, how many get 502 and have no effect
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    errors: u8,
    /// Of a hundred requests, how many are answered late
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    slow: u8,
    /// How late, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    slow_ms: u64,
    /// The same seed is the same trouble
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// The flags of `simulate statement`.
#[derive(Clone, Debug, Args)]
pub struct StatementFlags {
    /// Whose: stripe, alipay, wechatpay or standard
    #[arg(long, value_name = "PROVIDER")]
    provider: Provider,
    /// The running `onefold simulate provider`
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8090")]
    from: Target,
}

/// Serves until a signal comes; every callback is a line.
pub async fn serve(flags: ProviderFlags) -> anyhow::Result<ExitCode> {
    let stop = signals::first_signal()?;
    let listener = TcpListener::bind(flags.listen())
        .await
        .with_context(|| format!("cannot listen on {}", flags.listen))?;
    print_line(&format!("listening on http://{}", listener.local_addr()?))?;
    api::serve(listener, Arc::new(flags.office()?), stop.cancelled()).await?;
    Ok(ExitCode::SUCCESS)
}

impl ProviderFlags {
    /// Where to listen.
    pub fn listen(&self) -> &str {
        &self.listen
    }

    fn office(&self) -> anyhow::Result<Office> {
        let kept = match &self.journal {
            Some(path) => Journal::open(path)?,
            None => (Journal::forgetful(), Books::default()),
        };
        let chances =
            Chances { timeout: self.timeouts, lost: self.lost, error: self.errors, slow: self.slow };
        let trouble = Trouble::new(chances, Duration::from_millis(self.slow_ms), self.seed);
        let server = (!self.silent).then(|| self.server.clone());
        let plan = Plan { faster: self.faster, ..Plan::default() };
        let report = Box::new(|line| super::print(&line, false));
        Ok(Office::new(kept, trouble, server, plan, report))
    }
}

/// Prints the statement as it is.
pub async fn print_statement(flags: &StatementFlags) -> anyhow::Result<ExitCode> {
    let statement = through::statement(&flags.from, flags.provider).await?;
    print_line(statement.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
