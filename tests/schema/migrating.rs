//! Migrating: by many at once, by an owner who may do little, again.

use desk::schema::{Database, MIGRATOR};
use desk::{Hooks, Settings};
use futures::future::join_all;
use onefold_tests::database::{audit, new_bare_database, new_database};
use onefold_tests::desks::{account_with, open, order, status};
use onefold_tests::own_cluster::OwnCluster;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

async fn run(options: &PgConnectOptions, statement: &str) {
    let mut connection = PgConnection::connect_with(options).await.expect("a connection");
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await.expect("a statement");
    connection.close().await.expect("the connection closes");
}

/// The service does its work on this database: migrates it again, takes money and pays an order.
async fn serves(options: &PgConnectOptions) -> Database {
    Database::migrate(options).await.expect("a second migration has nothing to do");
    let database = Database::connect(options.clone(), 2).await.expect("a database");
    assert!(database.migrations_applied().await.expect("the migrations"));
    let desk = open(&database, Settings { lanes: 1, ..Settings::default() }, Hooks::default());
    let account = account_with(&desk, "100.00").await.expect("an account");
    assert_eq!(status(&desk.submit(order("k", account, "40.00"), None).await.answered), Some(201));
    assert_eq!(audit(options).await.orders, 1);
    desk.drain().await;
    database
}

async fn migrate_at_once(databases: &[PgConnectOptions], times: usize) {
    let migrating = databases.iter().cycle().take(databases.len() * times).map(Database::migrate);
    for migration in join_all(migrating).await {
        migration.expect("a migration");
    }
}

#[tokio::test]
async fn eight_servers_that_start_at_once_all_find_the_database_migrated() {
    let options = new_bare_database().await.expect("a database");
    migrate_at_once(std::slice::from_ref(&options), 8).await;
    let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
    let applied: i64 = sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success")
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    assert_eq!(usize::try_from(applied), Ok(MIGRATOR.iter().count()));
    assert!(serves(&options).await.restricted());
}

#[tokio::test]
async fn a_database_with_a_migration_of_the_future_is_left_alone() {
    let options = new_database().await.expect("a database");
    run(
        &options,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of the future', TRUE, '\\x00', 0)",
    )
    .await;
    Database::migrate(&options).await.expect_err("this version does not know it");
}

/// On a cluster of its own, for roles are the cluster's: one after the other, from a cluster without the role.
#[tokio::test]
async fn the_role_is_made_once_for_a_cluster_and_whoever_may_not_have_it_works_without() {
    let cluster = OwnCluster::start(&[]).await.expect("a cluster");
    let administrator = cluster.options("postgres").expect("a database");
    for role in ["early", "late", "member"] {
        run(&administrator, &format!("CREATE ROLE {role} NOSUPERUSER NOCREATEROLE NOLOGIN")).await;
    }
    let owned_by = async |role: &str| {
        let options = cluster.new_bare_database(&format!("of_{role}")).await.expect("a database");
        run(&administrator, &format!("ALTER DATABASE of_{role} OWNER TO {role}")).await;
        options.options([("role", role)])
    };

    // There is no role, and the owner may not make one.
    let early = owned_by("early").await;
    Database::migrate(&early).await.expect("a migration without the role");
    assert!(!serves(&early).await.restricted());

    // Two databases are migrated at once, four times each; the first makes the role.
    let two = [
        cluster.new_bare_database("one").await.expect("a database"),
        cluster.new_bare_database("other").await.expect("a database"),
    ];
    migrate_at_once(&two, 4).await;
    for options in &two {
        assert!(serves(options).await.restricted());
    }

    // There is a role, of which the owner is no member.
    let late = owned_by("late").await;
    Database::migrate(&late).await.expect("a migration without the membership");
    assert!(!serves(&late).await.restricted());

    // The administrator has made the owner a member.
    run(&administrator, "GRANT onefold_service TO member").await;
    let member = owned_by("member").await;
    Database::migrate(&member).await.expect("a migration with the membership");
    assert!(serves(&member).await.restricted());

    // The role came too late for the tables of the first, membership or not.
    run(&administrator, "GRANT onefold_service TO early").await;
    let database = Database::connect(early, 2).await.expect("a database");
    assert!(!database.restricted());
    // And a role that has some of its rights and not others is not worked under.
    run(&two[0], "REVOKE INSERT ON orders FROM onefold_service").await;
    assert!(!Database::connect(two[0].clone(), 2).await.expect("a database").restricted());
    run(&two[1], "GRANT DELETE ON journal_entries TO onefold_service").await;
    assert!(!Database::connect(two[1].clone(), 2).await.expect("a database").restricted());
    cluster.stop().await.expect("the cluster stops");
}
