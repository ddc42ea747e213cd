//! A database that was restored from a dump into another cluster, where transaction ids begin anew.

use onefold_tests::desks::{account_with, order};

use crate::reader::{Reader, connection, database, desk, written};

#[tokio::test]
async fn after_a_dump_was_restored_nothing_is_passed_over() -> anyhow::Result<()> {
    let database = database().await?;
    let desk = desk(&database);
    let account = account_with(&desk, "100.00").await?;
    desk.submit(order("o-1", account, "1.00"), None).await;
    let reader = Reader::default();
    let relaying = reader.relay(&database, &desk);
    let before = written(&database).await?;
    reader.has_read(&before).await?;
    relaying.end().await?;

    // As rows look that come from a cluster which was far ahead of this one.
    let mut connection = connection(&database).await?;
    sqlx::query("UPDATE outbox_events SET horizon = '4611686018427387904'").execute(&mut connection).await?;
    sqlx::query("UPDATE event_streams SET cluster_id = cluster_id - 1, horizon = '4611686018427387904'")
        .execute(&mut connection)
        .await?;
    desk.submit(order("o-2", account, "1.00"), None).await;

    let reader = Reader::default();
    let relaying = reader.relay(&database, &desk);
    let all = written(&database).await?;
    assert!(all.len() > before.len());
    reader.has_read(&all).await?;
    relaying.end().await?;
    let last = reader.read().last().map(|message| message.id.0);
    assert!(last.is_some_and(|last| !before.contains(&last)), "the new one comes last");
    Ok(())
}
