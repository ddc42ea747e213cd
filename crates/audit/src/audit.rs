//! One audit, from its snapshot to its report.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgConnectOptions;

use crate::check::{self, Check, Terms};
use crate::report::{CheckReport, Report};
use crate::store::{SOURCES, Snapshot, Source};

/// How far the clocks of the service and of the database may be apart. So much before the end of its retention a
/// record may be missing already.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(600);

/// How many rows are read between two words on the progress.
const ROWS_A_WORD: u64 = 1_000;

/// What an audit must be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long the service keeps a record at least. A younger effect without its record is a difference.
    pub retention: Duration,
    /// How many differences are listed at most; all are counted.
    pub listed_max: usize,
}

/// Why the books could not be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no snapshot.
    #[error("cannot take a snapshot of the books")]
    Snapshot(#[source] sqlx::Error),
    /// Something cannot be read.
    #[error("cannot read {what}")]
    Read {
        /// What.
        what: &'static str,
        /// Why.
        source: sqlx::Error,
    },
}

/// How far an audit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// It begins a table.
    Reading {
        /// What it reads.
        what: &'static str,
        /// How many rows the planner believes that there are.
        rows_estimated: u64,
        /// Whether it reads it a second time, because something differs.
        again: bool,
    },
    /// It has read so many rows of the table.
    Read {
        /// How many.
        rows: u64,
    },
}

/// Audits the books of a database, as they are at one moment.
///
/// It writes nothing and takes no lock that anybody waits for but one who changes the schema. Its memory does not
/// depend on how many rows there are.
///
/// # Errors
///
/// If the books cannot be read to their end. What is wrong with the books is no error: the report tells it.
pub async fn audit(
    options: &PgConnectOptions,
    settings: Settings,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, AuditError> {
    let mut snapshot = Snapshot::take(options).await.map_err(AuditError::Snapshot)?;
    let terms = Terms {
        records_kept_after: records_kept_after(snapshot.taken_at(), settings.retention),
        listed_max: settings.listed_max,
    };
    let mut checks = check::all(terms);
    read_all(&mut snapshot, terms, &mut checks, false, progress).await?;

    let mut reports: Vec<Vec<CheckReport>> = Vec::with_capacity(checks.len());
    let (mut searching, mut positions) = (Vec::new(), Vec::new());
    for (position, mut check) in checks.into_iter().enumerate() {
        if check.search() {
            searching.push(check);
            positions.push(position);
            reports.push(Vec::new());
        } else {
            reports.push(check.conclude());
        }
    }
    if !searching.is_empty() {
        read_all(&mut snapshot, terms, &mut searching, true, progress).await?;
    }
    for (position, check) in positions.into_iter().zip(searching) {
        reports[position] = check.conclude();
    }
    let taken_at = snapshot.taken_at();
    // All is read; a connection that will not be closed in order takes nothing of it back.
    let _ = snapshot.close().await;

    let mut report = Report { taken_at, checks: reports.into_iter().flatten().collect() };
    report.list_at_most(settings.listed_max);
    Ok(report)
}

/// The time after which every effect must still have its record. A retention longer than the calendar means that none
/// was ever deleted.
fn records_kept_after(taken_at: DateTime<Utc>, retention: Duration) -> DateTime<Utc> {
    let age = TimeDelta::from_std(retention.saturating_sub(CLOCKS_APART_MAX)).ok();
    age.and_then(|age| taken_at.checked_sub_signed(age)).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

async fn read_all(
    snapshot: &mut Snapshot,
    terms: Terms,
    checks: &mut [Box<dyn Check>],
    again: bool,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), AuditError> {
    for source in SOURCES {
        read(snapshot, source, terms, checks, again, progress)
            .await
            .map_err(|error| AuditError::Read { what: source.what, source: error })?;
    }
    Ok(())
}

async fn read(
    snapshot: &mut Snapshot,
    source: &Source,
    terms: Terms,
    checks: &mut [Box<dyn Check>],
    again: bool,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> sqlx::Result<()> {
    let rows_estimated = snapshot.rows_estimated(source).await?;
    progress(Progress::Reading { what: source.what, rows_estimated, again });
    let mut rows = 0;
    snapshot
        .read(source, terms.records_kept_after, |row| {
            checks.iter_mut().for_each(|check| check.see(&row));
            rows += 1;
            if rows % ROWS_A_WORD == 0 {
                progress(Progress::Read { rows });
            }
        })
        .await?;
    progress(Progress::Read { rows });
    Ok(())
}
