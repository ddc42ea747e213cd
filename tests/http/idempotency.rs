//! One key, one effect: what makes a request the same, and what it is answered when it comes again.

use std::sync::Arc;
use std::time::Duration;

use desk::housekeeping;
use idempotency::FailedPolicy;
use onefold_tests::clock::ManualClock;
use onefold_tests::database::{audit, new_database};
use onefold_tests::http::{ALICE, BOB, Caller, Exchange, TestServer, order_body};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::expect;

async fn balance(demo: &Caller) -> anyhow::Result<Value> {
    Ok(expect::ok(&demo.get(&format!("/v1/accounts/{ALICE}")).await?)["balance"].clone())
}

fn deposit_body(amount: &str, reference: &str) -> Value {
    json!({"amount": amount, "currency": "CNY", "reference": reference})
}

#[tokio::test]
async fn white_space_order_of_fields_zeros_escapes_and_omitted_defaults_make_no_difference()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let spellings = [
        format!(
            r#"{{"account_id":"{ALICE}","client_order_no":"A-1001","currency":"CNY","amount":"10.5","payment":{{"method":"balance"}}}}"#
        ),
        format!(
            "\r\n\t{{ \"account_id\" : \"{ALICE}\",\n \"client_order_no\":\"A-1001\", \"currency\":\"CNY\",\"amount\" :\"10.5\" , \"payment\": {{ \"method\":\"balance\" }} }}\n"
        ),
        format!(
            r#"{{"payment":{{"method":"balance"}},"amount":"10.5","currency":"CNY","client_order_no":"A-1001","account_id":"{ALICE}"}}"#
        ),
        format!(
            r#"{{"account_id":"{ALICE}","client_order_no":"A-1001","currency":"CNY","amount":"10.50","payment":{{"method":"balance"}}}}"#
        ),
        format!(
            r#"{{"account_id":"{ALICE}","client_order_no":"\u0041-1001","currency":"\u0043NY","amount":"\u0031\u0030.5","p\u0061yment":{{"method":"balance"}}}}"#
        ),
        format!(
            r#"{{"account_id":"{ALICE}","client_order_no":"A-1001","currency":"CNY","amount":"10.5","items":[],"payment":{{"method":"balance"}}}}"#
        ),
    ];
    let first = server.demo.post_text("/v1/orders", "k", &spellings[0]).await?;
    expect::created(&first);
    for spelling in &spellings {
        let again = server.demo.post_text("/v1/orders", "k", spelling).await?;
        assert!(again.replayed(), "{spelling}");
        expect::same(&first, &again);
    }
    assert_eq!(balance(&server.demo).await?, "9989.50");
    Ok(())
}

/// Posts a request, then each change of it under the same key, which must be refused and tell nothing of the first.
async fn each_change_is_a_reuse(
    server: &TestServer,
    path: &str,
    body: &Value,
    changes: &[(&str, Value)],
) -> anyhow::Result<()> {
    let key = format!("key of {path}");
    let key = format!("\"{key}\"");
    let first = expect::created(&server.demo.post(path, &key, body).await?);
    let before = audit(&server.database).await;
    for (pointer, value) in changes {
        let mut changed = body.clone();
        *changed.pointer_mut(pointer).expect("a field") = value.clone();
        let refused = server.demo.post(path, &key, &changed).await?;
        let document = expect::problem(&refused, 422, "idempotency-key-reused");
        assert!(!refused.replayed());
        assert_eq!(
            document.as_object().map(serde_json::Map::len),
            Some(6),
            "more than a problem's own members: {document}"
        );
        assert!(refused.header("location").is_none());
        let told = String::from_utf8_lossy(&refused.bytes).into_owned();
        assert!(!told.contains(first["id"].as_str().expect("an id")), "{told}");
    }
    assert_eq!(audit(&server.database).await, before, "{path}");
    let again = server.demo.post(path, &key, body).await?;
    assert!(again.replayed(), "the first answer is there as before");
    Ok(())
}

