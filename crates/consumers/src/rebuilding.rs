//! A day's totals computed from the books: where events are lost or so old that nobody can tell whether they were counted.
//!
//! Only a day that is over is rebuilt: all that happened on it is committed then, and so all of it is in the books that it is
//! computed from. From then on its events are not counted any more, in whatever number and order they come.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use client::ClientId;
use desk::command::{Command, ReportCommand};
use desk::decide::reports::is_over;
use desk::{Answered, Desk, Request};
use idempotency::fingerprint::Meaning;
use idempotency::{Key, Name};
use money::Currency;
use reports::store::DayRange;
use sqlx::PgPool;
use thiserror::Error;

/// The operation, as it stands in the records.
pub const OPERATION: &str = "rebuild day";

/// What stands for the id of a request.
const REQUEST_ID: &str = "rebuild";

/// How long a repetition waits for the first.
const WAIT: Duration = Duration::from_secs(5);

/// More currencies than there are.
const CURRENCIES_MAX: i64 = 1_000;

/// Why a day was not rebuilt.
#[derive(Debug, Error)]
pub enum NotRebuilt {
    /// It is not over.
    #[error("the day {0} is not over: it can be rebuilt one hour after its end (UTC)")]
    NotOver(NaiveDate),
    /// The books cannot be read.
    #[error("the books cannot be read: {0}")]
    Unread(#[from] sqlx::Error),
    /// The desk did not do it.
    #[error("the totals could not be set now; try again")]
    NotSet,
}

impl NotRebuilt {
    /// Whether the day itself is at fault: its figures are more than can be held, or PostgreSQL has no such date.
    pub fn is_of_the_day(&self) -> bool {
        match self {
            Self::Unread(sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => true,
            // Class 22 is "data exception".
            Self::Unread(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code.starts_with("22"))
            }
            Self::Unread(_) | Self::NotOver(_) | Self::NotSet => false,
        }
    }
}

/// Sets a client's totals of a day, in every currency that the books or the totals have, to what the books say; answers in
/// how many currencies. The currency that is `wanted` has its totals then, of nothing if need be, so that the next who wants
/// them finds the day rebuilt.
///
/// # Errors
///
/// [`NotRebuilt`]: those that were set by then stay set, and are right.
pub async fn rebuild(
    desk: &Desk,
    pool: &PgPool,
    (client, day): (ClientId, NaiveDate),
    wanted: Option<Currency>,
    now: DateTime<Utc>,
) -> Result<usize, NotRebuilt> {
    if !is_over(day, now) {
        return Err(NotRebuilt::NotOver(day));
    }
    let books = reports::store::of_books(pool, client, day).await?;
    let range = DayRange { from: day, to: day, currency: None, before: None };
    let counted = reports::store::list(pool, client, range, CURRENCIES_MAX).await?;
    let counted = counted.iter().map(|total| total.tally.amount.currency());
    let currencies: BTreeSet<Currency> =
        books.iter().map(|(_, tally)| tally.amount.currency()).chain(counted).chain(wanted).collect();
    for currency in &currencies {
        let of_currency = books.iter().filter(|(_, tally)| tally.amount.currency() == *currency);
        let command =
            ReportCommand::Rebuild { day, currency: *currency, tallies: of_currency.copied().collect() };
        let answered = desk.submit(request(client, command, now), Some(WAIT)).await.answered;
        let done =
            matches!(&answered, Answered::Ran(answer) | Answered::Replayed(answer) if answer.status < 400);
        if !done {
            return Err(NotRebuilt::NotSet);
        }
    }
    Ok(currencies.len())
}

/// A setting goes through the door under a name of its own: to set something twice is to set it once.
fn request(client_id: ClientId, command: ReportCommand, now: DateTime<Utc>) -> Request {
    let meaning = format!("{command:?}");
    let drawn = rand::random::<u128>().to_be_bytes();
    Request {
        name: Name {
            client_id,
            key: Key::of_service(OPERATION, &[&drawn, &now.timestamp_micros().to_be_bytes()]),
        },
        fingerprint: Meaning::of(OPERATION).field("command", &meaning).fingerprint(),
        operation: OPERATION,
        command: Command::Report(command),
        request_id: REQUEST_ID.to_owned(),
    }
}
