//! Commits whose answer is lost: PostgreSQL has committed and cannot say so.
//!
//! A commit that waits for a standby which is not there has happened on disk, is not visible yet, and still holds
//! its locks. That is the moment in which a network would break, made to last.

use std::time::Duration;

use desk::{Answered, Hooks, LookedUp, Settings};
use onefold_tests::database::audit;
use onefold_tests::desks::{account_with, name, open, order};
use onefold_tests::own_cluster::OwnCluster;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::observe::{connection, drain, end_the_lanes_connections, one_lane, soon, until};

/// Makes every commit of the cluster wait for a standby that is not there, or lets them go.
async fn commits_hang(administrator: &mut PgConnection, hang: bool) {
    let standby = if hang { "nobody" } else { "" };
    for statement in [
        // This connection's own commits go through.
        "SET synchronous_commit = local".to_owned(),
        format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'"),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *administrator).await.expect("a setting");
    }
    until("the setting is known", async || {
        let known: String = sqlx::query_scalar("SHOW synchronous_standby_names")
            .fetch_one(&mut *administrator)
            .await
            .expect("a setting");
        known == standby
    })
    .await;
}

async fn a_commit_hangs(administrator: &mut PgConnection) -> bool {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
        .fetch_one(administrator)
        .await
        .expect("who waits")
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_has_one_effect_and_the_answer_is_found() {
    let cluster = OwnCluster::start(&[]).await.expect("a cluster");
    let database = cluster.new_service_database("onefold").await.expect("a database");
    let mut administrator = connection(database.owner_options()).await;
    let desk = open(&database, one_lane(), Hooks::default());
    let account = account_with(&desk, "100.00").await.expect("an account");

    // The connection is ended while its commit waits: the desk asks what became of it, and is told.
    commits_hang(&mut administrator, true).await;
    let submitted = tokio::spawn({
        let (desk, asks) = (desk.clone(), order("ended", account, "40.00"));
        async move { desk.submit(asks, None).await.answered }
    });
    until("the commit hangs", async || a_commit_hangs(&mut administrator).await).await;
    assert_eq!(end_the_lanes_connections(&mut administrator).await, 1);
    let answered = soon("the answer", submitted).await.expect("it lives");
    assert!(matches!(&answered, Answered::Ran(answer) if answer.status == 201), "{answered:?}");
    let LookedUp::Finished(record) = desk.look_up(&name("ended")).await.expect("the database answers") else {
        panic!("the order is recorded");
    };
    assert_eq!(Answered::Ran(record.answer), answered, "what was answered is what is recorded");
    commits_hang(&mut administrator, false).await;
    assert_eq!(audit(database.owner_options()).await.orders, 1);

    // The commit goes on hanging: the desk gives its connection up, cannot win the name, and says that it does
    // not know.
    let hasty = Settings {
        statement_timeout: Duration::from_millis(200),
        unknown_wait: Duration::from_millis(300),
        ..one_lane()
    };
    let unsure = open(&database, hasty, Hooks::default());
    let other = open(&database, one_lane(), Hooks::default());
    commits_hang(&mut administrator, true).await;
    let asks = order("hung", account, "60.00");
    let told = soon("an answer", unsure.submit(asks.clone(), None)).await.answered;
    assert_eq!(told, Answered::OutcomeUnknown);
    assert!(a_commit_hangs(&mut administrator).await);
    for desk in [&unsure, &other] {
        let told = soon("an answer", desk.submit(asks.clone(), None)).await.answered;
        assert_eq!(told, Answered::InProgress, "it can still commit, and nobody runs it a second time");
    }
    commits_hang(&mut administrator, false).await;
    until("the commit is through", async || !a_commit_hangs(&mut administrator).await).await;
    let learnt = soon("an answer", unsure.submit(asks, Some(Duration::from_secs(10)))).await.answered;
    assert!(matches!(&learnt, Answered::Replayed(answer) if answer.status == 201), "{learnt:?}");
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.order_payments), (2, 2));

    for desk in [&desk, &unsure, &other] {
        drain(desk).await;
    }
    cluster.stop().await.expect("the cluster stops");
}