#[tokio::test]
async fn any_field_changed_is_a_reuse_of_the_key_and_nothing_moves() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let carol =
        server.demo.post("/v1/accounts", "carol", &json!({"owner": "carol", "currency": "CNY"})).await?;
    let carol = expect::created(&carol)["id"].clone();

    let order = order_body(ALICE, "A", "10.00");
    let changes = [
        ("/account_id", json!(BOB)),
        ("/client_order_no", json!("a")),
        ("/currency", json!("USD")),
        ("/amount", json!("10.01")),
    ];
    each_change_is_a_reuse(&server, "/v1/orders", &order, &changes).await?;

    let movement = deposit_body("10.00", "R");
    let changes = [("/amount", json!("1.00")), ("/currency", json!("USD")), ("/reference", json!("r"))];
    for path in ["deposits", "withdrawals"] {
        each_change_is_a_reuse(&server, &format!("/v1/accounts/{ALICE}/{path}"), &movement, &changes).await?;
    }
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "10.00", "currency": "CNY", "reference": "R"
    });
    let changes = [
        ("/from_account_id", carol.clone()),
        ("/to_account_id", carol),
        ("/amount", json!("100.00")),
        ("/currency", json!("EUR")),
        ("/reference", json!("R ")),
    ];
    each_change_is_a_reuse(&server, "/v1/transfers", &transfer, &changes).await?;

    let account = json!({"owner": "dora", "currency": "CNY"});
    let changes = [("/owner", json!("Dora")), ("/currency", json!("USD"))];
    each_change_is_a_reuse(&server, "/v1/accounts", &account, &changes).await
}

#[tokio::test]
async fn the_same_key_on_another_path_is_a_reuse() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = deposit_body("10.00", "R");
    expect::created(&server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "k", &body).await?);
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "10.00", "currency": "CNY", "reference": "R"
    });
    for (path, body) in [
        (format!("/v1/accounts/{BOB}/deposits"), &body),
        (format!("/v1/accounts/{ALICE}/withdrawals"), &body),
        (format!("/v1/accounts/{BOB}/close"), &json!({})),
        ("/v1/transfers".to_owned(), &transfer),
        ("/v1/accounts".to_owned(), &json!({"owner": "o", "currency": "CNY"})),
        ("/v1/orders".to_owned(), &order_body(ALICE, "A", "10.00")),
    ] {
        let refused = server.demo.post(&path, "k", body).await?;
        expect::problem(&refused, 422, "idempotency-key-reused");
    }
    assert_eq!(balance(&server.demo).await?, "10010.00");
    Ok(())
}

/// Every kind of success: a path, and a body.
fn successes() -> Vec<(String, Value)> {
    vec![
        ("/v1/accounts".to_owned(), json!({"owner": "汉 \"ä\" / \\", "currency": "KWD"})),
        (format!("/v1/accounts/{ALICE}/deposits"), deposit_body("10.5", "R/\"1\"")),
        (format!("/v1/accounts/{ALICE}/withdrawals"), deposit_body("0.01", "é")),
        (
            "/v1/transfers".to_owned(),
            json!({"from_account_id": ALICE, "to_account_id": BOB, "amount": "1", "currency": "CNY", "reference": "T"}),
        ),
        ("/v1/orders".to_owned(), order_body(ALICE, "汉-1", "128")),
    ]
}

/// Every kind of refusal by a rule: a path, a body, and the answer's status and slug. `taken` is the order number and the
/// reference of an order and a deposit that are there.
fn refusals(taken: &str) -> Vec<(String, Value, u16, &'static str)> {
    let mut mismatch = order_body(ALICE, "M", "1");
    mismatch["currency"] = "JPY".into();
    let nobody = "01900000-0000-7000-8000-0000000000ff";
    let deposits = format!("/v1/accounts/{ALICE}/deposits");
    vec![
        ("/v1/orders".to_owned(), order_body(ALICE, "X", "99999.00"), 402, "insufficient-funds"),
        (format!("/v1/accounts/{BOB}/withdrawals"), deposit_body("99.00", "W"), 402, "insufficient-funds"),
        ("/v1/orders".to_owned(), order_body(nobody, "N", "1.00"), 404, "not-found"),
        (format!("/v1/accounts/{nobody}/deposits"), deposit_body("1.00", "N"), 404, "not-found"),
        ("/v1/orders".to_owned(), order_body(ALICE, taken, "1.00"), 409, "duplicate-order-no"),
        (deposits.clone(), deposit_body("1.00", taken), 409, "duplicate-reference"),
        (format!("/v1/accounts/{ALICE}/close"), json!({}), 409, "account-not-empty"),
        ("/v1/orders".to_owned(), mismatch, 422, "currency-mismatch"),
        (deposits, deposit_body("999999999999999999.00", "L"), 422, "amount-out-of-range"),
    ]
}

