//! Every statement of every store, against the schema: it parses, the service may run it, and what is hot is planned
//! to find its rows by an index.

use std::path::Path;

use desk::Settings;
use desk::connection::lane_options;
use onefold_tests::database::{new_database, new_service_database};
use payment_callback::store::{alerts, asked_refunds, deliveries, payments, polls, receipts};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqlSafeStr};

/// The files with SQL, and what they list.
const STORES: &[(&str, &[(&str, &str)])] = &[
    ("account/src/store/accounts.rs", account::store::accounts::STATEMENTS),
    ("account/src/store/collecting.rs", account::store::collecting::STATEMENTS),
    ("account/src/store/holds.rs", account::store::holds::STATEMENTS),
    ("account/src/store/journal.rs", account::store::journal::STATEMENTS),
    ("account/src/store/movements.rs", account::store::movements::STATEMENTS),
    ("client/src/store.rs", client::store::STATEMENTS),
    ("consumers/src/store.rs", consumers::store::STATEMENTS),
    ("desk/src/store.rs", desk::store::STATEMENTS),
    ("events/src/store.rs", events::store::STATEMENTS),
    ("history/src/store.rs", history::store::STATEMENTS),
    ("idempotency/src/store.rs", idempotency::store::STATEMENTS),
    ("inventory/src/store.rs", inventory::store::STATEMENTS),
    ("notifications/src/store/deliveries.rs", notifications::store::deliveries::STATEMENTS),
    ("notifications/src/store/endpoints.rs", notifications::store::endpoints::STATEMENTS),
    ("order/src/store.rs", order::store::STATEMENTS),
    ("order/src/store/items.rs", order::store::items::STATEMENTS),
    ("order/src/store/refunds.rs", order::store::refunds::STATEMENTS),
    ("order/src/store/versions.rs", order::store::versions::STATEMENTS),
    ("payment-callback/src/store/alerts.rs", alerts::STATEMENTS),
    ("payment-callback/src/store/asked_refunds.rs", asked_refunds::STATEMENTS),
    ("payment-callback/src/store/deliveries.rs", deliveries::STATEMENTS),
    ("payment-callback/src/store/payments.rs", payments::STATEMENTS),
    ("payment-callback/src/store/polls.rs", polls::STATEMENTS),
    ("payment-callback/src/store/receipts.rs", receipts::STATEMENTS),
    ("reports/src/store.rs", reports::store::STATEMENTS),
];

/// Programs that look at the books from outside, of whose statements nothing depends.
const BESIDE_THE_SERVICE: [&str; 3] =
    ["/crates/audit/", "/crates/load-generator/", "/crates/reconciliation/"];

/// Statements of administration, which the service's role may not run.
const ADMINISTRATION: [(&str, &str); 7] = [
    ("client/src/store.rs", "INSERT_CLIENT"),
    ("client/src/store.rs", "INSERT_API_KEY"),
    ("client/src/store.rs", "REVOKE_KEYS"),
    ("client/src/store.rs", "REVOKE_KEY"),
    ("notifications/src/store/endpoints.rs", "INSERT_ENDPOINT"),
    ("notifications/src/store/endpoints.rs", "SET_SECRETS"),
    ("notifications/src/store/endpoints.rs", "DELETE_ENDPOINT"),
];

fn files_with_statements(folder: &Path, found: &mut Vec<(String, Vec<String>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_with_statements(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let in_store = path.file_name().is_some_and(|name| name == "store.rs")
                || path.parent().is_some_and(|folder| folder.ends_with("store"));
            let text = std::fs::read_to_string(&path).expect("a file");
            let names: Vec<String> = text
                .lines()
                .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("const "))
                .filter_map(|line| line.split_once(": &str = "))
                // A statement stands there whole, or is put together by a macro of the store.
                .filter(|(_, begins)| begins.starts_with('"') || begins.contains("!("))
                .map(|(name, _)| name.to_owned())
                .collect();
            if in_store && !names.is_empty() {
                found.push((path.to_string_lossy().into_owned(), names));
            }
        }
    }
}

#[test]
fn every_statement_of_every_store_is_in_its_list() {
    let mut found = Vec::new();
    files_with_statements(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates"), &mut found);
    found.retain(|(path, _)| !BESIDE_THE_SERVICE.iter().any(|program| path.contains(program)));
    assert_eq!(found.len(), STORES.len(), "{found:?}");
    for (path, names) in found {
        let (_, listed) = STORES
            .iter()
            .find(|(store, _)| path.ends_with(store))
            .unwrap_or_else(|| panic!("{path} has statements that are not checked against the schema"));
        let listed: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, names, "the list in {path} is complete");
    }
}

