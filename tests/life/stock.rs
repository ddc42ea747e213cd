//! The catalogue, and what orders do to it.

use std::time::Duration;

use serde_json::json;

use crate::books::{Books, created, ok, refused, text};

#[tokio::test]
async fn a_sku_is_made_set_and_read_under_its_tag() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let made = books.put_sku("TEA%201", "64.00", 10).await?;
    let body = created(&made);
    assert_eq!((&body["sku"], &body["available"]), (&json!("TEA 1"), &json!(10)));
    assert_eq!((made.header("etag"), made.header("location")), (Some("\"1\""), Some("/v1/skus/TEA%201")));
    let set = books.put_sku("TEA%201", "60.00", 12).await?;
    assert_eq!(ok(&set)["price"], json!({ "amount": "60.00", "currency": "CNY" }));
    let read = books.caller.get("/v1/skus/TEA%201").await?;
    assert_eq!(read.header("etag"), Some("\"2\""));
    assert_eq!(ok(&read), ok(&set));

    let put = async |tag: &str, value: &str, total: u32| {
        let body = json!({ "price": { "amount": "60.00", "currency": "CNY" }, "total": total });
        let request = books.caller.request("PUT", "/v1/skus/TEA%201").header(tag, value);
        books.caller.send(request.header("content-type", "application/json").body(body.to_string())).await
    };
    let stale = refused(&put("if-match", "\"1\"", 20).await?, 412, "version-mismatch");
    assert_eq!(stale["version"], 2);
    assert_eq!(ok(&put("if-match", "\"2\"", 20).await?)["total"], 20);
    refused(&put("if-none-match", "*", 5).await?, 412, "version-mismatch");
    ok(&put("if-match", "*", 21).await?);
    refused(&books.caller.get("/v1/skus/COFFEE").await?, 404, "not-found");
    let listed = books.read("/v1/skus").await?;
    assert_eq!(listed["data"][0]["total"], 21);
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn an_order_with_items_costs_what_the_catalogue_says() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("9999.00").await?;
    books.put_sku("TEA", "19.99", 1000).await?;
    let balance = json!({ "method": "balance" });
    let items = json!([{ "sku": "TEA", "quantity": 100 }]);
    let wrong = books.order(&account, "1998.00", items.clone(), balance.clone()).await?;
    let problem = refused(&wrong, 422, "amount-mismatch");
    assert_eq!((&problem["expected"], &problem["amount"]), (&json!("1999.00"), &json!("1998.00")));
    let placed = created(&books.order(&account, "1999.00", items, balance.clone()).await?);
    assert_eq!(placed["items"], json!([{ "sku": "TEA", "quantity": 100, "price": "19.99", "returned": 0 }]));
    // Whoever ordered keeps the price; whoever orders now pays the new one.
    books.put_sku("TEA", "21.00", 1000).await?;
    let order = books.read(&format!("/v1/orders/{}", text(&placed, "id"))).await?;
    assert_eq!(order["items"][0]["price"], "19.99");
    let late =
        books.order(&account, "19.99", json!([{ "sku": "TEA", "quantity": 1 }]), balance.clone()).await?;
    assert_eq!(refused(&late, 422, "amount-mismatch")["expected"], "21.00");
    let unknown = json!([{ "sku": "GONE", "quantity": 1 }]);
    refused(&books.order(&account, "1.00", unknown, balance.clone()).await?, 404, "not-found");

    let yen = json!({ "price": { "amount": "3000", "currency": "JPY" }, "total": 1 });
    created(&books.put("/v1/skus/FAN", &yen).await?);
    let fan = json!([{ "sku": "FAN", "quantity": 1 }]);
    refused(&books.order(&account, "3000.00", fan, balance).await?, 422, "price-currency-mismatch");
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn what_an_order_reserves_is_sold_by_its_capture_and_back_by_its_end() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("9999.00").await?;
    books.put_sku("TEA", "10.00", 10).await?;
    let items = || json!([{ "sku": "TEA", "quantity": 3 }]);
    let order = async || -> anyhow::Result<String> {
        let payment = json!({ "method": "hold", "expires_in_seconds": 60 });
        Ok(text(&created(&books.order(&account, "30.00", items(), payment).await?), "id"))
    };
    let (sold, cancelled, expired) = (order().await?, order().await?, order().await?);
    assert_eq!(books.stock("TEA").await?, (1, 9, 0));
    let part = json!({ "amount": "1.00", "final": false, "reference": "c" });
    ok(&books.post(&format!("/v1/orders/{sold}/capture"), part).await?);
    assert_eq!(books.stock("TEA").await?, (1, 9, 0), "a part of the money buys nothing yet");
    ok(&books.post(&format!("/v1/orders/{sold}/capture"), json!({ "amount": "1.00" })).await?);
    assert_eq!(books.stock("TEA").await?, (1, 6, 3));
    ok(&books.post(&format!("/v1/orders/{cancelled}/cancel"), json!({})).await?);
    assert_eq!(books.stock("TEA").await?, (4, 3, 3));
    books.clock.advance(Duration::from_secs(60));
    books.read_until(&format!("/v1/orders/{expired}"), |order| order["status"] == "expired").await?;
    assert_eq!(books.stock("TEA").await?, (7, 0, 3));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn an_order_for_more_than_there_is_names_the_sku_and_takes_nothing() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("9999.00").await?;
    books.put_sku("TEA", "10.00", 10).await?;
    books.put_sku("FAN", "5.00", 1).await?;
    let items = json!([{ "sku": "TEA", "quantity": 1 }, { "sku": "FAN", "quantity": 2 }]);
    let refusal = books.order(&account, "20.00", items, json!({ "method": "balance" })).await?;
    let problem = refused(&refusal, 409, "out-of-stock");
    assert_eq!((&problem["sku"], &problem["available_quantity"]), (&json!("FAN"), &json!(1)));
    assert_eq!((books.stock("TEA").await?, books.stock("FAN").await?), ((10, 0, 0), (1, 0, 0)));
    assert_eq!(books.figures(&account).await?.0, "9999.00");
    Ok(())
}

