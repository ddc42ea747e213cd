//! One line of one day.

use chrono::{DateTime, NaiveDate, Utc};
use client::ClientId;
use money::{Amount, ArithmeticError, Currency};

use crate::{Addition, Line};

/// How often, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// How much in all.
    pub amount: Amount,
}

impl Tally {
    /// Never, and nothing.
    pub fn none(currency: Currency) -> Self {
        Self { count: 0, amount: Amount::zero(currency) }
    }
}

/// What a row is known by: the client, the day in UTC, the currency's code and the line.
pub type TotalKey = (ClientId, NaiveDate, &'static str, Line);

/// One line of one day of a client in one currency, as a row under a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DailyTotal {
    /// Whose it is.
    pub client_id: ClientId,
    /// The day, in UTC.
    pub day: NaiveDate,
    /// What is counted.
    pub line: Line,
    /// How often, and how much. The amount's currency is the row's.
    pub tally: Tally,
    /// When the day was computed from the books, after it was over: from then on its events are in it already.
    pub rebuilt_at: Option<DateTime<Utc>>,
    /// How many changes it has seen, its making the first.
    pub version: i64,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl DailyTotal {
    /// The version of a row that is new.
    pub const FIRST_VERSION: i64 = 1;

    /// The row's identity.
    pub fn key(&self) -> TotalKey {
        (self.client_id, self.day, self.tally.amount.currency().code(), self.line)
    }

    /// The first version of a row.
    pub fn new(client_id: ClientId, day: NaiveDate, addition: Addition, now: DateTime<Utc>) -> Self {
        Self {
            client_id,
            day,
            line: addition.line,
            tally: Tally { count: 1, amount: addition.amount },
            rebuilt_at: None,
            version: Self::FIRST_VERSION,
            updated_at: now,
        }
    }

    /// The first version of a row that is computed from the books, of a day that is over.
    pub fn of_books(
        client_id: ClientId,
        day: NaiveDate,
        line: Line,
        tally: Tally,
        now: DateTime<Utc>,
    ) -> Self {
        let version = Self::FIRST_VERSION;
        Self { client_id, day, line, tally, rebuilt_at: Some(now), version, updated_at: now }
    }

    /// The row with so much more, once.
    ///
    /// # Errors
    ///
    /// If the sum leaves the range of an amount, or the currencies differ.
    pub fn with(&self, more: Amount, now: DateTime<Utc>) -> Result<Self, ArithmeticError> {
        let tally =
            Tally { count: self.tally.count.saturating_add(1), amount: self.tally.amount.checked_add(more)? };
        Ok(Self { tally, version: self.version + 1, updated_at: now, ..self.clone() })
    }

    /// The row as the books have it. The day is over: nothing more is counted to it.
    pub fn rebuilt(&self, tally: Tally, now: DateTime<Utc>) -> Self {
        Self { tally, rebuilt_at: Some(now), version: self.version + 1, updated_at: now, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_total_grows_by_one_and_by_the_amount_and_stops_at_what_an_amount_can_hold() {
        let cny = Currency::from_code("CNY").unwrap();
        let now = DateTime::UNIX_EPOCH;
        let addition = Addition { line: Line::Deposits, amount: Amount::parse("1.10", cny).unwrap() };
        let total = DailyTotal::new(ClientId(Uuid::nil()), now.date_naive(), addition, now);
        let total = total.with(Amount::parse("2.20", cny).unwrap(), now).unwrap();
        assert_eq!((total.tally.count, total.tally.amount.to_string(), total.version), (2, "3.30".into(), 2));
        assert!(total.with(Amount::largest(cny), now).is_err());
        let rebuilt = total.rebuilt(Tally::none(cny), now);
        assert_eq!((rebuilt.tally.count, rebuilt.version, rebuilt.rebuilt_at), (0, 3, Some(now)));
    }
}