#[tokio::test]
async fn every_statement_prepares_on_the_migrated_schema() {
    let options = new_database().await.expect("a database");
    let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
    for (store, statements) in STORES {
        for (name, sql) in *statements {
            let prepared = (&mut connection).prepare(sql.into_sql_str()).await;
            prepared.unwrap_or_else(|error| panic!("{name} of {store}: {error}"));
        }
    }
    let save = AssertSqlSafe(desk::store::save_of_everything()).into_sql_str();
    (&mut connection).prepare(save).await.expect("the statement that saves a batch");
    let recall = AssertSqlSafe(desk::store::recall::recall_of_everything()).into_sql_str();
    (&mut connection).prepare(recall).await.expect("the statement that recalls for a batch");
}

fn parameters(sql: &str) -> usize {
    let numbers = sql.split('$').skip(1).map(|piece| {
        let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().expect("a parameter has a number")
    });
    numbers.max().unwrap_or(0)
}

/// The plan that is made for any parameters. It is not run.
async fn generic_plan(connection: &mut PgConnection, sql: &str) -> sqlx::Result<String> {
    let parameters = vec!["NULL"; parameters(sql)].join(", ");
    let arguments = if parameters.is_empty() { String::new() } else { format!("({parameters})") };
    let mut plan = Vec::new();
    for statement in
        ["SET plan_cache_mode = force_generic_plan".to_owned(), format!("PREPARE planned AS {sql}")]
    {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await?;
    }
    let explained = sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN (COSTS OFF) EXECUTE planned{arguments}")))
        .fetch_all(&mut *connection)
        .await;
    sqlx::raw_sql("DEALLOCATE planned").execute(&mut *connection).await?;
    for row in explained? {
        plan.push(sqlx::Row::try_get::<String, _>(&row, 0)?);
    }
    Ok(plan.join("\n"))
}

#[tokio::test]
async fn the_service_may_run_every_statement_but_those_of_administration() {
    let database = new_service_database().await.expect("a database");
    assert!(database.restricted());
    let mut service = PgConnection::connect_with(database.service_options()).await.expect("a connection");
    for (store, statements) in STORES {
        for (name, sql) in *statements {
            // A plan is explained only to whoever may run it.
            let explained = generic_plan(&mut service, sql).await;
            if ADMINISTRATION.contains(&(*store, *name)) {
                let refused = explained.expect_err("the service may not administer");
                assert_eq!(
                    refused.as_database_error().and_then(|e| e.code()).as_deref(),
                    Some("42501"),
                    "{name}"
                );
            } else {
                explained.unwrap_or_else(|error| panic!("{name} of {store}: {error}"));
            }
        }
    }
    generic_plan(&mut service, &desk::store::save_of_everything()).await.expect("a batch is saved");
    let recall = desk::store::recall::recall_of_everything();
    generic_plan(&mut service, &recall).await.expect("a batch is recalled");
}

