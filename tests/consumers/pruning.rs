//! What of events is kept long enough, and what is kept on.

use chrono::{DateTime, TimeDelta, Utc};
use onefold_tests::desks::client;
use server::pruning::{Kept, Round, once};
use sqlx::PgPool;
use uuid::Uuid;

use crate::stage::Stage;

const NOON: &str = "2026-01-31T12:00:00Z";

/// More rows than one statement deletes.
const MANY: i32 = 501;

/// A webhook of an endpoint that is called no more, which has ended so many days ago.
async fn deliveries(pool: &PgPool, status: &str, days_ago: i64, count: i32) -> anyhow::Result<()> {
    let at = NOON.parse::<DateTime<Utc>>()? - TimeDelta::days(days_ago);
    let insert = "
        INSERT INTO webhook_deliveries (
            client_id, endpoint_id, event_id, event_type, body, status, attempts, next_attempt_at, created_at, finished_at
        )
        SELECT $1, $2, gen_random_uuid(), 'onefold.order.paid.v1', '', $3, 1, $4, $4,
               CASE WHEN $3 <> 'due' THEN $4 END
        FROM generate_series(1, $5)";
    let query = sqlx::query(insert).bind(client()).bind(Uuid::from_u128(1)).bind(status).bind(at).bind(count);
    query.execute(pool).await?;
    Ok(())
}

async fn set_aside(pool: &PgPool, days_ago: i64, count: i32) -> anyhow::Result<()> {
    let at = NOON.parse::<DateTime<Utc>>()? - TimeDelta::days(days_ago);
    let insert = "
        INSERT INTO events_set_aside (
            client_id, consumer, event_id, event_type, subject, sequence, body, reason, detail, set_aside_at
        )
        SELECT $1, 'read-model', gen_random_uuid(), 'onefold.order.paid.v1', 'order/1', 1, '', 'unreadable', '', $2
        FROM generate_series(1, $3)";
    sqlx::query(insert).bind(client()).bind(at).bind(count).execute(pool).await?;
    Ok(())
}

async fn left(pool: &PgPool) -> anyhow::Result<Vec<(String, i64)>> {
    let rows = "
        SELECT status, count(*) FROM webhook_deliveries GROUP BY status
        UNION ALL
        SELECT 'set_aside', count(*) FROM events_set_aside
        ORDER BY 1";
    Ok(sqlx::query_as(rows).fetch_all(pool).await?)
}

#[tokio::test]
async fn what_nobody_has_seen_to_is_kept_for_its_time_and_then_deleted() -> anyhow::Result<()> {
    let stage = Stage::at(NOON.parse()?).await?;
    let mut owner = PgPool::connect_with(stage.database.owner_options().clone()).await?.acquire().await?;
    let a_client = "INSERT INTO clients (client_id, name, created_at) VALUES ($1, 'shop', now())";
    sqlx::query(a_client).bind(client()).execute(&mut *owner).await?;
    let pool = stage.database.pool();
    for (days_ago, count) in [(89, 1), (91, MANY)] {
        deliveries(pool, "dead", days_ago, count).await?;
        set_aside(pool, days_ago, count).await?;
    }
    for (days_ago, count) in [(29, 1), (31, MANY)] {
        deliveries(pool, "delivered", days_ago, count).await?;
    }
    // It is tried on, however old it is.
    deliveries(pool, "due", 1_000, 1).await?;

    let many = u64::from(MANY.unsigned_abs());
    let round = once(pool, NOON.parse()?, Kept::default()).await?;
    assert_eq!(round, Round { delivered: many, dead: many, set_aside: many });
    let one = |what: &str| (what.to_owned(), 1);
    assert_eq!(left(pool).await?, ["dead", "delivered", "due", "set_aside"].map(one));
    assert_eq!(once(pool, NOON.parse()?, Kept::default()).await?, Round::default());
    Ok(())
}

#[tokio::test]
async fn what_is_set_aside_once_more_is_kept_from_then_on() -> anyhow::Result<()> {
    let stage = Stage::at(NOON.parse()?).await?;
    let pool = stage.database.pool();
    set_aside(pool, 91, 1).await?;
    let mut waiting = consumers::store::waiting(pool, client(), "read-model", Uuid::nil(), 1).await?;
    waiting[0].set_aside_at = NOON.parse()?;
    consumers::store::set_aside(pool, &waiting[0]).await?;
    let before = NOON.parse::<DateTime<Utc>>()? - TimeDelta::days(90);
    assert_eq!(consumers::store::prune(pool, &[client()], before, 10).await?, 0);
    Ok(())
}
