//! Accounts: opening, paying in and out, transfers, closing, statements.

use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, ALICE_JPY, BOB, Caller, Exchange, TestServer};
use serde_json::{Value, json};

use crate::expect;

/// An id of the right form that names nothing.
const NOBODY: &str = "01900000-0000-7000-8000-0000000000ff";

async fn open(demo: &Caller, key: &str, currency: &str) -> anyhow::Result<Value> {
    let opened = demo.post("/v1/accounts", key, &json!({"owner": "carol", "currency": currency})).await?;
    Ok(expect::created(&opened))
}

fn id(body: &Value) -> &str {
    body["id"].as_str().expect("an id")
}

async fn deposit(
    demo: &Caller,
    account: &str,
    key: &str,
    amount: &str,
    currency: &str,
) -> anyhow::Result<Exchange> {
    let body = json!({"amount": amount, "currency": currency, "reference": key});
    demo.post(&format!("/v1/accounts/{account}/deposits"), key, &body).await
}

async fn withdraw(
    demo: &Caller,
    account: &str,
    key: &str,
    amount: &str,
    currency: &str,
) -> anyhow::Result<Exchange> {
    let body = json!({"amount": amount, "currency": currency, "reference": key});
    demo.post(&format!("/v1/accounts/{account}/withdrawals"), key, &body).await
}

async fn transfer(
    demo: &Caller,
    key: &str,
    (from, to): (&str, &str),
    amount: &str,
    currency: &str,
) -> anyhow::Result<Exchange> {
    let body = json!({
        "from_account_id": from, "to_account_id": to, "amount": amount, "currency": currency, "reference": key
    });
    demo.post("/v1/transfers", key, &body).await
}

async fn close(demo: &Caller, account: &str, key: &str) -> anyhow::Result<Exchange> {
    demo.post(&format!("/v1/accounts/{account}/close"), key, &json!({})).await
}

async fn account(demo: &Caller, account: &str) -> anyhow::Result<Value> {
    Ok(expect::ok(&demo.get(&format!("/v1/accounts/{account}")).await?))
}

/// The figures of an account: available, held, balance, version.
async fn figures(demo: &Caller, of: &str) -> anyhow::Result<[Value; 4]> {
    let account = account(demo, of).await?;
    Ok(["available", "held", "balance", "version"].map(|name| account[name].clone()))
}

/// Whether a text is a time of RFC 3339 in UTC, written with a `Z`.
fn is_time(time: &Value) -> bool {
    time.as_str()
        .is_some_and(|text| text.ends_with('Z') && chrono::DateTime::parse_from_rfc3339(text).is_ok())
}

fn is_id(id: &str) -> bool {
    uuid::Uuid::try_parse(id).is_ok_and(|uuid| uuid.get_version_num() == 7 && uuid.to_string() == id)
}