/// What PostgreSQL believes of the tables when it plans.
async fn assert_found_by_their_keys(lane: &mut PgConnection, believing: &str) {
    let (recall, save) = (desk::store::recall::recall_of_everything(), desk::store::save_of_everything());
    for (name, sql, indexes) in [
        (
            "recall",
            recall.as_str(),
            &[
                "idempotency_records_pkey",
                "orders_client_order_no_unique",
                "movements_reference_unique",
                "holds_reference_unique",
                "hold_captures_reference_unique",
                "refunds_reference_unique",
            ][..],
        ),
        ("load", account::store::accounts::LOAD, &["accounts_pkey"]),
        ("load, locked", account::store::accounts::LOAD_LOCKED, &["accounts_pkey"]),
        ("orders", order::store::LOAD, &["orders_pkey"]),
        ("orders, locked", order::store::LOAD_LOCKED, &["orders_pkey"]),
        ("items", order::store::items::LOAD, &["order_items_pkey"]),
        ("holds", account::store::holds::LOAD, &["holds_pkey"]),
        ("holds, locked", account::store::holds::LOAD_LOCKED, &["holds_pkey"]),
        ("skus", inventory::store::LOAD, &["skus_pkey"]),
        ("skus, locked", inventory::store::LOAD_LOCKED, &["skus_pkey"]),
        ("daily totals", reports::store::LOAD, &["daily_totals_pkey"]),
        ("daily totals, locked", reports::store::LOAD_LOCKED, &["daily_totals_pkey"]),
        ("payments", payments::LOAD, &["payments_pkey"]),
        ("payments, locked", payments::LOAD_LOCKED, &["payments_pkey"]),
        ("receipts", receipts::LOAD, &["payment_receipts_pkey"]),
        ("receipts, locked", receipts::LOAD_LOCKED, &["payment_receipts_pkey"]),
        ("refunds known", receipts::REFUNDS_KNOWN, &["receipt_refunds_pkey"]),
        ("alerts", alerts::LOAD, &["payment_alerts_pkey"]),
        ("alerts, locked", alerts::LOAD_LOCKED, &["payment_alerts_pkey"]),
        ("refunds that were asked for", asked_refunds::OF_RECEIPTS, &["asked_refunds_of_receipt"]),
        ("deliveries known", deliveries::KNOWN, &["callback_deliveries_pkey"]),
        // Records tried again; rows relied on and changed, kind by kind: the parts that look for rows.
        (
            "save",
            &save,
            &[
                "idempotency_records_pkey",
                "accounts_pkey",
                "accounts_pkey",
                "orders_pkey",
                "orders_pkey",
                "order_items_pkey",
                "payments_pkey",
                "payments_pkey",
                "payment_receipts_pkey",
                "payment_receipts_pkey",
                "payment_alerts_pkey",
                "payment_alerts_pkey",
                "asked_refunds_pkey",
                "holds_pkey",
                "holds_pkey",
                "skus_pkey",
                "skus_pkey",
                "daily_totals_pkey",
                "daily_totals_pkey",
            ],
        ),
    ] {
        let plan = generic_plan(lane, sql).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        for bad in ["Seq Scan", "Bitmap", "Hash Join", "Merge Join"] {
            assert!(!plan.contains(bad), "{name}, {believing}: {bad} in\n{plan}");
        }
        let used: Vec<&str> = plan
            .lines()
            .filter_map(|line| line.split_once("Scan using "))
            .filter_map(|(_, index)| index.split(' ').next())
            .collect();
        assert_eq!(used, indexes, "{name}, {believing}:\n{plan}");
        // By the whole key, and not by the client alone, of whom there may be millions of rows.
        for condition in plan.lines().filter(|line| line.contains("Index Cond:")) {
            assert!(condition.matches(" = ").count() >= 2, "{name}, {believing}: {condition}\n{plan}");
        }
    }
}

