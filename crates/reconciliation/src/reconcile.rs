//! One reconciliation, from the first byte of a file to the last difference.

use std::io::{self, Read};
use std::thread;

use chrono::{DateTime, Days, FixedOffset, NaiveDate, NaiveTime, TimeZone, Utc};
use sqlx::postgres::PgConnectOptions;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::difference::{Difference, DifferenceKind, Told};
use crate::layout::{Encoding, Layout};
use crate::provider_layouts::{RefundsToldAs, refunds_told_as};
use crate::statement::{Line, Statement, StatementError, StatementLine, Subject};
use crate::store::Staging;
use crate::store::snapshot::{Comparable, Part, Scope, write_line};

/// Lines are handed over by so many bytes.
const HANDED_BYTES: usize = 64 * 1024;

/// Handfuls of lines that may wait for the database.
const HANDFULS_MAX: usize = 4;

/// What is to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Whose books.
    pub client_id: Uuid,
    /// The provider's word.
    pub provider: String,
    /// The layouts that the statement may have, in the order in which they are tried.
    pub layouts: Vec<Layout>,
    /// The statement's encoding; whichever fits its heading where this says nothing.
    pub encoding: Option<Encoding>,
    /// From when on the statement should have what the books have: the beginning of the day of its earliest line where
    /// this says nothing.
    pub from: Option<Bound>,
    /// Until when: the end of the day of its latest line where this says nothing.
    pub to: Option<Bound>,
}

/// An end of the time that a statement covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A moment: the first that is covered, or the first that is not any more.
    Moment(DateTime<Utc>),
    /// A day by the statement's clock, the first or the last that is covered, as a whole.
    Day(NaiveDate),
}

/// Why a statement could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// It is not read.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// It does not tell for which time it is.
    #[error("the statement tells no times, so give the time that it covers, with --from and --to")]
    NoSpan,
    /// It ends before it begins.
    #[error("the time that the statement covers ends, at {to}, before it begins, at {from}")]
    SpanEndsBeforeItBegins {
        /// The beginning.
        from: DateTime<Utc>,
        /// The end.
        to: DateTime<Utc>,
    },
    /// The database says no.
    #[error("cannot compare the statement with the books")]
    Database(#[from] sqlx::Error),
}

/// How far a reconciliation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// So many bytes of the statement are read.
    Read {
        /// How many.
        bytes: u64,
    },
    /// It compares.
    Comparing {
        /// What.
        what: &'static str,
    },
}

/// What was compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The layout that the statement has.
    pub layout: String,
    /// Its encoding.
    pub encoding: Encoding,
    /// Whether it tells our numbers of the payments.
    pub tells_payment_nos: bool,
    /// Lines that are payments.
    pub payments: u64,
    /// Lines that are refunds.
    pub refunds: u64,
    /// Lines that are neither, and are no business of the books.
    pub others: u64,
    /// Lines of which it cannot be read which payment they are about. What is said to be missing there may be one of
    /// them.
    pub unidentified: u64,
    /// From when on the statement should have what the books have.
    pub from: DateTime<Utc>,
    /// Until when, excluded.
    pub to: DateTime<Utc>,
    /// The moment that the books were read at.
    pub taken_at: DateTime<Utc>,
    /// How many differences there are of each kind, in the order of [`DifferenceKind::ALL`].
    pub counts: [u64; DifferenceKind::ALL.len()],
}

