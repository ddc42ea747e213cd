//! What can be asked for about reports.

use chrono::NaiveDate;
use client::ClientId;
use money::Currency;
use reports::{Addition, Line, Tally, TotalKey};

/// An effect on a client's daily totals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReportCommand {
    /// Count what one event adds. The name that it goes through the door under is the event's, so it is counted once.
    Count {
        /// The day on which it happened, in UTC.
        day: NaiveDate,
        /// What it adds, each line once.
        additions: Vec<Addition>,
    },
    /// Set the totals of a day that is over to what the books say. Events of the day that come later are in them.
    Rebuild {
        /// The day, in UTC.
        day: NaiveDate,
        /// Which currency.
        currency: Currency,
        /// What the books say, line by line; of the others they say nothing.
        tallies: Vec<(Line, Tally)>,
    },
}

impl ReportCommand {
    /// The day that it is about.
    pub fn day(&self) -> NaiveDate {
        match self {
            Self::Count { day, .. } | Self::Rebuild { day, .. } => *day,
        }
    }

    /// The rows that it may change.
    pub fn totals(&self, client: ClientId) -> Vec<TotalKey> {
        match self {
            Self::Count { day, additions } => {
                let key = |added: &Addition| (client, *day, added.amount.currency().code(), added.line);
                additions.iter().map(key).collect()
            }
            Self::Rebuild { day, currency, .. } => {
                Line::ALL.map(|line| (client, *day, currency.code(), line)).to_vec()
            }
        }
    }
}
