//! Giving back what an order took.

use serde_json::json;

use crate::books::{Books, created, ok, refused, text};

#[tokio::test]
async fn a_refund_is_back_on_the_balance_at_once() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let order = books.paid(&account, "128.00").await?;
    let refund = created(&books.refund(&order, "28.00").await?);
    assert_eq!((&refund["status"], &refund["order_id"]), (&json!("succeeded"), &json!(order)));
    assert_eq!(books.figures(&account).await?, ("100.00".into(), "0.00".into()));
    let order_now = books.read(&format!("/v1/orders/{order}")).await?;
    assert_eq!(
        (&order_now["status"], &order_now["refunded_amount"]),
        (&json!("partially_refunded"), &json!("28.00"))
    );
    created(&books.refund(&order, "100.00").await?);
    assert_eq!(books.read(&format!("/v1/orders/{order}")).await?["status"], "refunded");
    let ended = books.refund(&order, "0.01").await?;
    assert_eq!(refused(&ended, 409, "order-state-conflict")["state"], "refunded");

    let id = text(&refund, "id");
    assert_eq!(books.read(&format!("/v1/refunds/{id}")).await?, refund);
    let listed = books.read(&format!("/v1/orders/{order}/refunds")).await?;
    let amounts: Vec<_> =
        listed["data"].as_array().expect("refunds").iter().map(|one| &one["amount"]).collect();
    assert_eq!(amounts, ["100.00", "28.00"]);
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn equal_partial_refunds_under_different_keys_both_succeed() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("50.00").await?;
    let order = books.paid(&account, "50.00").await?;
    for _ in 0..5 {
        created(&books.refund(&order, "10.00").await?);
    }
    assert_eq!(books.figures(&account).await?, ("50.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_refund_is_bounded_by_what_was_captured_not_by_what_was_authorized() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = books.authorized(&account, "100.00").await?;
    ok(&books.post(&format!("/v1/orders/{order}/capture"), json!({ "amount": "40.00" })).await?);
    let problem = refused(&books.refund(&order, "50.00").await?, 422, "refund-exceeds-paid");
    assert_eq!((&problem["refundable"], &problem["required"]), (&json!("40.00"), &json!("50.00")));
    created(&books.refund(&order, "40.00").await?);
    assert_eq!(books.figures(&account).await?, ("100.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn an_order_that_only_waits_to_be_captured_has_nothing_to_refund() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = books.authorized(&account, "100.00").await?;
    let refusal = refused(&books.refund(&order, "1.00").await?, 409, "order-state-conflict");
    assert_eq!(refusal["state"], "authorized");
    Ok(())
}

#[tokio::test]
async fn negative_and_no_amounts_are_no_refunds() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = books.paid(&account, "100.00").await?;
    for amount in ["-25", "-0.00", "0", "0.00", "1.001", "NaN", "1e1"] {
        refused(&books.refund(&order, amount).await?, 422, "validation-failed");
    }
    assert_eq!(books.figures(&account).await?, ("0.00".into(), "0.00".into()));
    Ok(())
}

#[tokio::test]
async fn a_repeated_refund_is_replayed_and_moves_nothing() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = books.paid(&account, "100.00").await?;
    let path = format!("/v1/orders/{order}/refunds");
    let body = json!({ "amount": "10.00", "reference": "r-1" });
    let first = books.caller.post(&path, "k", &body).await?;
    created(&first);
    for _ in 0..4 {
        let again = books.caller.post(&path, "k", &body).await?;
        assert!(again.replayed());
        assert_eq!(again.bytes, first.bytes);
    }
    // Under another key, as after the record has been forgotten: refused, and nothing moves either.
    let duplicate = books.caller.post(&path, "k-2", &body).await?;
    let existing = text(&refused(&duplicate, 409, "duplicate-reference"), "existing_id");
    assert_eq!(existing, text(&first.json(), "id"));
    assert_eq!(books.figures(&account).await?, ("10.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_refund_to_a_closed_account_is_refused_and_the_order_stays_as_it_was() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = books.paid(&account, "100.00").await?;
    ok(&books.post(&format!("/v1/accounts/{account}/close"), json!({})).await?);
    refused(&books.refund(&order, "10.00").await?, 409, "account-closed");
    assert_eq!(books.read(&format!("/v1/orders/{order}")).await?["status"], "paid");
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn items_come_back_to_the_stock_and_no_more_than_were_bought() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    books.put_sku("TEA", "10.00", 5).await?;
    let items = json!([{ "sku": "TEA", "quantity": 3 }]);
    let placed = created(&books.order(&account, "30.00", items, json!({ "method": "balance" })).await?);
    let path = format!("/v1/orders/{}/refunds", text(&placed, "id"));
    let back = |quantity: u32| json!({ "amount": "10.00", "reference": books.key(), "items": [{ "sku": "TEA", "quantity": quantity }] });
    assert_eq!(
        created(&books.post(&path, back(2)).await?)["items"],
        json!([{ "sku": "TEA", "quantity": 2 }])
    );
    assert_eq!(books.stock("TEA").await?, (4, 0, 1));
    let problem = refused(&books.post(&path, back(2)).await?, 422, "refund-exceeds-items");
    assert_eq!((&problem["sku"], &problem["remaining_quantity"]), (&json!("TEA"), &json!(1)));
    assert_eq!(books.stock("TEA").await?, (4, 0, 1));
    created(&books.post(&path, back(1)).await?);
    assert_eq!(books.stock("TEA").await?, (5, 0, 0));
    let order = books.read(&format!("/v1/orders/{}", text(&placed, "id"))).await?;
    assert_eq!(order["items"][0]["returned"], 3);
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn items_that_the_order_has_not_or_that_are_no_count_are_refused_and_nothing_moves()
-> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    books.put_sku("TEA", "10.00", 5).await?;
    books.put_sku("FAN", "10.00", 5).await?;
    let items = json!([{ "sku": "TEA", "quantity": 2 }]);
    let placed = created(&books.order(&account, "20.00", items, json!({ "method": "balance" })).await?);
    let path = format!("/v1/orders/{}/refunds", text(&placed, "id"));
    let back =
        |items: serde_json::Value| json!({ "amount": "10.00", "reference": books.key(), "items": items });
    let item = |sku: &str, quantity: i64| json!({ "sku": sku, "quantity": quantity });
    for (items, remaining) in [
        (json!([item("FAN", 1)]), 0),
        (json!([item("NOWHERE", 1)]), 0),
        (json!([item("TEA", 1), item("FAN", 1)]), 0),
        (json!([item("TEA", 3)]), 2),
    ] {
        let problem = refused(&books.post(&path, back(items.clone())).await?, 422, "refund-exceeds-items");
        assert_eq!(problem["remaining_quantity"], remaining, "{items}");
    }
    for items in [
        json!([item("TEA", 1), item("TEA", 1)]),
        json!([item("TEA", 0)]),
        json!([item("TEA", -1)]),
        json!([{ "sku": "TEA", "quantity": "1" }]),
        json!([{ "sku": "TEA", "quantity": 1.5 }]),
        json!([{ "sku": "TEA" }]),
    ] {
        refused(&books.post(&path, back(items)).await?, 422, "validation-failed");
    }
    assert_eq!((books.stock("TEA").await?, books.stock("FAN").await?), ((3, 0, 2), (5, 0, 0)));
    assert_eq!(books.figures(&account).await?, ("80.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_currency_of_three_decimals_is_captured_and_given_back_to_the_last_of_them() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account_in("KWD", "18.600").await?;
    let body = json!({
        "account_id": account, "client_order_no": books.key(), "currency": "KWD", "amount": "18.6",
        "payment": { "method": "hold" },
    });
    let order = text(&created(&books.post("/v1/orders", body).await?), "id");
    let capture = format!("/v1/orders/{order}/capture");
    refused(&books.post(&capture, json!({ "amount": "0.0001" })).await?, 422, "validation-failed");
    let part = json!({ "amount": "0.001", "final": false, "reference": "fils" });
    assert_eq!(ok(&books.post(&capture, part).await?)["captured_amount"], "0.001");
    assert_eq!(books.figures(&account).await?, ("0.000".into(), "18.599".into()));
    assert_eq!(ok(&books.post(&capture, json!({ "amount": "18.598" })).await?)["status"], "paid");
    assert_eq!(books.figures(&account).await?, ("0.001".into(), "0.000".into()));
    let problem = refused(&books.refund(&order, "18.600").await?, 422, "refund-exceeds-paid");
    assert_eq!((&problem["refundable"], &problem["required"]), (&json!("18.599"), &json!("18.600")));
    created(&books.refund(&order, "18.599").await?);
    assert_eq!(books.figures(&account).await?, ("18.600".into(), "0.000".into()));
    books.audit().await;
    Ok(())
}
