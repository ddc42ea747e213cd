//! Counting what events tell of, and putting a day right by the books.

use chrono::{NaiveDate, TimeDelta, Utc};
use money::Currency;
use reports::{Addition, DailyTotal, Line, Tally};

use super::{Case, Decision};
use crate::command::ReportCommand;
use crate::working_set::Changes;
use crate::{Outcome, Refusal};

/// So long after its end a day's last transactions have committed: longer than any statement, commit or retry may take.
pub const DAY_SETTLES_IN: TimeDelta = TimeDelta::hours(1);

pub(super) fn decide(case: &Case<'_>, command: &ReportCommand) -> Result<Decision, Refusal> {
    match command {
        ReportCommand::Count { day, additions } => count(case, *day, additions),
        ReportCommand::Rebuild { day, currency, tallies } => Ok(rebuild(case, *day, *currency, tallies)),
    }
}

fn count(case: &Case<'_>, day: NaiveDate, additions: &[Addition]) -> Result<Decision, Refusal> {
    let mut daily_totals = Vec::with_capacity(additions.len());
    for addition in additions {
        let key = (case.client, day, addition.amount.currency().code(), addition.line);
        match case.set.daily_totals.get(&key) {
            // A day that was computed from the books has all of its events in it.
            Some(total) if total.rebuilt_at.is_some() => {}
            Some(total) => daily_totals
                .push(total.with(addition.amount, case.now).map_err(|_| Refusal::AmountOutOfRange)?),
            None => daily_totals.push(DailyTotal::new(case.client, day, *addition, case.now)),
        }
    }
    if daily_totals.is_empty() {
        return Ok(Decision { outcome: Outcome::NothingDue, changes: Changes::default() });
    }
    let changes = Changes { daily_totals, ..Changes::default() };
    Ok(Decision { outcome: Outcome::EventCounted(day), changes })
}

fn rebuild(case: &Case<'_>, day: NaiveDate, currency: Currency, tallies: &[(Line, Tally)]) -> Decision {
    if !is_over(day, case.now) {
        return Decision { outcome: Outcome::NothingDue, changes: Changes::default() };
    }
    let totals = Line::ALL.map(|line| {
        let said = tallies.iter().find(|(said, _)| *said == line).map(|(_, tally)| *tally);
        let tally = said.unwrap_or(Tally::none(currency));
        match case.set.daily_totals.get(&(case.client, day, currency.code(), line)) {
            Some(total) => total.rebuilt(tally, case.now),
            // A row of nothing as well: an event of the day that comes later finds it, and is not counted.
            None => DailyTotal::of_books(case.client, day, line, tally, case.now),
        }
    });
    let changes = Changes { daily_totals: totals.to_vec(), ..Changes::default() };
    Decision { outcome: Outcome::DayRebuilt(day), changes }
}

/// Whether nothing that is decided from now on, or was and has not committed, can be of that day.
pub fn is_over(day: NaiveDate, now: chrono::DateTime<Utc>) -> bool {
    let end = day.succ_opt().unwrap_or(NaiveDate::MAX).and_time(chrono::NaiveTime::MIN).and_utc();
    end + DAY_SETTLES_IN <= now
}