async fn take_the_names(demo: &Caller, taken: &str) -> anyhow::Result<()> {
    expect::created(&demo.post("/v1/orders", "taken", &order_body(ALICE, taken, "1.00")).await?);
    let deposit = demo
        .post(&format!("/v1/accounts/{ALICE}/deposits"), "taken-too", &deposit_body("1.00", taken))
        .await?;
    expect::created(&deposit);
    Ok(())
}

#[tokio::test]
async fn a_success_or_a_refusal_is_replayed_byte_for_byte_five_times_and_after_a_restart()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    take_the_names(&server.demo, "taken").await?;
    let refused = refusals("taken").into_iter().map(|(path, body, ..)| (path, body));
    let requests: Vec<(String, Value)> = successes().into_iter().chain(refused).collect();
    let ask = async |demo: &Caller, at: usize| -> anyhow::Result<Exchange> {
        demo.post(&requests[at].0, &format!("key-{at}"), &requests[at].1).await
    };
    let mut firsts = Vec::new();
    for at in 0..requests.len() {
        let first = ask(&server.demo, at).await?;
        assert_eq!(first.status == 201, at < successes().len(), "{requests:?}");
        assert!(!first.replayed());
        firsts.push(first);
    }
    for (at, first) in firsts.iter().enumerate() {
        for _ in 0..5 {
            let again = ask(&server.demo, at).await?;
            assert!(again.replayed(), "{:?}", requests[at]);
            expect::same(first, &again);
        }
    }
    let before = audit(&server.database).await;
    let restarted = TestServer::start_with(server.shutdown().await, |_| {}).await?;
    for (at, first) in firsts.iter().enumerate() {
        let again = ask(&restarted.demo, at).await?;
        assert!(again.replayed(), "{:?}", requests[at]);
        expect::same(first, &again);
    }
    assert_eq!(audit(&restarted.database).await, before);
    Ok(())
}

#[tokio::test]
async fn a_refusal_is_replayed_even_when_its_reason_is_gone() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let refused = server.demo.order("k", "10000.01").await?;
    expect::problem(&refused, 402, "insufficient-funds");
    server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "d", &deposit_body("0.01", "D")).await?;
    let again = server.demo.order("k", "10000.01").await?;
    assert!(again.replayed());
    expect::same(&refused, &again);
    let changed = server.demo.order("k", "1.00").await?;
    expect::problem(&changed, 422, "idempotency-key-reused");
    let key = expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
    assert_eq!((&key["status"], &key["attempts"]), (&json!("failed"), &json!(1)));
    Ok(())
}

