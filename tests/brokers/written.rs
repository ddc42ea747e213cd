//! The outbox of a database: what must arrive.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use uuid::Uuid;

use crate::spectator::{Seen, until};

/// The outbox.
pub struct Outbox {
    /// The database, as its owner.
    pub database: PgPool,
}

impl Outbox {
    /// The outbox of this database.
    pub async fn open(options: &PgConnectOptions) -> anyhow::Result<Self> {
        Ok(Self { database: PgPool::connect_with(options.clone()).await? })
    }

    /// The ids of all events.
    pub async fn ids(&self) -> anyhow::Result<BTreeSet<Uuid>> {
        let ids: Vec<Uuid> =
            sqlx::query_scalar("SELECT event_id FROM outbox_events").fetch_all(&self.database).await?;
        Ok(ids.into_iter().collect())
    }

    /// Of each thing the sequences of its events, in their order.
    pub async fn things(&self) -> anyhow::Result<BTreeMap<String, Vec<i64>>> {
        let rows: Vec<(String, Vec<i64>)> = sqlx::query_as(
            "SELECT aggregate_type || '/' || aggregate_id, array_agg(sequence ORDER BY sequence)
             FROM outbox_events GROUP BY 1",
        )
        .fetch_all(&self.database)
        .await?;
        Ok(rows.into_iter().collect())
    }

    /// How many of the events that are kept a broker has accepted, as far as the relays have noted it.
    pub async fn published(&self) -> anyhow::Result<i64> {
        self.count("IS TRUE").await
    }

    /// How many events no broker has accepted yet, as far as the relays have noted it.
    pub async fn waiting(&self) -> anyhow::Result<i64> {
        self.count("IS NOT TRUE").await
    }

    /// How many events there are of which it is so that a relay's place is not before them.
    async fn count(&self, is_accepted: &str) -> anyhow::Result<i64> {
        let count = format!(
            "SELECT count(*)
             FROM outbox_events o
             LEFT JOIN event_streams s ON s.client_id = o.client_id
             WHERE ((o.horizon, o.aggregate_id, o.sequence, o.event_id)
                    <= (s.horizon, s.aggregate_id, s.sequence, s.event_id)) {is_accepted}"
        );
        Ok(sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&self.database).await?)
    }

    /// Forgets how far they are published: all are published again. Answers how many are still kept.
    pub async fn begin_anew(&self) -> anyhow::Result<usize> {
        sqlx::query("DELETE FROM event_streams").execute(&self.database).await?;
        Ok(self.ids().await?.len())
    }

    /// Waits until every event has arrived and is noted as published.
    pub async fn has_arrived(&self, seen: &Seen) -> anyhow::Result<()> {
        let written = self.ids().await?;
        let missing = || {
            let seen = seen.ids();
            format!("{} of {} events have not arrived", written.difference(&seen).count(), written.len())
        };
        until(missing, async || Ok(written.is_subset(&seen.ids()) && self.waiting().await? == 0)).await
    }

    /// Writes an event, in a transaction or without.
    pub async fn write(
        db: impl sqlx::PgExecutor<'_>,
        event: Uuid,
        thing: Uuid,
        sequence: i64,
    ) -> anyhow::Result<()> {
        sqlx::query(
            "INSERT INTO outbox_events (
                 client_id, event_id, event_type, aggregate_type, aggregate_id, sequence, data, occurred_at
             )
             SELECT client_id, $1, 'onefold.account.opened.v1', 'account', $2, $3, '{}', now()
             FROM clients WHERE name = 'demo'",
        )
        .bind(event)
        .bind(thing)
        .bind(sequence)
        .execute(db)
        .await?;
        Ok(())
    }
}
