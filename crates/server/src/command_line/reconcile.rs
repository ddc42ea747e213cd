//! `onefold reconcile`: a provider's settlement statement against the books, beside running servers or without any.
//!
//! - this file: the flags, the report, and the progress;
//! - [`alerts`]: differences that become alerts.

pub mod alerts;

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Stdout, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use ::client::ClientId;
use ::reconciliation::{
    Bound, Difference, Encoding, Format, Layout, Progress, Report, Request, Summary, provider_layouts,
    reconcile, report,
};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use payment_callback::ProviderKind;
use sqlx::{Connection, PgConnection};

use self::alerts::Raising;
use super::database::OpenDatabase;
use super::{Options, signals, tell};
use crate::configuration::Configuration;
use crate::demo;

/// What the program exits with when nothing could be compared; 1 means that it was, and something differs.
pub const COULD_NOT_COMPARE: u8 = 2;

/// Between two drawings of the progress bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// The statement, whose books it is compared with, and what becomes of the differences.
#[derive(Clone, Debug, Args)]
pub struct ReconcileArguments {
    /// The statement: a CSV file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The provider whose statement it is: stripe, alipay, wechatpay or standard
    #[arg(long, value_name = "PROVIDER", value_parser = provider)]
    provider: ProviderKind,
    /// Whose books, by the client's name [default: the only one that the provider's endpoints belong to]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// The first day, or moment (RFC 3339), that the statement covers [default: the day of its earliest line]
    #[arg(long, value_name = "DAY", value_parser = bound)]
    from: Option<Bound>,
    /// The last day that it covers, or the first moment that it does not [default: the day of its latest line]
    #[arg(long, value_name = "DAY", value_parser = bound)]
    to: Option<Bound>,
    /// The statement's encoding [default: whichever its heading can be read in]
    #[arg(long, value_enum, value_name = "ENCODING")]
    encoding: Option<EncodingWord>,
    /// What the report looks like
    #[arg(long, value_enum, default_value_t = FormatWord::Table)]
    format: FormatWord,
    /// Write the report there, once it is complete, and not to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Raise a payment alert for each difference that has raised none yet
    #[arg(long)]
    raise_alerts: bool,
}

/// How the statement is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EncodingWord {
    /// UTF-8
    #[value(name = "utf-8")]
    Utf8,
    /// GBK, or GB 18030
    Gbk,
}

/// What the report looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum FormatWord {
    /// For people
    Table,
    /// A record for each difference
    Csv,
    /// One document
    Json,
}

fn provider(word: &str) -> Result<ProviderKind, String> {
    ProviderKind::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = ProviderKind::all().map(ProviderKind::word).collect();
        format!("there are {}", known.join(", "))
    })
}

fn bound(text: &str) -> Result<Bound, String> {
    if let Ok(day) = text.parse() {
        return Ok(Bound::Day(day));
    }
    match chrono::DateTime::parse_from_rfc3339(text) {
        Ok(at) => Ok(Bound::Moment(at.to_utc())),
        Err(_) => Err("a day is written 2026-03-04, a moment 2026-03-04T05:06:07Z".to_owned()),
    }
}

