//! Orders that are paid from the balance.

use std::sync::Arc;

use onefold_tests::database::audit;
use onefold_tests::http::{ALICE, ALICE_JPY, BOB, TestServer, order_body};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::expect;

/// An id of the right form that names nothing.
const NOBODY: &str = "01900000-0000-7000-8000-0000000000ff";

async fn balance(server: &TestServer, account: &str) -> anyhow::Result<Value> {
    Ok(expect::ok(&server.demo.get(&format!("/v1/accounts/{account}")).await?)["balance"].clone())
}

#[tokio::test]
async fn an_order_is_paid_at_once_and_told_in_full() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let placed = server.demo.order("A-1001", "128.00").await?;
    let body = expect::created(&placed);
    let mut names: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "account_id",
            "amount",
            "captured_amount",
            "client_order_no",
            "created_at",
            "currency",
            "id",
            "items",
            "payment",
            "refunded_amount",
            "status",
            "updated_at",
            "version"
        ]
    );
    for (name, value) in [
        ("account_id", json!(ALICE)),
        ("client_order_no", json!("A-1001")),
        ("currency", json!("CNY")),
        ("amount", json!("128.00")),
        ("captured_amount", json!("128.00")),
        ("refunded_amount", json!("0.00")),
        ("status", json!("paid")),
        ("items", json!([])),
        ("version", json!(1)),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(body["payment"]["method"], "balance");
    for name in ["created_at", "updated_at"] {
        let time = body[name].as_str().expect("a time");
        assert!(time.ends_with('Z') && chrono::DateTime::parse_from_rfc3339(time).is_ok(), "{time}");
    }
    let id = body["id"].as_str().expect("an id");
    assert!(
        uuid::Uuid::try_parse(id).is_ok_and(|uuid| uuid.get_version_num() == 7 && uuid.to_string() == id)
    );
    assert_eq!(placed.header("location"), Some(format!("/v1/orders/{id}").as_str()));
    assert_eq!(server.demo.get(&format!("/v1/orders/{id}")).await?.bytes, placed.bytes);
    assert_eq!(balance(&server, ALICE).await?, "9872.00");
    audit(&server.database).await;
    Ok(())
}

#[tokio::test]
async fn an_order_of_yen_has_no_fraction() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let body = json!({
        "account_id": ALICE_JPY, "client_order_no": "Y", "currency": "JPY", "amount": "100", "payment": {"method": "balance"}
    });
    let order = expect::created(&server.demo.post("/v1/orders", "Y", &body).await?);
    assert_eq!((&order["amount"], &order["captured_amount"]), (&json!("100"), &json!("100")));
    assert_eq!(order["refunded_amount"], "0");
    assert_eq!(balance(&server, ALICE_JPY).await?, "499900");
    Ok(())
}

#[tokio::test]
async fn orders_are_found_by_the_clients_number() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let number = "A 1001/ä&+?";
    let order =
        expect::created(&server.demo.post("/v1/orders", "k", &order_body(ALICE, number, "1.00")).await?);
    expect::created(&server.demo.order("another", "1.00").await?);
    let found = expect::ok(&server.demo.get("/v1/orders?client_order_no=A%201001%2F%C3%A4%26%2B%3F").await?);
    assert_eq!(found, json!({"data": [order], "next_cursor": null}));
    let none = expect::ok(&server.demo.get("/v1/orders?client_order_no=a%201001").await?);
    assert_eq!(none, json!({"data": [], "next_cursor": null}));
    let too_long = "x".repeat(65);
    for bad in ["", &too_long, "%00", "%FF"] {
        let refused = server.demo.get(&format!("/v1/orders?client_order_no={bad}")).await?;
        assert_eq!(expect::faults(&refused), ["/client_order_no"], "{bad}");
    }
    Ok(())
}

#[tokio::test]
async fn the_refusals_of_an_order_name_what_stands_against_it_and_move_nothing() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let too_much = server.demo.order("too-much", "10000.01").await?;
    let document = expect::problem(&too_much, 402, "insufficient-funds");
    assert_eq!((&document["available"], &document["required"]), (&json!("10000.00"), &json!("10000.01")));

    let mismatch = json!({
        "account_id": ALICE, "client_order_no": "M", "currency": "JPY", "amount": "1", "payment": {"method": "balance"}
    });
    let mismatch = server.demo.post("/v1/orders", "mismatch", &mismatch).await?;
    expect::problem(&mismatch, 422, "currency-mismatch");

    let nobody = server.demo.post("/v1/orders", "nobody", &order_body(NOBODY, "N", "1.00")).await?;
    expect::problem(&nobody, 404, "not-found");

    let first = expect::created(&server.demo.order("first", "1.00").await?);
    let duplicate = server.demo.post("/v1/orders", "other-key", &order_body(ALICE, "first", "1.00")).await?;
    assert_eq!(expect::problem(&duplicate, 409, "duplicate-order-no")["existing_id"], first["id"]);
    let duplicate = server.demo.post("/v1/orders", "other-body", &order_body(BOB, "first", "7.00")).await?;
    assert_eq!(expect::problem(&duplicate, 409, "duplicate-order-no")["existing_id"], first["id"]);

    expect::ok(&server.demo.post(&format!("/v1/accounts/{BOB}/close"), "close", &json!({})).await?);
    let closed = server.demo.post("/v1/orders", "closed", &order_body(BOB, "C", "1.00")).await?;
    expect::problem(&closed, 409, "account-closed");

    assert_eq!(balance(&server, ALICE).await?, "9999.00");
    let books = audit(&server.database).await;
    assert_eq!(books.orders, 1);
    Ok(())
}

