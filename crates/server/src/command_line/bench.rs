//! `onefold bench`: load on a running server, and an audit of what it did.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use load_generator::generator::Progress;
use load_generator::{Pace, Plan, Report, Sale, Spread, Target, Work, life, sale};
use serde::Serialize;

use super::{Options, print_line, tell};
use crate::demo;

/// Where the load goes, how much of it, and of what kind.
#[derive(Clone, Debug, Args)]
pub struct BenchOptions {
    /// The server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    target: Target,
    /// Where the load goes, if elsewhere: another server on the same database. Accounts, and orders to be replayed, are
    /// prepared at --target
    #[arg(long, value_name = "URL", conflicts_with_all = ["stock", "life"])]
    load_target: Option<Target>,
    /// What the shell is to do when everything is prepared and there is no load yet, such as counting or stopping something
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["stock", "life"])]
    before_load: Option<String>,
    /// The client's API key
    #[arg(long, env = "ONEFOLD_API_KEY", hide_env_values = true, value_name = "KEY", default_value = demo::API_KEY)]
    api_key: String,
    /// When a request is sent: after the last answer, or at a fixed rate
    #[arg(long, value_enum, default_value_t = Mode::Closed)]
    mode: Mode,
    /// Requests a second, in an open loop; latency counts from when a request was due
    #[arg(long, value_name = "PER_SECOND", required_if_eq("mode", "open"))]
    rate: Option<NonZeroU32>,
    /// Connections at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = at_least_one::<usize>)]
    connections: usize,
    /// How long is measured, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = at_least_one::<u64>)]
    seconds: u64,
    /// How long there is load before anything is measured, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    warm_up: u64,
    /// Accounts that are opened and funded for the run (one, if the load is hot)
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = at_least_one::<u32>)]
    accounts: u32,
    /// How the orders spread over the accounts: evenly, the k-th with 1/k of the first's, or all on one
    #[arg(long, value_enum, default_value_t = LoadKind::Uniform)]
    load: LoadKind,
    /// The share of orders that are sent again: at the same time, and after the answer, in turns
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    duplicates: u8,
    /// Send nothing but requests that were answered before
    #[arg(long, conflicts_with = "duplicates")]
    replays: bool,
    /// A flash sale instead: so many buyers, each for one piece of one sku
    #[arg(
        long, value_name = "BUYERS", value_parser = at_least_one::<u32>,
        conflicts_with_all = ["mode", "seconds", "warm_up", "load", "duplicates", "replays", "threads", "audit"]
    )]
    stock: Option<u32>,
    /// How many pieces there are in a flash sale
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, requires = "stock", value_parser = at_least_one::<u64>)]
    pieces: u64,
    /// The life of orders instead: so many captured, so many cancelled, so many refunded
    #[arg(
        long, value_name = "ORDERS", value_parser = at_least_one::<u32>,
        conflicts_with_all = ["stock", "mode", "seconds", "warm_up", "load", "duplicates", "replays", "threads", "audit"]
    )]
    life: Option<u32>,
    /// Threads of the generator
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = at_least_one::<usize>)]
    threads: usize,
    /// Print the report as one line of JSON
    #[arg(long)]
    json: bool,
    /// Compare, afterwards, what was answered with what is there: through the API, or in the database of --database-url
    #[arg(
        long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1,
        require_equals = true, action = clap::ArgAction::Set
    )]
    audit: bool,
}

/// When a request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mode {
    /// At a fixed rate, whatever the server does
    Open,
    /// Each connection after its last answer
    Closed,
}

/// How the orders spread over the accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LoadKind {
    /// Evenly
    Uniform,
    /// The k-th account gets 1/k of what the first gets
    Zipf,
    /// All on one account
    Hot,
}

fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    text.parse().ok().filter(|number| *number >= N::from(1)).ok_or_else(|| "must be 1 or more".to_owned())
}

/// Runs the load and prints its report. It blocks, since the generator has threads of its own.
pub fn run(bench: &BenchOptions, options: &Options) -> anyhow::Result<()> {
    let plan = bench.plan(options)?;
    let mut progress = ProgressLine::default();
    let mut watch = |told| progress.show(told);
    if let Some(buyers) = bench.stock {
        let sale = Sale { buyers: usize::try_from(buyers)?, pieces: bench.pieces };
        let report = sale::run(&plan, sale, &mut watch);
        progress.end();
        let report = report?;
        return bench.tell(&report, report.passed);
    }
    if let Some(orders) = bench.life {
        let report = life::run(&plan, usize::try_from(orders)?, &mut watch);
        progress.end();
        let report = report?;
        return bench.tell(&report, report.passed());
    }
    let report = load_generator::run(&plan, &mut watch);
    progress.end();
    let report: Report = report?;
    bench.tell(&report, report.passed())
}