/// Compares, reports, and says by its exit code whether the two agree.
///
/// # Errors
///
/// If nothing could be compared, or not all of it. Differences are no error, but exit code 1.
pub async fn run(
    arguments: &ReconcileArguments,
    options: &Options,
    configuration: &Configuration,
) -> anyhow::Result<ExitCode> {
    let stop = signals::first_signal()?;
    let layouts = layouts(arguments.provider, configuration)?;
    // Before a database is started for it.
    let statement = open(&arguments.file)?;
    let work = async |database: &OpenDatabase| {
        tokio::select! {
            compared = compare(database, arguments, configuration, layouts, statement) => compared,
            () = stop.cancelled() => Err(anyhow::anyhow!("stopped before the statement was compared to its end")),
        }
    };
    let summary = OpenDatabase::used_by(options, configuration, work).await?;
    Ok(if summary.differences() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn compare(
    database: &OpenDatabase,
    arguments: &ReconcileArguments,
    configuration: &Configuration,
    layouts: Vec<Layout>,
    statement: OpenStatement,
) -> anyhow::Result<Summary> {
    let client_id = client(database, arguments, configuration).await?;
    let request = Request {
        client_id: client_id.0,
        provider: arguments.provider.word().to_owned(),
        layouts,
        encoding: arguments.encoding.map(|word| match word {
            EncodingWord::Utf8 => Encoding::Utf8,
            EncodingWord::Gbk => Encoding::Gbk,
        }),
        from: arguments.from,
        to: arguments.to,
    };
    let format = match arguments.format {
        FormatWord::Table => Format::Table,
        FormatWord::Csv => Format::Csv,
        FormatWord::Json => Format::Json,
    };
    let mut raising = match arguments.raise_alerts {
        true => Some(Raising::begin(database.options(), configuration, client_id, arguments).await?),
        false => None,
    };
    let mut report = Report::begin(Output::open(arguments.output.as_deref())?, format).context(UNWRITABLE)?;
    let mut shown = Shown::on_standard_error(&arguments.file, statement.bytes);
    let mut progress = |progress| shown.show(progress);
    let mut found = async |difference: Difference| -> anyhow::Result<()> {
        report.add(&difference).context(UNWRITABLE)?;
        match &mut raising {
            Some(raising) => raising.add(difference).await,
            None => Ok(()),
        }
    };
    let summary = reconcile(database.options(), statement.input, request, &mut progress, &mut found).await?;
    drop(shown);
    report.finish(&summary).context(UNWRITABLE)?.complete().context(UNWRITABLE)?;
    if arguments.output.is_some() || format == Format::Csv {
        report::sentences(&summary).iter().for_each(|sentence| tell(sentence));
    }
    if let Some(raising) = raising {
        tell(&raising.finish().await?.to_string());
    }
    Ok(summary)
}

/// Says that the fault is the report's.
const UNWRITABLE: &str = "cannot write the report";

/// The layouts to be tried: the configured one, then those that are known.
fn layouts(provider: ProviderKind, configuration: &Configuration) -> anyhow::Result<Vec<Layout>> {
    let configured = configuration.statements.get(provider.word());
    let mut layouts: Vec<Layout> =
        configured.map(|section| section.layout(provider.word())).transpose()?.into_iter().collect();
    layouts.extend(provider_layouts::layouts_of(provider.word()));
    Ok(layouts)
}

/// A statement that is open, and how many bytes it has, where a file system can tell.
struct OpenStatement {
    input: Box<dyn Read + Send>,
    bytes: Option<u64>,
}

fn open(path: &Path) -> anyhow::Result<OpenStatement> {
    if path == Path::new("-") {
        return Ok(OpenStatement { input: Box::new(io::stdin()), bytes: None });
    }
    let unreadable = || format!("cannot read the statement {}", path.display());
    let file = File::open(path).with_context(unreadable)?;
    let metadata = file.metadata().with_context(unreadable)?;
    if metadata.is_dir() {
        bail!("{}: it is a directory", unreadable());
    }
    Ok(OpenStatement { input: Box::new(file), bytes: metadata.is_file().then_some(metadata.len()) })
}

/// The client whose books are meant: the one that is named, else the one that the provider's endpoints belong to, which
/// is the demo's where none is configured.
async fn client(
    database: &OpenDatabase,
    arguments: &ReconcileArguments,
    configuration: &Configuration,
) -> anyhow::Result<ClientId> {
    let provider = arguments.provider.word();
    let endpoints = configuration.callbacks.values().filter(|endpoint| endpoint.provider == provider);
    let mut owners: Vec<&str> = endpoints.map(|endpoint| endpoint.client.as_str()).collect();
    owners.sort_unstable();
    owners.dedup();
    let name = match (&arguments.client, owners.as_slice()) {
        (Some(name), _) => name.as_str(),
        (None, [name]) => name,
        (None, []) => demo::CLIENT_NAME,
        (None, names) => bail!(
            "the endpoints of {provider} belong to several clients: choose one with --client ({})",
            names.join(", ")
        ),
    };
    let mut connection =
        PgConnection::connect_with(database.options()).await.context("cannot use the database")?;
    let found = ::client::store::find_client(&mut connection, name).await?;
    connection.close().await?;
    found.with_context(|| match arguments.client {
        Some(_) => {
            format!("there is no client named {name}: `onefold client list` shows those that there are")
        }
        None => format!("there is no client named {name}: say with --client whose books are meant"),
    })
}

/// Where the report goes.
enum Output {
    /// Standard output; one that has read enough (`head`) is no error.
    Standard(BufWriter<Stdout>),
    /// A file that has its name only once it is complete, so that half a report is not taken for a whole one.
    File { file: BufWriter<File>, partial: PathBuf, path: PathBuf },
}

impl Output {
    fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::Standard(BufWriter::new(io::stdout()))) };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
        Ok(Self::File { file: BufWriter::new(file), partial, path: path.to_owned() })
    }

    fn complete(self) -> io::Result<()> {
        match self {
            Self::Standard(_) => Ok(()),
            Self::File { file, partial, path } => {
                file.into_inner()?.sync_all()?;
                fs::rename(partial, path)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => enough_is_written(out.write(bytes), bytes.len()),
            Self::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => enough_is_written(out.flush(), ()),
            Self::File { file, .. } => file.flush(),
        }
    }
}

