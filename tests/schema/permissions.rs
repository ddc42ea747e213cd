//! What the service's role may do, and what it may not.

use desk::{Hooks, Settings};
use onefold_tests::database::{audit, new_database, new_service_database};
use onefold_tests::desks::{account_with, open, order, status};
use onefold_tests::http::{TestServer, order_body};
use sqlx::{Connection, PgConnection, Row};

fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|fault| fault.code()).map(|code| code.into_owned())
}

#[tokio::test]
async fn the_service_adds_rows_to_the_journal_and_can_neither_change_nor_delete_one() {
    let database = new_service_database().await.expect("a database");
    assert!(database.restricted());
    let desk = open(&database, Settings::default(), Hooks::default());
    let account = account_with(&desk, "100.00").await.expect("an account");
    assert_eq!(status(&desk.submit(order("k", account, "40.00"), None).await.answered), Some(201));

    let mut service = PgConnection::connect_with(database.service_options()).await.expect("a connection");
    let role: String =
        sqlx::query_scalar("SELECT current_user::text").fetch_one(&mut service).await.expect("a role");
    assert_eq!(role, desk::schema::SERVICE_ROLE);
    for statement in [
        "UPDATE journal_entries SET amount = amount",
        "UPDATE journal_entries SET amount = amount WHERE FALSE",
        "DELETE FROM journal_entries",
        "TRUNCATE journal_entries",
        "ALTER TABLE journal_entries DROP COLUMN amount",
        "DROP TABLE journal_entries",
        "DELETE FROM orders",
        "DELETE FROM payments",
        "DELETE FROM asked_refunds",
        "DELETE FROM payment_receipts",
        "DELETE FROM callback_deliveries",
        "UPDATE callback_deliveries SET effect = effect",
        "UPDATE receipt_refunds SET amount = amount",
        "DELETE FROM payment_alerts",
        "DELETE FROM movements",
        "DELETE FROM accounts",
        "INSERT INTO clients VALUES (gen_random_uuid(), 'intruder', now())",
        "UPDATE api_keys SET revoked_at = NULL",
        "CREATE TABLE anything (a INT)",
    ] {
        let refused = sqlx::query(statement).execute(&mut service).await.expect_err(statement);
        assert_eq!(sqlstate(&refused).as_deref(), Some("42501"), "{statement}: {refused}");
    }
    let books = audit(database.owner_options()).await;
    assert_eq!((books.orders, books.entries), (1, 2));
}

/// Each privilege of the service's role, table by table, as `table: privileges`.
#[tokio::test]
async fn the_service_has_these_rights_and_no_others() {
    let options = new_database().await.expect("a database");
    let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
    let rows = sqlx::query(
        "SELECT c.relname::text AS name, string_agg(p.privilege, ' ' ORDER BY p.place) AS privileges
         FROM pg_class c
         CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'])
             WITH ORDINALITY AS p (privilege, place)
         WHERE c.relnamespace = 'public'::regnamespace
           AND c.relkind = 'r'
           AND has_table_privilege($1, c.oid, p.privilege)
         GROUP BY c.relname
         ORDER BY c.relname",
    )
    .bind(desk::schema::SERVICE_ROLE)
    .fetch_all(&mut connection)
    .await
    .expect("the rights");
    let rights: Vec<(String, String)> =
        rows.iter().map(|row| (row.get("name"), row.get("privileges"))).collect();
    let rights: Vec<(&str, &str)> =
        rights.iter().map(|(name, right)| (name.as_str(), right.as_str())).collect();
    assert_eq!(
        rights,
        [
            ("accounts", "SELECT INSERT UPDATE"),
            ("api_keys", "SELECT"),
            ("asked_refunds", "SELECT INSERT UPDATE"),
            ("callback_deliveries", "SELECT INSERT"),
            ("clients", "SELECT"),
            ("collecting_accounts", "SELECT INSERT"),
            ("collecting_totals", "SELECT INSERT UPDATE DELETE"),
            ("daily_totals", "SELECT INSERT UPDATE"),
            ("event_streams", "SELECT INSERT UPDATE"),
            ("events_set_aside", "SELECT INSERT UPDATE DELETE"),
            ("hold_captures", "SELECT INSERT"),
            ("holds", "SELECT INSERT UPDATE"),
            ("idempotency_records", "SELECT INSERT UPDATE DELETE"),
            ("journal_entries", "SELECT INSERT"),
            ("movements", "SELECT INSERT"),
            ("order_items", "SELECT INSERT UPDATE"),
            ("order_versions", "SELECT INSERT"),
            ("orders", "SELECT INSERT UPDATE"),
            ("outbox_events", "SELECT INSERT DELETE"),
            ("payment_alerts", "SELECT INSERT UPDATE"),
            ("payment_receipts", "SELECT INSERT UPDATE"),
            ("payments", "SELECT INSERT UPDATE"),
            ("quarantined_bodies", "SELECT INSERT DELETE"),
            ("receipt_refunds", "SELECT INSERT"),
            ("refund_items", "SELECT INSERT"),
            ("refunds", "SELECT INSERT"),
            ("skus", "SELECT INSERT UPDATE"),
            ("webhook_deliveries", "SELECT INSERT UPDATE DELETE"),
            ("webhook_endpoints", "SELECT"),
        ]
    );
}

#[tokio::test]
async fn a_record_holds_no_secret_of_the_client() {
    let server = TestServer::start().await.expect("a server");
    let (client, key) = (client::ClientId(uuid::Uuid::new_v4()), client::ApiKey::generate());
    let mut owner = PgConnection::connect_with(&server.database).await.expect("a connection");
    let now = chrono::DateTime::UNIX_EPOCH;
    client::store::insert_client(&mut owner, client, "keeper", now).await.expect("a client");
    client::store::insert_api_key(&mut owner, client, key.hash(), false, &client::Scopes::All, now)
        .await
        .expect("a key");
    let keeper = onefold_tests::http::Caller::new(&server.url(), key.reveal());

    let opening = serde_json::json!({ "owner": "alice", "currency": "CNY" });
    let opened = keeper.post("/v1/accounts", "k-1", &opening).await.expect("an answer");
    assert_eq!(opened.status, 201);
    let account = opened.json()["id"].as_str().expect("an id").to_owned();
    let refused =
        keeper.post("/v1/orders", "k-2", &order_body(&account, "n-1", "1.00")).await.expect("an answer");
    assert_eq!(refused.status, 402);

    let records: Vec<String> = sqlx::query_scalar(
        "SELECT r::text || convert_from(r.response_body, 'UTF8') FROM idempotency_records r WHERE client_id = $1",
    )
    .bind(client)
    .fetch_all(&mut owner)
    .await
    .expect("the records");
    assert_eq!(records.len(), 2);
    let hash: String = key.hash().0.iter().map(|byte| format!("{byte:02x}")).collect();
    for record in &records {
        let told = record.to_lowercase();
        for secret in
            [key.reveal().to_lowercase(), hash.clone(), "bearer".to_owned(), "authorization".to_owned()]
        {
            assert!(!told.contains(&secret), "{record}");
        }
    }
    server.shutdown().await;
}
