//! Which events must still be there. Published ones are deleted in the end; how far that went is noted for each client.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::row::Row;

/// An id may have been drawn by a server whose clock is ahead of the one that deleted.
const CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::minutes(10);

/// What of each client's events may be gone.
#[derive(Debug, Default)]
pub struct KeptEvents {
    pruned_before: HashMap<Uuid, DateTime<Utc>>,
}

impl KeptEvents {
    /// Takes in the rows that say so; they come before all others.
    pub fn see(&mut self, row: &Row<'_>) {
        if let Row::Client(client) = row {
            let before = client.events_pruned_before.map(|before| (client.client_id, before));
            self.pruned_before.extend(before);
        }
    }

    /// Whether no event of this thing can have been deleted: its id tells when it was made.
    pub fn is_whole(&self, client: Uuid, aggregate: Uuid) -> bool {
        let Some(before) = self.pruned_before.get(&client) else { return true };
        let made = aggregate.get_timestamp().and_then(|time| {
            let (seconds, nanoseconds) = time.to_unix();
            DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanoseconds)
        });
        made.is_some_and(|made| made >= *before + CLOCKS_DIFFER_BY)
    }

    /// Whether an event of this moment cannot have been deleted.
    pub fn is_kept(&self, client: Uuid, occurred_at: DateTime<Utc>) -> bool {
        self.pruned_before.get(&client).is_none_or(|before| occurred_at >= *before + CLOCKS_DIFFER_BY)
    }
}