fn enough_is_written<T>(written: io::Result<T>, all: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(all),
        written => written,
    }
}

/// The progress, on standard error: a bar on a terminal, a line for each part otherwise.
enum Shown {
    Bar(ProgressBar),
    Lines { read: bool, file: String },
}

impl Shown {
    fn on_standard_error(file: &Path, bytes: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            return Self::Lines { read: false, file: file.display().to_string() };
        }
        let (bar, template) = match bytes {
            Some(bytes) => (ProgressBar::new(bytes), "{msg:24} {bar:30} {bytes} of {total_bytes}, {elapsed}"),
            None => (ProgressBar::no_length(), "{msg:24} {spinner} {bytes}, {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message("reading the statement");
        bar.enable_steady_tick(DRAW_EVERY);
        Self::Bar(bar)
    }

    fn show(&mut self, progress: Progress) {
        match (self, progress) {
            (Self::Bar(bar), Progress::Read { bytes }) => bar.set_position(bytes),
            (Self::Bar(bar), Progress::Comparing { what }) => {
                bar.set_message(format!("comparing the {what}"))
            }
            (Self::Lines { read, file }, Progress::Read { .. }) => {
                if !std::mem::replace(read, true) {
                    tell(&format!("reading {file}"));
                }
            }
            (Self::Lines { .. }, Progress::Comparing { what }) => tell(&format!("comparing the {what}")),
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_and_a_moment_are_told_apart() {
        assert_eq!(bound("2026-03-04"), Ok(Bound::Day("2026-03-04".parse().unwrap())));
        let moment = "2026-03-03T21:06:07Z".parse().unwrap();
        assert_eq!(bound("2026-03-04T05:06:07+08:00"), Ok(Bound::Moment(moment)));
        for text in ["", "2026-03-32", "2026-03-04 05:06:07", "yesterday"] {
            assert!(bound(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_configured_layout_goes_before_those_that_are_known() {
        let configuration: Configuration = toml::from_str("[statements.stripe]\namount = \"sum\"\n").unwrap();
        let stripe = ProviderKind::from_word("stripe").unwrap();
        let first = layouts(stripe, &configuration).unwrap().remove(0);
        assert_eq!((first.name.as_str(), first.amount), ("statements.stripe", vec!["sum".to_owned()]));
        let standard = ProviderKind::from_word("standard").unwrap();
        assert_eq!(layouts(standard, &configuration).unwrap().len(), 1);
    }
}