#[tokio::test]
async fn what_a_batch_runs_finds_its_rows_by_their_keys_whatever_is_known_of_the_tables() {
    let database = new_service_database().await.expect("a database");
    let options = lane_options(database.service_options(), &Settings::default());
    let mut lane = PgConnection::connect_with(&options).await.expect("a connection");
    let mut owner = PgConnection::connect_with(database.owner_options()).await.expect("a connection");
    assert_found_by_their_keys(&mut lane, "of tables never looked at").await;
    sqlx::raw_sql("ANALYZE").execute(&mut owner).await.expect("statistics");
    assert_found_by_their_keys(&mut lane, "of tables that are empty").await;

    // A thousand clients with one row each: the client alone seems to be a key, until one of them has a million.
    for statement in [
        "INSERT INTO accounts
         SELECT gen_random_uuid(), gen_random_uuid(), 'o', 'CNY', 'open', 0, 0, 0, now() FROM generate_series(1, 1000)",
        "INSERT INTO movements
         SELECT client_id, gen_random_uuid(), 'deposit', 'r', NULL, account_id, 1, 'CNY', now() FROM accounts",
        "INSERT INTO orders
         SELECT client_id, gen_random_uuid(), 'n', account_id, 'CNY', 1, 1, 0, 'balance', 'paid', 1, now(), now()
         FROM accounts",
        "INSERT INTO order_items
         SELECT client_id, order_id, 0, 's', 1, 1, 0 FROM orders",
        "INSERT INTO holds
         SELECT client_id, gen_random_uuid(), account_id, 'client', 'r', 'CNY', 1, 0, 'active', NULL, 1, now(), now()
         FROM accounts",
        "INSERT INTO hold_captures
         SELECT client_id, hold_id, gen_random_uuid(), 'r', 'CNY', 1, now() FROM holds",
        "INSERT INTO refunds
         SELECT client_id, gen_random_uuid(), order_id, account_id, 'r', 'CNY', 1, 'succeeded', 1, now(), now()
         FROM orders",
        "INSERT INTO skus
         SELECT client_id, 's', gen_random_uuid(), 'CNY', 1, 1, 0, 0, 1, now(), now() FROM accounts",
        "INSERT INTO daily_totals
         SELECT client_id, current_date, 'CNY', 'deposits', 1, 1, NULL, 1, now() FROM accounts",
        "INSERT INTO idempotency_records
         SELECT client_id, 'k', 'o', decode(repeat('00', 32), 'hex'), 1, 'failed', 1, NULL, 404, 'c', NULL, '',
                now(), now(), now()
         FROM accounts",
        "INSERT INTO payments
         SELECT client_id, 'number', order_id, 'stripe', 1, 'CNY', 'pending', now(), NULL, 1, now(), now()
         FROM orders",
        "INSERT INTO payment_receipts
         SELECT client_id, 'stripe', 'pi', gen_random_uuid(), 'number', 'unmatched', NULL, NULL, NULL, NULL, NULL, NULL,
                NULL, NULL, 1, now(), now()
         FROM orders",
        "INSERT INTO asked_refunds
         SELECT client_id, gen_random_uuid(), 'stripe', 'pi', 'number', order_id, 'CNY', 1, 1, 'pending', NULL, NULL, 1,
                now(), now()
         FROM orders",
        "INSERT INTO payment_alerts (client_id, alert_id, kind, cause, provider, status, version, created_at)
         SELECT client_id, gen_random_uuid(), 'late', 'c', 'stripe', 'open', 1, now()
         FROM orders",
        "INSERT INTO callback_deliveries
         SELECT client_id, 'e', 'k', gen_random_uuid(), decode(repeat('00', 32), 'hex'), 'stripe', 't', 'd', 'none',
                'number', NULL, now()
         FROM orders",
        "INSERT INTO receipt_refunds
         SELECT client_id, 'stripe', 're', 'pi', 'CNY', 1, now()
         FROM orders",
        "ANALYZE",
    ] {
        sqlx::raw_sql(statement).execute(&mut owner).await.expect("rows");
    }
    assert_found_by_their_keys(&mut lane, "of many clients with one row each").await;
}

#[tokio::test]
async fn whose_turn_it_is_to_be_asked_about_is_found_by_an_index() {
    let database = new_service_database().await.expect("a database");
    let options = lane_options(database.service_options(), &Settings::default());
    let mut connection = PgConnection::connect_with(&options).await.expect("a connection");
    let (_, due) = polls::STATEMENTS.iter().find(|(name, _)| *name == "DUE").expect("the statement");
    let plan = generic_plan(&mut connection, due).await.expect("a plan");
    assert!(plan.contains("using payments_to_poll"), "{plan}");
    let condition = plan.lines().find(|line| line.contains("Index Cond:")).expect("a condition");
    for part in ["client_id = $1", "provider = $2", "next_poll_at <= $3"] {
        assert!(condition.contains(part), "{plan}");
    }
    assert!(!plan.contains("Sort"), "the index has them in their order:\n{plan}");
}

#[tokio::test]
async fn rows_are_locked_in_the_order_of_their_keys() {
    let database = new_service_database().await.expect("a database");
    let options = lane_options(database.service_options(), &Settings::default());
    let mut lane = PgConnection::connect_with(&options).await.expect("a connection");
    for (load, key) in [
        (account::store::accounts::LOAD_LOCKED, "a.client_id, a.account_id"),
        (order::store::LOAD_LOCKED, "o.client_id, o.order_id"),
        (payments::LOAD_LOCKED, "p.client_id, p.payment_no"),
        (receipts::LOAD_LOCKED, "r.client_id, r.provider COLLATE \"C\", r.provider_payment_id"),
        (alerts::LOAD_LOCKED, "a.client_id, a.alert_id"),
        (account::store::holds::LOAD_LOCKED, "h.client_id, h.hold_id"),
        (inventory::store::LOAD_LOCKED, "s.client_id, s.sku"),
        (reports::store::LOAD_LOCKED, "t.client_id, t.day, t.currency COLLATE \"C\", t.line COLLATE \"C\""),
    ] {
        let plan = generic_plan(&mut lane, load).await.expect("a plan");
        let place = |node: &str| plan.find(node).unwrap_or_else(|| panic!("no {node} in\n{plan}"));
        assert!(place("LockRows") < place("Sort"), "sorted first and locked then:\n{plan}");
        assert!(plan.contains(&format!("Sort Key: {key}")), "{plan}");
    }
}