#[tokio::test]
async fn with_failed_retry_a_refused_request_runs_again_until_it_succeeds() -> anyhow::Result<()> {
    let server = TestServer::start_with(new_database().await?, |settings| {
        settings.desk.failed = FailedPolicy::Retry;
    })
    .await?;
    let state = async || -> anyhow::Result<(Value, Value)> {
        let key = expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
        Ok((key["status"].clone(), key["attempts"].clone()))
    };
    for attempt in 1..=3 {
        let refused = server.demo.order("k", "10000.01").await?;
        expect::problem(&refused, 402, "insufficient-funds");
        assert!(!refused.replayed());
        assert_eq!(state().await?, (json!("failed"), json!(attempt)));
    }
    // Another request is a reuse all the same.
    expect::problem(&server.demo.order("k", "1.00").await?, 422, "idempotency-key-reused");
    server.demo.post(&format!("/v1/accounts/{ALICE}/deposits"), "d", &deposit_body("0.01", "D")).await?;
    let placed = server.demo.order("k", "10000.01").await?;
    expect::created(&placed);
    assert!(!placed.replayed());
    assert_eq!(state().await?, (json!("completed"), json!(4)));
    for _ in 0..3 {
        let again = server.demo.order("k", "10000.01").await?;
        assert!(again.replayed(), "a record never leaves completed");
        expect::same(&placed, &again);
    }
    assert_eq!(state().await?, (json!("completed"), json!(4)));
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn what_is_refused_before_the_rules_is_not_stored_and_leaves_the_key_free() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let good = order_body(ALICE, "A", "1.00").to_string();
    let request = |method: &str, path: &str, body: &str| {
        let request = server.demo.request(method, path).header("idempotency-key", "k");
        request.header("content-type", "application/json").body(body.to_owned())
    };
    let wrong_key = Caller::new(&server.url(), "wrong");
    let too_large = format!("{good}{}", " ".repeat(64 * 1024));
    for (status, request) in [
        (400, request("POST", "/v1/orders", "{")),
        (400, request("POST", "/v1/orders", &good).header("x-idempotency-key", "l")),
        (401, wrong_key.request("POST", "/v1/orders").header("idempotency-key", "k").body(good.clone())),
        (404, request("POST", "/v1/nothing", &good)),
        (404, request("POST", "/v1/accounts/1/deposits", &good)),
        (405, request("PUT", "/v1/orders", &good)),
        (413, request("POST", "/v1/orders", &too_large)),
        (415, server.demo.request("POST", "/v1/orders").header("idempotency-key", "k").body(good.clone())),
        (422, request("POST", "/v1/orders", "{}")),
    ] {
        assert_eq!(server.demo.send(request).await?.status, status);
        expect::problem(&server.demo.get("/v1/idempotency-keys/k").await?, 404, "not-found");
    }
    let placed = server.demo.post_text("/v1/orders", "k", &good).await?;
    expect::created(&placed);
    assert!(!placed.replayed());
    Ok(())
}

#[tokio::test]
async fn a_key_can_be_looked_up_when_it_has_completed_or_failed() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    expect::problem(&server.demo.get("/v1/idempotency-keys/k").await?, 404, "not-found");
    let placed = server.demo.order("k", "1.00").await?;
    let found = expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
    let mut names: Vec<_> = found.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    let members = [
        "attempts",
        "completed_at",
        "expires_at",
        "first_seen_at",
        "key",
        "operation",
        "resource",
        "response",
        "status",
    ];
    assert_eq!(names, members);
    assert_eq!(found["key"], "k");
    assert_eq!(found["status"], "completed");
    assert_eq!(found["operation"], "POST /v1/orders");
    assert_eq!(found["resource"].as_str(), placed.header("location"));
    assert_eq!(found["attempts"], 1);
    assert_eq!(found["response"], json!({"status": 201, "body": placed.json()}));
    let time = |name: &str| {
        let time = found[name].as_str().expect("a time");
        assert!(time.ends_with('Z'), "{time}");
        chrono::DateTime::parse_from_rfc3339(time).expect("a time of RFC 3339")
    };
    assert!(time("first_seen_at") <= time("completed_at"));
    let kept = time("expires_at") - time("first_seen_at");
    assert!((kept - chrono::TimeDelta::hours(72)).abs() < chrono::TimeDelta::minutes(1), "{kept}");

    let refused = server.demo.order("f", "99999.00").await?;
    let found = expect::ok(&server.demo.get("/v1/idempotency-keys/f").await?);
    assert_eq!(found["status"], "failed");
    assert_eq!(found["resource"], Value::Null);
    assert_eq!(found["response"], json!({"status": 402, "body": refused.json()}));
    Ok(())
}

#[tokio::test]
async fn a_key_of_any_printable_characters_can_be_looked_up() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for (number, (header, path)) in [
        ("a/b", "a%2Fb"),
        ("\"a b\"", "a%20b"),
        ("\"a \\\"b\\\" \\\\\"", "a%20%22b%22%20%5C"),
        ("100%25", "100%2525"),
        ("?#&+", "%3F%23%26+"),
        ("~!$'()*", "~!$'()*"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = order_body(ALICE, &format!("A-{number}"), "1.00");
        expect::created(&server.demo.post("/v1/orders", header, &body).await?);
        let found = expect::ok(&server.demo.get(&format!("/v1/idempotency-keys/{path}")).await?);
        assert_eq!(found["status"], "completed", "{header}");
    }
    for path in ["%00", "%FF", "caf%C3%A9", &"k".repeat(256)] {
        expect::problem(&server.demo.get(&format!("/v1/idempotency-keys/{path}")).await?, 404, "not-found");
    }
    Ok(())
}