fn names(body: &Value) -> Vec<&str> {
    let mut names: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn an_account_opens_empty_under_an_id_of_the_servers() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let opened = server.demo.post("/v1/accounts", "k", &json!({"owner": "carol", "currency": "USD"})).await?;
    let body = expect::created(&opened);
    assert_eq!(
        names(&body),
        ["available", "balance", "created_at", "currency", "held", "id", "owner", "status", "version"]
    );
    assert!(is_id(id(&body)), "{body}");
    assert!(is_time(&body["created_at"]), "{body}");
    for (name, value) in [
        ("owner", json!("carol")),
        ("currency", json!("USD")),
        ("available", json!("0.00")),
        ("held", json!("0.00")),
        ("balance", json!("0.00")),
        ("version", json!(0)),
        ("status", json!("open")),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    let path = opened.header("location").expect("a Location");
    assert_eq!(path, format!("/v1/accounts/{}", id(&body)));
    assert_eq!(server.demo.get(path).await?.bytes, opened.bytes, "a look at it is the answer that opened it");
    let listed = expect::ok(&server.demo.get("/v1/accounts?limit=1").await?);
    assert_eq!(listed["data"], json!([body]));
    Ok(())
}

#[tokio::test]
async fn a_deposit_brings_money_in_and_a_withdrawal_takes_it_out() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let carol = open(&server.demo, "open", "CNY").await?;
    let carol = id(&carol);
    let brought = deposit(&server.demo, carol, "D-1", "10.5", "CNY").await?;
    let body = expect::created(&brought);
    assert!(is_id(id(&body)) && is_time(&body["created_at"]), "{body}");
    for (name, value) in [
        ("kind", "deposit"),
        ("account_id", carol),
        ("amount", "10.50"),
        ("currency", "CNY"),
        ("reference", "D-1"),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(server.demo.get(brought.header("location").expect("a Location")).await?.bytes, brought.bytes);
    assert_eq!(
        figures(&server.demo, carol).await?,
        [json!("10.50"), json!("0.00"), json!("10.50"), json!(1)]
    );

    let taken = expect::created(&withdraw(&server.demo, carol, "W-1", "10.50", "CNY").await?);
    assert_eq!((&taken["kind"], &taken["amount"]), (&json!("withdrawal"), &json!("10.50")));
    assert_eq!(figures(&server.demo, carol).await?, [json!("0.00"), json!("0.00"), json!("0.00"), json!(2)]);
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn a_transfer_moves_money_between_two_accounts_of_one_currency() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let moved = transfer(&server.demo, "T-1", (ALICE, BOB), "2500.25", "CNY").await?;
    let body = expect::created(&moved);
    for (name, value) in
        [("kind", "transfer"), ("from_account_id", ALICE), ("to_account_id", BOB), ("amount", "2500.25")]
    {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "7499.75");
    assert_eq!(account(&server.demo, BOB).await?["balance"], "2500.25");
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn more_than_is_available_is_402_with_what_is_available_and_what_is_required() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    for (key, refused) in [
        ("w", withdraw(&server.demo, ALICE, "w", "10000.01", "CNY").await?),
        ("t", transfer(&server.demo, "t", (ALICE, BOB), "10000.01", "CNY").await?),
    ] {
        let document = expect::problem(&refused, 402, "insufficient-funds");
        assert_eq!(document["available"], "10000.00", "{key}");
        assert_eq!(document["required"], "10000.01", "{key}");
    }
    let refused = withdraw(&server.demo, ALICE_JPY, "j", "500001", "JPY").await?;
    let document = expect::problem(&refused, 402, "insufficient-funds");
    assert_eq!((&document["available"], &document["required"]), (&json!("500000"), &json!("500001")));
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "10000.00");
    expect::created(&withdraw(&server.demo, ALICE, "exactly", "10000.00", "CNY").await?);
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "0.00");
    Ok(())
}

#[tokio::test]
async fn another_currency_than_the_accounts_is_422_currency_mismatch() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let jpy = expect::ok(&server.demo.get(&format!("/v1/accounts/{ALICE_JPY}")).await?);
    expect::problem(&deposit(&server.demo, ALICE, "d", "100", "JPY").await?, 422, "currency-mismatch");
    expect::problem(&withdraw(&server.demo, ALICE, "w", "1.00", "USD").await?, 422, "currency-mismatch");
    for (key, parties, currency) in [
        ("t-1", (ALICE, BOB), "JPY"),
        ("t-2", (ALICE, ALICE_JPY), "CNY"),
        ("t-3", (ALICE, ALICE_JPY), "JPY"),
        ("t-4", (ALICE_JPY, ALICE), "JPY"),
    ] {
        let refused = transfer(&server.demo, key, parties, "1", currency).await?;
        expect::problem(&refused, 422, "currency-mismatch");
    }
    // JPY 100 is not CNY 100.00 and not JPY 10,000.
    expect::created(&deposit(&server.demo, ALICE_JPY, "yen", "100", "JPY").await?);
    assert_eq!(account(&server.demo, ALICE_JPY).await?["balance"], "500100");
    assert_eq!(jpy["balance"], "500000");
    Ok(())
}

#[tokio::test]
async fn a_transfer_to_itself_does_not_fit_the_schema_and_is_told_at_once() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let refused = transfer(&server.demo, "k", (ALICE, ALICE), "1.00", "CNY").await?;
    assert_eq!(expect::faults(&refused), ["/to_account_id"]);
    let refused = transfer(&server.demo, "k", (NOBODY, NOBODY), "1.00", "CNY").await?;
    assert_eq!(expect::faults(&refused), ["/to_account_id"]);
    // Nothing was stored: the key is free.
    expect::created(&transfer(&server.demo, "k", (ALICE, BOB), "1.00", "CNY").await?);
    Ok(())
}