#[tokio::test]
async fn an_order_without_the_money_leaves_the_stock() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("5.00").await?;
    books.put_sku("TEA", "10.00", 10).await?;
    let items = json!([{ "sku": "TEA", "quantity": 1 }]);
    let refusal = books.order(&account, "10.00", items, json!({ "method": "hold" })).await?;
    refused(&refusal, 402, "insufficient-funds");
    assert_eq!(books.stock("TEA").await?, (10, 0, 0));
    Ok(())
}

#[tokio::test]
async fn a_total_below_what_is_promised_is_refused() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("9999.00").await?;
    books.put_sku("TEA", "10.00", 10).await?;
    let items = json!([{ "sku": "TEA", "quantity": 4 }]);
    created(&books.order(&account, "40.00", items.clone(), json!({ "method": "balance" })).await?);
    created(&books.order(&account, "40.00", items, json!({ "method": "hold" })).await?);
    let problem = refused(&books.put_sku("TEA", "10.00", 7).await?, 409, "stock-committed");
    assert_eq!((&problem["reserved"], &problem["sold"]), (&json!(4), &json!(4)));
    assert_eq!(ok(&books.put_sku("TEA", "10.00", 8).await?)["available"], 0);
    Ok(())
}

#[tokio::test]
async fn what_is_no_count_is_refused() -> anyhow::Result<()> {
    let books = Books::open().await?;
    for total in [json!(-1), json!(1.5), json!("10"), json!(1e30), json!(null), json!(1_000_000_000_001_u64)]
    {
        let body = json!({ "price": { "amount": "1.00", "currency": "CNY" }, "total": total });
        let refusal = books.put("/v1/skus/TEA", &body).await?;
        assert_eq!(refused(&refusal, 422, "validation-failed")["errors"][0]["pointer"], "/total", "{body}");
    }
    Ok(())
}