impl Summary {
    /// How many differences there are.
    pub fn differences(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Compares a statement with the books, as they are at one moment after it is read, and hands over each difference as
/// it is found: unreadable lines first, then payments, then refunds, each in the order of the statement's lines, with
/// what is missing there at the end.
///
/// It changes nothing. Its memory depends neither on the statement nor on the books, and it waits for whoever takes the
/// differences.
///
/// # Errors
///
/// [`ReconcileError`] if there is nothing to compare, or no way to; and the first error of `found`.
pub async fn reconcile<E: From<ReconcileError>>(
    options: &PgConnectOptions,
    statement: impl Read + Send + 'static,
    request: Request,
    progress: &mut impl FnMut(Progress),
    found: &mut impl AsyncFnMut(Difference) -> Result<(), E>,
) -> Result<Summary, E> {
    let mut counts = [0; DifferenceKind::ALL.len()];
    let mut found = async |difference: Difference| {
        let place = DifferenceKind::ALL.iter().position(|kind| *kind == difference.kind);
        counts[place.expect("every kind is listed")] += 1;
        found(difference).await
    };
    let (mut lines, refunds_by_id) = (read_in_thread(statement, &request), refunds_by_id(&request));
    let opened = match lines.recv().await {
        Some(Handed::Opened(opened)) => opened,
        Some(Handed::Failed(error)) => return Err(ReconcileError::from(error).into()),
        _ => unreachable!("the heading or a failure comes first"),
    };
    if !opened.tells_times && (request.from.is_none() || request.to.is_none()) {
        return Err(ReconcileError::NoSpan.into());
    }

    let failed = |error: sqlx::Error| ReconcileError::from(error);
    let mut staging = Staging::open(options).await.map_err(failed)?;
    let mut copy = staging.copy().await.map_err(failed)?;
    let mut read = None;
    while let Some(handed) = lines.recv().await {
        match handed {
            Handed::Opened(_) => {}
            Handed::Lines { copy: lines, bytes } => {
                copy.send(lines).await.map_err(failed)?;
                progress(Progress::Read { bytes });
            }
            Handed::Unreadable(difference) => found(*difference).await?,
            Handed::Failed(error) => return Err(ReconcileError::from(error).into()),
            Handed::End(tally) => read = Some(tally),
        }
    }
    let read = read.ok_or_else(|| {
        let gone = io::Error::other("whoever read it is gone before its end");
        ReconcileError::from(StatementError::from(gone))
    })?;
    copy.finish().await.map_err(failed)?;
    let (from, to) = span(&request, &read, opened.offset)?;

    progress(Progress::Comparing { what: "payments" });
    let mut snapshot = staging.compare().await.map_err(failed)?;
    let scope = Scope { client_id: request.client_id, provider: request.provider, from, to };
    let refunds: &[Part] = match refunds_by_id && opened.tells_refund_ids {
        true => &[Part::Refunds],
        false => &[Part::RepeatedRefunds, Part::RefundTotals],
    };
    let mut differing = Vec::new();
    let mut each = async |comparable: Comparable| -> Result<(), Either<E>> {
        match comparable {
            Comparable::Pair(pair) => pair.compare(&mut differing),
            Comparable::Totals(totals) => totals.compare(&mut differing),
        }
        for difference in differing.drain(..) {
            found(difference).await.map_err(Either::Theirs)?;
        }
        Ok(())
    };
    snapshot.read(Part::Payments, &scope, &mut each).await.map_err(Either::into)?;
    progress(Progress::Comparing { what: "refunds" });
    for part in refunds {
        snapshot.read(*part, &scope, &mut each).await.map_err(Either::into)?;
    }
    let taken_at = snapshot.taken_at();
    // All is read; a connection that will not be closed in order takes nothing of it back.
    let _ = snapshot.close().await;
    Ok(Summary {
        layout: opened.layout,
        encoding: opened.encoding,
        tells_payment_nos: opened.tells_payment_nos,
        payments: read.payments,
        refunds: read.refunds,
        others: read.others,
        unidentified: read.unidentified,
        from,
        to,
        taken_at,
        counts,
    })
}

/// An error of the database, or of whoever takes the differences.
enum Either<E> {
    Ours(sqlx::Error),
    Theirs(E),
}

impl<E> From<sqlx::Error> for Either<E> {
    fn from(error: sqlx::Error) -> Self {
        Self::Ours(error)
    }
}

impl<E: From<ReconcileError>> Either<E> {
    fn into(self) -> E {
        match self {
            Self::Ours(error) => ReconcileError::from(error).into(),
            Self::Theirs(error) => error,
        }
    }
}

fn refunds_by_id(request: &Request) -> bool {
    refunds_told_as(&request.provider) == RefundsToldAs::Each
}

/// What the thread that reads hands over: the heading or a failure first, the tally or a failure last.
enum Handed {
    Opened(Opened),
    Lines { copy: Vec<u8>, bytes: u64 },
    Unreadable(Box<Difference>),
    End(Tally),
    Failed(StatementError),
}

struct Opened {
    layout: String,
    encoding: Encoding,
    offset: FixedOffset,
    tells_payment_nos: bool,
    tells_refund_ids: bool,
    tells_times: bool,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    payments: u64,
    refunds: u64,
    others: u64,
    unidentified: u64,
    earliest: Option<DateTime<Utc>>,
    latest: Option<DateTime<Utc>>,
}

impl Tally {
    fn count(&mut self, line: &StatementLine, layout: &Layout) {
        match line.subject {
            Subject::Payment => self.payments += 1,
            Subject::Refund => self.refunds += 1,
        }
        if let Some(at) = line.at.filter(|_| line.subject == Subject::Payment || layout.refunds_have_times) {
            self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
            self.latest = Some(self.latest.map_or(at, |latest| latest.max(at)));
        }
    }
}

/// Reads in a thread of its own: a file blocks, and a pipe may do so for long.
fn read_in_thread(statement: impl Read + Send + 'static, request: &Request) -> mpsc::Receiver<Handed> {
    let (sender, receiver) = mpsc::channel(HANDFULS_MAX);
    let (layouts, encoding, refunds_by_id) =
        (request.layouts.clone(), request.encoding, refunds_by_id(request));
    thread::spawn(move || {
        let last = match read(statement, &layouts, encoding, refunds_by_id, &sender) {
            Ok(tally) => Handed::End(tally),
            Err(error) => Handed::Failed(error),
        };
        // Whoever does not listen any more has failed, and has said why.
        let _ = sender.blocking_send(last);
    });
    receiver
}

fn read(
    statement: impl Read,
    layouts: &[Layout],
    encoding: Option<Encoding>,
    refunds_by_id: bool,
    sender: &mpsc::Sender<Handed>,
) -> Result<Tally, StatementError> {
    let mut statement = Statement::open(statement, layouts, encoding)?;
    let layout = statement.layout().clone();
    let opened = Opened {
        layout: layout.name.clone(),
        encoding: statement.encoding(),
        offset: layout.offset,
        tells_payment_nos: statement.tells_payment_nos(),
        tells_refund_ids: statement.tells_refund_ids(),
        tells_times: statement.tells_times(),
    };
    let needs_refund_ids = refunds_by_id && opened.tells_refund_ids;
    let mut tally = Tally::default();
    let mut copy = Vec::new();
    let mut hands = sender.blocking_send(Handed::Opened(opened));
    while hands.is_ok()
        && let Some(line) = statement.next_line()?
    {
        match line {
            Line::Read(line) if needs_refund_ids && has_no_id(&line) => {
                tally.unidentified += 1;
                let reason = "the refund id: there is none".to_owned();
                hands = sender.blocking_send(Handed::Unreadable(Box::new(unreadable(
                    line.line,
                    reason,
                    Some(line),
                ))));
            }
            Line::Read(line) => {
                tally.count(&line, &layout);
                write_line(&line, &mut copy);
            }
            Line::Unreadable { line, reason, known } => {
                let known = known.filter(|known| !(needs_refund_ids && has_no_id(known)));
                match &known {
                    Some(known) => {
                        tally.count(known, &layout);
                        write_line(known, &mut copy);
                    }
                    None => tally.unidentified += 1,
                }
                hands = sender.blocking_send(Handed::Unreadable(Box::new(unreadable(line, reason, known))));
            }
            Line::Other => tally.others += 1,
        }
        if copy.len() >= HANDED_BYTES {
            let copy = std::mem::take(&mut copy);
            hands = sender.blocking_send(Handed::Lines { copy, bytes: statement.bytes_read() });
        }
    }
    let bytes = statement.bytes_read();
    let _ = sender.blocking_send(Handed::Lines { copy, bytes });
    Ok(tally)
}

fn has_no_id(line: &StatementLine) -> bool {
    line.subject == Subject::Refund && line.refund_id.is_none()
}

fn unreadable(line: u64, reason: String, known: Option<StatementLine>) -> Difference {
    Difference {
        kind: DifferenceKind::Unreadable,
        subject: known.as_ref().map(|known| known.subject),
        line: Some(line),
        payment_id: known.as_ref().map(|known| known.payment_id.clone()),
        refund_id: known.as_ref().and_then(|known| known.refund_id.clone()),
        statement: known.map(|known| Told {
            payment_no: known.payment_no,
            amount: known.amount,
            at: known.at,
        }),
        books: None,
        detail: Some(reason),
    }
}

/// The time in which the statement should have what the books have: whole days, for statements are of days.
fn span(
    request: &Request,
    read: &Tally,
    offset: FixedOffset,
) -> Result<(DateTime<Utc>, DateTime<Utc>), ReconcileError> {
    let day_of = |at: DateTime<Utc>| Bound::Day(at.with_timezone(&offset).date_naive());
    let from = request.from.or(read.earliest.map(day_of)).and_then(|bound| moment(bound, offset, 0));
    let to = request.to.or(read.latest.map(day_of)).and_then(|bound| moment(bound, offset, 1));
    match (from, to) {
        (Some(from), Some(to)) if from < to => Ok((from, to)),
        (Some(from), Some(to)) => Err(ReconcileError::SpanEndsBeforeItBegins { from, to }),
        _ => Err(ReconcileError::NoSpan),
    }
}

/// The moment of a bound; of a day, when it begins, or when one some days later does.
fn moment(bound: Bound, offset: FixedOffset, days_later: u64) -> Option<DateTime<Utc>> {
    match bound {
        Bound::Moment(at) => Some(at),
        Bound::Day(day) => {
            let begins = day.checked_add_days(Days::new(days_later))?.and_time(NaiveTime::MIN);
            offset.from_local_datetime(&begins).single().map(|begins| begins.to_utc())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(from: Option<&str>, to: Option<&str>) -> Request {
        let bound = |text: &str| match text.parse() {
            Ok(day) => Bound::Day(day),
            Err(_) => Bound::Moment(text.parse().unwrap()),
        };
        Request {
            client_id: Uuid::nil(),
            provider: "standard".to_owned(),
            layouts: Vec::new(),
            encoding: None,
            from: from.map(bound),
            to: to.map(bound),
        }
    }

    #[test]
    fn a_statement_covers_the_days_of_its_lines() {
        let read = Tally {
            earliest: Some("2026-03-03T21:06:07Z".parse().unwrap()),
            latest: Some("2026-03-04T15:59:59Z".parse().unwrap()),
            ..Tally::default()
        };
        let east = FixedOffset::east_opt(8 * 3600).unwrap();
        let told = |span: Result<(DateTime<Utc>, DateTime<Utc>), ReconcileError>| {
            span.map(|(from, to)| format!("{from:?} {to:?}")).map_err(|error| error.to_string())
        };
        let of = |from, to, read: &Tally| told(span(&request(from, to), read, east));
        assert_eq!(of(None, None, &read).unwrap(), "2026-03-03T16:00:00Z 2026-03-04T16:00:00Z");
        let (from, to) = ("2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z");
        assert_eq!(of(Some(from), Some(to), &read).unwrap(), format!("{from} {to}"));
        assert_eq!(of(Some(from), None, &read).unwrap(), format!("{from} 2026-03-04T16:00:00Z"));
        let (first, last) = (Some("2026-03-04"), Some("2026-03-05"));
        assert_eq!(of(first, last, &read).unwrap(), "2026-03-03T16:00:00Z 2026-03-05T16:00:00Z");
        assert_eq!(of(first, first, &read).unwrap(), "2026-03-03T16:00:00Z 2026-03-04T16:00:00Z");
        assert!(of(Some(from), None, &Tally::default()).unwrap_err().contains("--from and --to"));
        assert!(of(Some(to), Some(from), &read).unwrap_err().contains("before it begins"));
    }

    #[test]
    fn a_refund_without_its_id_is_unreadable_where_refunds_are_told_apart_by_it() {
        let file = "provider_payment_id,provider_refund_id,amount,currency,kind\n\
                    p1,r1,1.00,CNY,refund\np1,,1.00,CNY,refund\np1,,1x,CNY,refund\np1,,1.00,CNY,payment\n";
        let layouts = crate::provider_layouts::layouts_of("standard");
        let (sender, mut receiver) = mpsc::channel(10);
        let tally = read(file.as_bytes(), &layouts, None, true, &sender).unwrap();
        assert_eq!((tally.payments, tally.refunds, tally.unidentified), (1, 1, 2));
        drop(sender);
        let mut unreadable = Vec::new();
        while let Some(handed) = receiver.blocking_recv() {
            if let Handed::Unreadable(difference) = handed {
                unreadable.push((difference.line, difference.detail.unwrap()));
            }
        }
        assert_eq!(unreadable.len(), 2);
        assert_eq!(unreadable[0], (Some(3), "the refund id: there is none".to_owned()));
        assert_eq!(unreadable[1].0, Some(4));
    }
}