#[tokio::test]
async fn an_account_that_is_not_there_is_404_in_the_path_and_in_the_body() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let refusals = [
        deposit(&server.demo, NOBODY, "d", "1.00", "CNY").await?,
        withdraw(&server.demo, NOBODY, "w", "1.00", "CNY").await?,
        close(&server.demo, NOBODY, "c").await?,
        transfer(&server.demo, "t-1", (NOBODY, BOB), "1.00", "CNY").await?,
        transfer(&server.demo, "t-2", (ALICE, NOBODY), "1.00", "CNY").await?,
    ];
    for refused in &refusals {
        expect::problem(refused, 404, "not-found");
    }
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "10000.00");
    Ok(())
}

#[tokio::test]
async fn a_reference_is_unique_for_its_kind_and_the_duplicate_names_the_first() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = json!({"amount": "5.00", "currency": "CNY", "reference": "R"});
    let transfer = json!({
        "from_account_id": ALICE, "to_account_id": BOB, "amount": "5.00", "currency": "CNY", "reference": "R"
    });
    let calls = [
        (format!("/v1/accounts/{ALICE}/deposits"), &body),
        (format!("/v1/accounts/{ALICE}/withdrawals"), &body),
        ("/v1/transfers".to_owned(), &transfer),
    ];
    for (number, (path, body)) in calls.iter().enumerate() {
        // The same reference under another kind is no duplicate.
        let first = expect::created(&server.demo.post(path, &format!("first-{number}"), body).await?);
        let second = server.demo.post(path, &format!("second-{number}"), body).await?;
        assert_eq!(
            expect::problem(&second, 409, "duplicate-reference")["existing_id"],
            first["id"],
            "{path}"
        );
    }
    // Of the client, not of the account.
    let bobs = server.demo.post(&format!("/v1/accounts/{BOB}/deposits"), "bob", &body).await?;
    expect::problem(&bobs, 409, "duplicate-reference");
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "9995.00");
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn a_sum_that_leaves_the_range_of_amounts_is_refused_and_not_wrapped() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let largest = "999999999999999999.99";
    expect::problem(&deposit(&server.demo, ALICE, "d-1", largest, "CNY").await?, 422, "amount-out-of-range");
    expect::created(&deposit(&server.demo, ALICE, "d-2", "999999999999989999.99", "CNY").await?);
    assert_eq!(account(&server.demo, ALICE).await?["balance"], largest);
    expect::problem(&deposit(&server.demo, ALICE, "d-3", "0.01", "CNY").await?, 422, "amount-out-of-range");
    expect::created(&deposit(&server.demo, BOB, "b", "0.01", "CNY").await?);
    let refused = transfer(&server.demo, "t", (BOB, ALICE), "0.01", "CNY").await?;
    expect::problem(&refused, 422, "amount-out-of-range");
    expect::created(&withdraw(&server.demo, ALICE, "w", "0.01", "CNY").await?);
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "999999999999999999.98");
    // What came from outside, over all accounts, is more than one amount can hold.
    expect::created(&deposit(&server.demo, BOB, "b-2", "999999999999999999.98", "CNY").await?);
    expect::ok(&server.demo.get("/v1/collecting-accounts").await?);
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn an_account_closes_when_it_is_empty_and_stays_closed() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let document = expect::problem(&close(&server.demo, ALICE, "c-1").await?, 409, "account-not-empty");
    assert_eq!((&document["available"], &document["held"]), (&json!("10000.00"), &json!("0.00")));

    let closed = expect::ok(&close(&server.demo, BOB, "c-2").await?);
    assert_eq!((&closed["id"], &closed["status"]), (&json!(BOB), &json!("closed")));
    assert_eq!(account(&server.demo, BOB).await?, closed);

    let refusals = [
        deposit(&server.demo, BOB, "d", "1.00", "CNY").await?,
        withdraw(&server.demo, BOB, "w", "1.00", "CNY").await?,
        transfer(&server.demo, "t-1", (ALICE, BOB), "1.00", "CNY").await?,
        transfer(&server.demo, "t-2", (BOB, ALICE), "1.00", "CNY").await?,
        close(&server.demo, BOB, "c-3").await?,
    ];
    for refused in &refusals {
        expect::problem(refused, 409, "account-closed");
    }
    assert_eq!(account(&server.demo, ALICE).await?["balance"], "10000.00");
    let replayed = close(&server.demo, BOB, "c-2").await?;
    assert!(replayed.replayed() && replayed.json() == closed);
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn closing_needs_no_body_and_no_media_type() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let path = format!("/v1/accounts/{BOB}/close");
    let bare = server.demo.request("POST", &path).header("idempotency-key", "k");
    let closed = server.demo.send(bare).await?;
    expect::ok(&closed);
    // An empty object means the same.
    let again = server.demo.post(&path, "k", &json!({})).await?;
    assert!(again.replayed());
    expect::same(&closed, &again);
    Ok(())
}

