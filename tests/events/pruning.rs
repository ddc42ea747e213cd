//! What is published is deleted in time, and the audit goes on without it.

use std::time::Duration;

use audit::Settings;
use chrono::TimeDelta;
use desk::{Clock, SystemClock};
use events::{relay, store};
use onefold_tests::desks::{self, account_with, order};

use crate::reader::{Reader, connection, database, desk, written};

#[tokio::test]
async fn published_events_are_deleted_in_time_and_others_are_kept_and_the_books_are_right()
-> anyhow::Result<()> {
    let database = database().await?;
    let desk = desk(&database);
    let reader = Reader::default();
    let account = account_with(&desk, "100.00").await?;
    desk.submit(order("o-1", account, "1.00"), None).await;
    let relaying = reader.relay(&database, &desk);
    let published = written(&database).await?;
    reader.has_read(&published).await?;
    relaying.end().await?;
    desk.submit(order("o-2", account, "1.00"), None).await;
    let all = written(&database).await?.len();

    let mut connection = connection(&database).await?;
    let cluster = store::cluster_id(&mut connection).await?;
    let long_ago = SystemClock.now() - TimeDelta::hours(1);
    assert_eq!(relay::prune(&mut connection, cluster, desks::client(), long_ago).await?, 0, "none is so old");
    let soon = SystemClock.now() + TimeDelta::hours(1);
    let pruned = relay::prune(&mut connection, cluster, desks::client(), soon).await?;
    assert_eq!(pruned, published.len() as u64, "all that is published");
    assert_eq!(written(&database).await?.len(), all - published.len(), "what waits is kept, however old");

    let settings = Settings { retention: Duration::from_secs(72 * 60 * 60), listed_max: 100 };
    let report = audit::audit(database.owner_options(), settings, &mut |_| {}).await?;
    assert!(report.is_clean(), "{report:?}");

    let relaying = reader.relay(&database, &desk);
    reader.has_read(&written(&database).await?).await?;
    relaying.end().await
}
