//! Orders paid by hold: what captures, cancelling and time do to them.

use std::time::Duration;

use serde_json::json;

use crate::books::{Books, created, ok, refused, text};

#[tokio::test]
async fn an_order_by_hold_is_paid_by_its_last_capture() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let order = books.authorized(&account, "128.00").await?;
    assert_eq!(books.figures(&account).await?, ("72.00".into(), "128.00".into()));
    let capture = format!("/v1/orders/{order}/capture");

    let part = json!({ "amount": "28.00", "final": false, "reference": "first parcel" });
    let captured = ok(&books.post(&capture, part).await?);
    assert_eq!((&captured["status"], &captured["captured_amount"]), (&json!("authorized"), &json!("28.00")));
    let paid = ok(&books.post(&capture, json!({ "amount": "50.00" })).await?);
    assert_eq!((&paid["status"], &paid["captured_amount"]), (&json!("paid"), &json!("78.00")));
    assert_eq!(books.figures(&account).await?, ("122.00".into(), "0.00".into()));
    assert_eq!(books.read(&format!("/v1/orders/{order}")).await?, paid);

    let again = refused(&books.post(&capture, json!({})).await?, 409, "order-state-conflict");
    assert_eq!(again["state"], "paid");
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_order_gives_its_money_back_and_takes_no_more() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let order = books.authorized(&account, "128.00").await?;
    let cancel = format!("/v1/orders/{order}/cancel");
    assert_eq!(ok(&books.post(&cancel, json!({})).await?)["status"], "cancelled");
    assert_eq!(books.figures(&account).await?, ("200.00".into(), "0.00".into()));
    for (path, body) in [
        (cancel, json!({})),
        (format!("/v1/orders/{order}/capture"), json!({})),
        (format!("/v1/orders/{order}/refunds"), json!({ "amount": "1.00", "reference": "r" })),
    ] {
        let refusal = books.post(&path, body).await?;
        assert_eq!(refused(&refusal, 409, "order-state-conflict")["state"], "cancelled", "{path}");
    }
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_paid_order_cannot_be_cancelled() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let order = books.paid(&account, "128.00").await?;
    for path in ["cancel", "capture"] {
        let refusal = books.post(&format!("/v1/orders/{order}/{path}"), json!({})).await?;
        assert_eq!(refused(&refusal, 409, "order-state-conflict")["state"], "paid");
    }
    Ok(())
}

#[tokio::test]
async fn an_order_that_is_not_captured_in_time_expires_by_itself() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let payment = json!({ "method": "hold", "expires_in_seconds": 900 });
    let placed = created(&books.order(&account, "128.00", json!([]), payment).await?);
    assert!(placed["payment"]["expires_at"].is_string());
    let order = text(&placed, "id");
    books.clock.advance(Duration::from_secs(900));
    let late = books.post(&format!("/v1/orders/{order}/capture"), json!({})).await?;
    assert_eq!(refused(&late, 409, "order-state-conflict")["state"], "expired");
    let path = format!("/v1/orders/{order}");
    let expired = books.read_until(&path, |order| order["status"] == "expired").await?;
    assert_eq!(expired["captured_amount"], "0.00");
    assert_eq!(books.figures(&account).await?, ("200.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn the_hold_of_an_order_moves_with_the_order_alone() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("200.00").await?;
    let order = books.authorized(&account, "128.00").await?;
    let listed = books.read(&format!("/v1/accounts/{account}/holds")).await?;
    let hold = text(&listed["data"][0], "id");
    assert_eq!(listed["data"][0]["order_id"], order);
    for path in ["capture", "release"] {
        let refusal = books.post(&format!("/v1/holds/{hold}/{path}"), json!({})).await?;
        assert_eq!(refused(&refusal, 409, "hold-of-order")["order_id"], order);
    }
    ok(&books.post(&format!("/v1/orders/{order}/capture"), json!({})).await?);
    Ok(())
}

#[tokio::test]
async fn an_order_by_hold_needs_the_money() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let refusal = books.order(&account, "100.01", json!([]), json!({ "method": "hold" })).await?;
    refused(&refusal, 402, "insufficient-funds");
    assert_eq!(books.figures(&account).await?, ("100.00".into(), "0.00".into()));
    Ok(())
}

#[tokio::test]
async fn an_order_that_is_not_there_is_404_under_its_key_for_ever() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let path = "/v1/orders/01900000-0000-7000-8000-0000000000ff/capture";
    let first = books.caller.post(path, "k", &json!({ "amount": "1.00" })).await?;
    refused(&first, 404, "not-found");
    assert!(books.caller.post(path, "k", &json!({ "amount": "1.00" })).await?.replayed());
    Ok(())
}