#[tokio::test]
async fn a_statement_tells_each_row_newest_first_with_the_figures_after_it() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let carol = open(&server.demo, "open", "CNY").await?;
    let carol = id(&carol);
    deposit(&server.demo, carol, "D-1", "100", "CNY").await?;
    withdraw(&server.demo, carol, "W-1", "30.5", "CNY").await?;
    transfer(&server.demo, "T-1", (carol, BOB), "9.50", "CNY").await?;
    transfer(&server.demo, "T-2", (ALICE, carol), "40.00", "CNY").await?;
    let order = json!({
        "account_id": carol, "client_order_no": "O-1", "currency": "CNY", "amount": "25.00", "payment": {"method": "balance"}
    });
    let order = expect::created(&server.demo.post("/v1/orders", "O-1", &order).await?);

    let page = expect::ok(&server.demo.get(&format!("/v1/accounts/{carol}/entries")).await?);
    let rows = page["data"].as_array().expect("rows");
    let table = [
        ("order_payment", "debit", "25.00", "revenue", "75.00", 5),
        ("transfer", "credit", "40.00", ALICE, "100.00", 4),
        ("transfer", "debit", "9.50", BOB, "60.00", 3),
        ("withdrawal", "debit", "30.50", "outside", "69.50", 2),
        ("deposit", "credit", "100.00", "outside", "100.00", 1),
    ];
    assert_eq!(rows.len(), table.len());
    for (row, (kind, direction, amount, counter_account, available_after, version)) in rows.iter().zip(table)
    {
        let expected = json!({
            "kind": kind, "direction": direction, "amount": amount, "currency": "CNY", "counter_account": counter_account,
            "available_after": available_after, "held_after": "0.00", "account_version": version,
        });
        for (name, value) in expected.as_object().expect("an object") {
            assert_eq!(&row[name], value, "{name} of {row}");
        }
        assert!(is_id(id(row)) && is_time(&row["created_at"]), "{row}");
    }
    assert_eq!(rows[0]["order_id"], order["id"]);
    for (row, reference) in rows[1..].iter().zip(["T-2", "T-1", "W-1", "D-1"]) {
        assert_eq!(row["reference"], reference);
        assert!(row.get("order_id").is_none(), "{row}");
    }
    assert_eq!(
        figures(&server.demo, carol).await?,
        [json!("75.00"), json!("0.00"), json!("75.00"), json!(5)]
    );
    Ok(())
}

#[tokio::test]
async fn what_collects_is_told_by_name_and_currency_and_adds_up_with_what_customers_have()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    expect::created(&server.demo.order("O-1", "128.00").await?);
    withdraw(&server.demo, ALICE, "W-1", "72.00", "CNY").await?;
    let collected = expect::ok(&server.demo.get("/v1/collecting-accounts").await?);
    assert_eq!(
        collected["data"],
        json!([
            {"name": "outside", "currency": "CNY", "debits": "10000.00", "credits": "72.00"},
            {"name": "outside", "currency": "JPY", "debits": "500000", "credits": "0"},
            {"name": "revenue", "currency": "CNY", "debits": "0.00", "credits": "128.00"},
        ])
    );
    Ok(())
}