/// A server whose clock is the test's.
async fn server_at(clock: &ManualClock) -> anyhow::Result<TestServer> {
    let database = new_database().await?;
    TestServer::start_with(database, |settings| settings.clock = Arc::new(clock.clone())).await
}

#[tokio::test]
async fn a_record_past_its_retention_is_replayed_as_long_as_it_is_there() -> anyhow::Result<()> {
    let clock = ManualClock::at_present();
    let server = server_at(&clock).await?;
    let placed = server.demo.order("k", "1.00").await?;
    expect::created(&placed);
    // Whoever deletes records passes over those that somebody has in hand.
    let mut holder = PgConnection::connect_with(&server.database).await?;
    let mut in_hand = holder.begin().await?;
    sqlx::query("SELECT FROM idempotency_records FOR UPDATE").execute(&mut *in_hand).await?;
    clock.advance(Duration::from_secs(80 * 60 * 60));
    assert_eq!(housekeeping::once(server.server().database(), &clock).await?.records_deleted, 0);
    for _ in 0..3 {
        let again = server.demo.order("k", "1.00").await?;
        assert!(again.replayed());
        expect::same(&placed, &again);
    }
    let found = expect::ok(&server.demo.get("/v1/idempotency-keys/k").await?);
    assert_eq!(found["status"], "completed");
    in_hand.rollback().await?;

    housekeeping::once(server.server().database(), &clock).await?;
    expect::problem(&server.demo.get("/v1/idempotency-keys/k").await?, 404, "not-found");
    Ok(())
}

#[tokio::test]
async fn after_the_key_is_forgotten_the_business_keys_stop_a_second_effect() -> anyhow::Result<()> {
    let clock = ManualClock::at_present();
    let server = server_at(&clock).await?;
    let deposits = format!("/v1/accounts/{ALICE}/deposits");
    let withdrawals = format!("/v1/accounts/{ALICE}/withdrawals");
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "10.00", "currency": "CNY", "reference": "R"
    });
    let requests = [
        ("/v1/orders", order_body(ALICE, "A", "10.00"), "duplicate-order-no"),
        (&deposits, deposit_body("10.00", "R"), "duplicate-reference"),
        (&withdrawals, deposit_body("10.00", "R"), "duplicate-reference"),
        ("/v1/transfers", transfer, "duplicate-reference"),
    ];
    let mut ids = Vec::new();
    for (at, (path, body, _)) in requests.iter().enumerate() {
        ids.push(expect::created(&server.demo.post(path, &format!("k-{at}"), body).await?)["id"].clone());
    }
    clock.advance(Duration::from_secs(72 * 60 * 60 - 1));
    let kept = housekeeping::once(server.server().database(), &clock).await?;
    assert_eq!(kept.records_deleted, 0, "too early");
    for (at, (path, body, _)) in requests.iter().enumerate() {
        assert!(server.demo.post(path, &format!("k-{at}"), body).await?.replayed(), "{path}");
    }

    clock.advance(Duration::from_secs(2));
    housekeeping::once(server.server().database(), &clock).await?;
    let look_up = server.demo.get("/v1/idempotency-keys/k-0").await?;
    expect::problem(&look_up, 404, "not-found");
    for (at, (path, body, slug)) in requests.iter().enumerate() {
        let late = server.demo.post(path, &format!("k-{at}"), body).await?;
        assert_eq!(expect::problem(&late, 409, slug)["existing_id"], ids[at], "{path}");
    }
    let late = server.demo.post("/v1/orders", "k-0", &order_body(ALICE, "A", "10.00")).await?;
    assert!(late.replayed(), "the duplicate is stored under the key like any refusal");
    assert_eq!(balance(&server.demo).await?, "9980.00");
    audit(&server.database).await;
    Ok(())
}
