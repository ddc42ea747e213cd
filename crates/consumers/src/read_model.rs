//! The consumer that keeps the daily totals: what an event adds, as a command.

use desk::command::{Command, ReportCommand};
use idempotency::Fingerprint;
use idempotency::fingerprint::Meaning;
use money::Currency;
use reports::Addition;

use crate::told::{Told, Unreadable};

/// The operation, as it stands in the records.
pub const OPERATION: &str = "count event";

/// What an event asks of the totals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The day on which it happened, in UTC.
    pub day: chrono::NaiveDate,
    /// Which currency's totals.
    pub currency: Currency,
    /// What is added.
    pub additions: Vec<Addition>,
}

impl Asked {
    /// What this event asks; nothing, if there is nothing in it to count.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn by(told: &Told<'_>, event_type: &str, sequence: i64) -> Result<Option<Self>, Unreadable> {
        let Some(happened) = told.happened(event_type, sequence)? else { return Ok(None) };
        let additions = happened.additions()?;
        let Some(first) = additions.first() else { return Ok(None) };
        let currency = first.amount.currency();
        Ok(Some(Self { day: told.time.date_naive(), currency, additions }))
    }

    /// What of the event matters, whatever the broker has done to its bytes.
    pub fn fingerprint(&self) -> Fingerprint {
        let meaning = Meaning::of(OPERATION).field("day", &self.day.to_string());
        let meaning = meaning.field("currency", self.currency.code());
        let each = self
            .additions
            .iter()
            .fold(meaning, |meaning, added| meaning.field(added.line.as_str(), &added.amount.to_string()));
        each.fingerprint()
    }

    /// The effect.
    pub fn command(&self) -> Command {
        Command::Report(ReportCommand::Count { day: self.day, additions: self.additions.clone() })
    }
}