#[tokio::test]
async fn a_refused_order_leaves_its_number_free() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let refused = server.demo.post("/v1/orders", "k-1", &order_body(ALICE, "A", "10000.01")).await?;
    expect::problem(&refused, 402, "insufficient-funds");
    expect::created(&server.demo.post("/v1/orders", "k-2", &order_body(ALICE, "A", "10000.00")).await?);
    Ok(())
}

#[tokio::test]
async fn what_this_version_does_not_have_is_refused_by_its_name() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let base = order_body(ALICE, "A", "1.00");
    let with = |name: &str, value: Value| {
        let mut body = base.clone();
        body[name] = value;
        body
    };
    for (body, pointers) in [
        (with("items", json!({})), vec!["/items"]),
        (with("items", json!(null)), vec!["/items"]),
        (with("payment", json!({"method": "provider"})), vec!["/payment/provider"]),
        (with("payment", json!({"method": "provider", "provider": "cash"})), vec!["/payment/provider"]),
        (with("payment", json!({"method": "balance", "payment_no": "123456"})), vec!["/payment/payment_no"]),
        (with("payment", json!({"method": "cash"})), vec!["/payment/method"]),
        (with("payment", json!({"method": ["balance"]})), vec!["/payment/method"]),
        (with("payment", json!(null)), vec!["/payment"]),
    ] {
        let refused = server.demo.post("/v1/orders", "k", &body).await?;
        assert_eq!(expect::faults(&refused), pointers, "{body}");
    }
    expect::created(&server.demo.post("/v1/orders", "k", &with("items", json!([]))).await?);
    Ok(())
}

#[tokio::test]
async fn an_order_of_all_the_money_twice_under_one_key_succeeds_once_and_is_replayed_once()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let first = server.demo.order("all", "10000.00").await?;
    expect::created(&first);
    for _ in 0..5 {
        let again = server.demo.order("all", "10000.00").await?;
        assert!(again.replayed());
        expect::same(&first, &again);
    }
    assert_eq!(balance(&server, ALICE).await?, "0.00");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_orders_of_all_the_money_at_once_under_one_key_are_one_order_and_no_lack_of_funds()
-> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let barrier = Arc::new(Barrier::new(50));
    let asking = (0..50).map(|_| {
        let (demo, barrier) = (server.demo.clone(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            demo.order("all", "10000.00").await
        })
    });
    let mut ids = std::collections::HashSet::new();
    for answer in futures::future::join_all(asking).await {
        let answer = answer??;
        match answer.status {
            201 => {
                ids.insert(expect::created(&answer)["id"].to_string());
            }
            _ => {
                expect::problem(&answer, 409, "idempotency-in-progress");
            }
        }
    }
    assert_eq!(ids.len(), 1);
    assert_eq!(balance(&server, ALICE).await?, "0.00");
    assert_eq!(audit(&server.database).await.orders, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_at_once_under_different_keys_never_take_more_than_there_is() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let barrier = Arc::new(Barrier::new(60));
    let asking = (0..60).map(|number| {
        let (demo, barrier) = (server.demo.clone(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            demo.order(&format!("o-{number}"), "250.00").await
        })
    });
    let (mut paid, mut refused) = (0, 0);
    for answer in futures::future::join_all(asking).await {
        let answer = answer??;
        if answer.status == 201 {
            paid += 1;
        } else {
            let document = expect::problem(&answer, 402, "insufficient-funds");
            assert_eq!((&document["available"], &document["required"]), (&json!("0.00"), &json!("250.00")));
            refused += 1;
        }
    }
    assert_eq!((paid, refused), (40, 20));
    assert_eq!(balance(&server, ALICE).await?, "0.00");
    assert_eq!(audit(&server.database).await.orders, 40);
    Ok(())
}

#[tokio::test]
async fn two_orders_that_are_equal_in_all_but_their_keys_and_numbers_are_two_orders() -> anyhow::Result<()> {
    let server = TestServer::start().await?;
    let first = expect::created(&server.demo.order("one", "5.00").await?);
    let second = expect::created(&server.demo.order("two", "5.00").await?);
    assert_ne!(first["id"], second["id"]);
    let bare = server.demo.request("POST", "/v1/orders").header("content-type", "application/json");
    let without_key = server.demo.send(bare.body(order_body(ALICE, "three", "5.00").to_string())).await?;
    expect::problem(&without_key, 400, "idempotency-key-missing");
    assert_eq!(balance(&server, ALICE).await?, "9990.00");
    Ok(())
}