impl BenchOptions {
    /// Prints what came of a run.
    fn tell(&self, report: &(impl Serialize + Display), passed: bool) -> anyhow::Result<()> {
        print_line(&if self.json { serde_json::to_string(report)? } else { report.to_string() })?;
        if !passed {
            bail!("the run did not pass its audit");
        }
        Ok(())
    }

    fn plan(&self, options: &Options) -> anyhow::Result<Plan> {
        Ok(Plan {
            target: self.target.clone(),
            load_target: self.load_target.clone(),
            before_load: self.before_load.clone(),
            api_key: self.api_key()?,
            pace: match (self.mode, self.rate) {
                (Mode::Closed, None) => Pace::Closed,
                (Mode::Open, Some(per_second)) => Pace::Open { per_second },
                (Mode::Closed, Some(_)) | (Mode::Open, None) => bail!("--rate belongs to --mode open"),
            },
            work: match self.replays {
                true => Work::Replays,
                false => Work::Orders { duplicates_percent: self.duplicates },
            },
            spread: match self.load {
                LoadKind::Uniform => Spread::Uniform,
                LoadKind::Zipf => Spread::Zipf,
                LoadKind::Hot => Spread::Hot,
            },
            connections: self.connections,
            threads: self.threads,
            warm_up: Duration::from_secs(self.warm_up),
            measured: Duration::from_secs(self.seconds),
            accounts: usize::try_from(self.accounts)?,
            // Nothing of the URL stands in the error: it may hold a password.
            database: options.database()?,
            audit: self.audit,
        })
    }

    /// It goes into a header as it is.
    fn api_key(&self) -> anyhow::Result<String> {
        if self.api_key.is_empty() || !self.api_key.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("--api-key (ONEFOLD_API_KEY) is not an API key");
        }
        Ok(self.api_key.clone())
    }
}

/// One line on a terminal that is written over; nothing where nobody looks.
#[derive(Default)]
struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    fn show(&mut self, progress: Progress) {
        let mut err = io::stderr();
        if err.is_terminal() {
            // Nobody is left to tell if standard error is closed.
            let _ = write!(err, "\r\x1b[K{progress}").and_then(|()| err.flush());
            self.shown = true;
        }
    }

    fn end(&self) {
        if self.shown {
            tell("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Command, CommandLine};
    use super::*;

    fn parse(arguments: &[&str]) -> Result<(BenchOptions, Options), clap::Error> {
        let line = CommandLine::try_parse_from(["onefold", "bench"].iter().chain(arguments))?;
        let Some(Command::Bench(bench)) = line.command else { panic!("bench was asked for") };
        Ok((*bench, line.options))
    }

    fn plan(arguments: &[&str]) -> anyhow::Result<Plan> {
        let (bench, options) = parse(arguments)?;
        bench.plan(&options)
    }

    #[test]
    fn without_flags_it_is_a_closed_loop_on_the_demo() {
        let plan = plan(&["--database-url", ""]).unwrap();
        assert_eq!((plan.pace, plan.work), (Pace::Closed, Work::Orders { duplicates_percent: 0 }));
        assert_eq!(
            (plan.api_key.as_str(), plan.target.authority()),
            (demo::API_KEY, super::super::LISTEN_DEFAULT)
        );
        assert!(plan.audit && plan.database.is_none());
    }

    #[test]
    fn a_rate_belongs_to_an_open_loop() {
        let open = plan(&["--mode", "open", "--rate", "500"]).unwrap();
        assert_eq!(open.pace, Pace::Open { per_second: NonZeroU32::new(500).unwrap() });
        assert!(plan(&["--mode", "open"]).is_err());
        assert!(plan(&["--rate", "500"]).is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for arguments in [
            ["--connections", "0"].as_slice(),
            &["--seconds", "0"],
            &["--accounts", "0"],
            &["--threads", "0"],
            &["--duplicates", "101"],
            &["--replays", "--duplicates", "5"],
            &["--target", "https://x"],
            &["--api-key", "a b"],
            &["--stock", "0"],
            &["--stock", "9", "--seconds", "5"],
            &["--stock", "9", "--life", "9"],
            &["--life", "9", "--replays"],
            &["--pieces", "9"],
        ] {
            assert!(plan(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn the_audit_can_be_left_out() {
        assert!(!plan(&["--audit=false"]).unwrap().audit);
        assert!(plan(&["--audit"]).unwrap().audit);
    }
}
