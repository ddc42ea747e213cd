//! The SQL of the table `outbox_events`.

use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use crate::Event;

/// Every statement of this file, by name, to be checked against the schema.
pub const STATEMENTS: &[(&str, &str)] = &[("INSERT", INSERT)];

/// Adds events: `$1` to `$8`, see [`bind_inserts`]. Returns a row for each.
pub const INSERT: &str = "
    INSERT INTO outbox_events (
        client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
    )
    SELECT u.client_id, u.event_id, u.event_type, u.aggregate_type, u.aggregate_id, u.sequence, u.data::json,
           u.occurred_at
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::timestamptz[]
    ) AS u (client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at)
    RETURNING 1";

/// Binds [`INSERT`]'s parameters.
pub fn bind_inserts(arguments: &mut PgArguments, events: &[Event]) -> Result<(), BoxDynError> {
    fn column<'r, T>(events: &'r [Event], of: impl Fn(&'r Event) -> T) -> Vec<T> {
        events.iter().map(of).collect()
    }
    arguments.add(column(events, |e| e.client_id.0))?;
    arguments.add(column(events, |e| e.id.0))?;
    arguments.add(column(events, |e| e.event_type))?;
    arguments.add(column(events, |e| e.aggregate_type))?;
    arguments.add(column(events, |e| e.aggregate_id))?;
    arguments.add(column(events, |e| e.sequence))?;
    arguments.add(column(events, |e| e.data.to_string()))?;
    arguments.add(column(events, |e| e.occurred_at))?;
    Ok(())
}
