//! What became of what was frozen, step by step: of orders, and of the account that it was frozen on.

use std::time::Duration;

use onefold_tests::story::story;
use serde_json::{Value, json};

use crate::books::{Books, created, ok, text};

const A_SECOND: Duration = Duration::from_secs(1);

/// Places an order that is paid by hold, under this key and number.
async fn authorize(books: &Books, account: &str, key: &str, amount: &str) -> anyhow::Result<String> {
    let body = json!({
        "account_id": account, "client_order_no": key, "currency": "CNY", "amount": amount,
        "payment": { "method": "hold", "expires_in_seconds": 60 },
    });
    Ok(text(&created(&books.caller.post("/v1/orders", key, &body).await?), "id"))
}

/// Asks for something of an order or a hold under this key, a second after what came before.
async fn later(books: &Books, key: &str, path: &str, body: Value) -> anyhow::Result<()> {
    books.clock.advance(A_SECOND);
    let answer = books.caller.post(path, key, &body).await?;
    assert!(answer.status < 300, "{key}: {}", String::from_utf8_lossy(&answer.bytes));
    Ok(())
}

#[tokio::test]
async fn an_order_is_told_from_what_was_frozen_over_each_part_to_what_was_given_back() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = authorize(&books, &account, "place", "50.00").await?;
    let (capture, refunds) = (format!("/v1/orders/{order}/capture"), format!("/v1/orders/{order}/refunds"));
    later(&books, "part", &capture, json!({ "amount": "20.00", "final": false, "reference": "p" })).await?;
    later(&books, "last", &capture, json!({ "amount": "10.00" })).await?;
    later(&books, "back", &refunds, json!({ "amount": "5.00", "reference": "b-1" })).await?;
    later(&books, "rest", &refunds, json!({ "amount": "25.00", "reference": "b-2" })).await?;
    let expected = [
        format!("request place | 1 placed authorized | hold 50.00: {account} to held"),
        format!("request part | 2 captured authorized | hold_capture 20.00: {account} to revenue"),
        format!(
            "request last | 3 captured paid | hold_capture 10.00: {account} to revenue, \
             hold_release 20.00: held to {account}"
        ),
        format!(
            "request back | 4 refunded partially_refunded, b-1 of 5.00 | order_refund 5.00: revenue to {account}"
        ),
        format!(
            "request rest | 5 refunded refunded, b-2 of 25.00 | order_refund 25.00: revenue to {account}"
        ),
    ];
    for limit in [100, 1, 2] {
        assert_eq!(story(&books.caller, &order, limit).await?, expected, "{limit} a page");
    }
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn an_order_that_was_called_off_after_a_part_is_told_to_its_end() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = authorize(&books, &account, "place", "50.00").await?;
    let path = |what: &str| format!("/v1/orders/{order}/{what}");
    later(&books, "part", &path("capture"), json!({ "amount": "20.00", "final": false, "reference": "p" }))
        .await?;
    later(&books, "off", &path("cancel"), json!({})).await?;
    // What is refused, and what is asked for once more, is no step.
    books.clock.advance(A_SECOND);
    assert_eq!(books.caller.post(&path("capture"), "late", &json!({})).await?.status, 409);
    assert!(books.caller.post(&path("cancel"), "off", &json!({})).await?.replayed());
    assert_eq!(
        story(&books.caller, &order, 100).await?,
        [
            format!("request place | 1 placed authorized | hold 50.00: {account} to held"),
            format!("request part | 2 captured authorized | hold_capture 20.00: {account} to revenue"),
            format!("request off | 3 cancelled cancelled | hold_release 30.00: held to {account}"),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn an_order_that_ran_out_is_told_to_have_ended_by_itself() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let order = authorize(&books, &account, "place", "50.00").await?;
    books.clock.advance(Duration::from_secs(60));
    books.read_until(&format!("/v1/orders/{order}"), |order| order["version"] == 2).await?;
    assert_eq!(
        story(&books.caller, &order, 100).await?,
        [
            format!("request place | 1 placed authorized | hold 50.00: {account} to held"),
            format!("service | 2 expired expired | hold_expiry 50.00: held to {account}"),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn the_statement_of_an_account_tells_what_became_of_its_holds_and_under_which_keys()
-> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let placing = format!("/v1/accounts/{account}/holds");
    let hold = async |key: &str, amount: &str| -> anyhow::Result<String> {
        books.clock.advance(A_SECOND);
        let body = json!({ "amount": amount, "currency": "CNY", "reference": key, "expires_in_seconds": 60 });
        Ok(text(&created(&books.caller.post(&placing, key, &body).await?), "id"))
    };
    let (taken, released) = (hold("taken", "30.00").await?, hold("released", "20.00").await?);
    let path = |hold: &str, what: &str| format!("/v1/holds/{hold}/{what}");
    let part = json!({ "amount": "10.00", "final": false, "reference": "p" });
    later(&books, "part", &path(&taken, "capture"), part).await?;
    later(&books, "last", &path(&taken, "capture"), json!({ "amount": "5.00" })).await?;
    later(&books, "release", &path(&released, "release"), json!({})).await?;
    let expired = hold("expired", "40.00").await?;
    books.clock.advance(Duration::from_secs(60));
    books.read_until(&format!("/v1/holds/{expired}"), |hold| hold["status"] == "expired").await?;
    // A hold is due for every command before the sweeper has moved its money.
    books.read_until(&format!("/v1/accounts/{account}"), |account| account["held"] == "0.00").await?;

    let statement = ok(&books.caller.get(&format!("/v1/accounts/{account}/entries")).await?);
    let rows: Vec<String> = statement["data"]
        .as_array()
        .expect("rows")
        .iter()
        .rev()
        .skip(1)
        .map(|row| {
            let of = match row["hold_id"].as_str() {
                Some(id) if id == taken => "taken",
                Some(id) if id == released => "released",
                Some(id) if id == expired => "expired",
                _ => "nothing",
            };
            let word = |name: &str| row[name].as_str().unwrap_or("–").to_owned();
            format!(
                "{} {} of {of}: {} available, {} held, key {}",
                word("kind"),
                word("amount"),
                word("available_after"),
                word("held_after"),
                word("idempotency_key")
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "hold 30.00 of taken: 70.00 available, 30.00 held, key taken",
            "hold 20.00 of released: 50.00 available, 50.00 held, key released",
            "hold_capture 10.00 of taken: 50.00 available, 40.00 held, key part",
            "hold_capture 5.00 of taken: 50.00 available, 35.00 held, key last",
            "hold_release 15.00 of taken: 65.00 available, 20.00 held, key last",
            "hold_release 20.00 of released: 85.00 available, 0.00 held, key release",
            "hold 40.00 of expired: 45.00 available, 40.00 held, key expired",
            "hold_expiry 40.00 of expired: 85.00 available, 0.00 held, key –",
        ]
    );
    Ok(())
}
