//! Freezing money of an account, taking it, and giving it back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::books::{Books, created, ok, refused, text};

#[tokio::test]
async fn frozen_money_cannot_be_spent_and_is_still_there() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = created(&books.hold(&account, "60.00").await?);
    assert_eq!((text(&hold, "status"), text(&hold, "held_amount")), ("active".into(), "60.00".into()));
    assert_eq!(hold["expires_at"], Value::Null);
    assert_eq!(books.figures(&account).await?, ("40.00".into(), "60.00".into()));

    let body = json!({ "amount": "40.01", "currency": "CNY", "reference": "w" });
    let spent = books.post(&format!("/v1/accounts/{account}/withdrawals"), body).await?;
    assert_eq!(refused(&spent, 402, "insufficient-funds")["available"], "40.00");
    let closed = books.post(&format!("/v1/accounts/{account}/close"), json!({})).await?;
    assert_eq!(refused(&closed, 409, "account-not-empty")["held"], "60.00");
    assert_eq!(books.read(&format!("/v1/holds/{}", text(&hold, "id"))).await?, hold);
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn six_holds_of_a_thousand_do_not_fit_on_five_thousand() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("5000.00").await?;
    for _ in 0..5 {
        created(&books.hold(&account, "1000.00").await?);
    }
    refused(&books.hold(&account, "1000.00").await?, 402, "insufficient-funds");
    assert_eq!(books.figures(&account).await?, ("0.00".into(), "5000.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_hold_is_captured_in_parts_and_the_last_one_gives_the_rest_back() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");

    let part = json!({ "amount": "20.00", "final": false, "reference": "c-1" });
    let taken = ok(&books.post(&capture, part).await?);
    assert_eq!((&taken["status"], &taken["captured_amount"]), (&json!("active"), &json!("20.00")));
    assert_eq!(books.figures(&account).await?, ("40.00".into(), "40.00".into()));

    let taken = ok(&books.post(&capture, json!({ "amount": "15.00" })).await?);
    assert_eq!((&taken["status"], &taken["captured_amount"]), (&json!("captured"), &json!("35.00")));
    assert_eq!(books.figures(&account).await?, ("65.00".into(), "0.00".into()));

    let gone = refused(&books.post(&capture, json!({})).await?, 409, "hold-not-active");
    assert_eq!(gone["state"], "captured");
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_capture_without_a_body_takes_all() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let request = books.caller.request("POST", &format!("/v1/holds/{hold}/capture"));
    let taken = ok(&books.caller.send(request.header("idempotency-key", books.key())).await?);
    assert_eq!((&taken["captured_amount"], &taken["status"]), (&json!("60.00"), &json!("captured")));
    Ok(())
}

#[tokio::test]
async fn no_more_is_captured_than_is_left() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    let problem =
        refused(&books.post(&capture, json!({ "amount": "60.01" })).await?, 422, "capture-exceeds-hold");
    assert_eq!((&problem["remaining"], &problem["required"]), (&json!("60.00"), &json!("60.01")));
    assert_eq!(books.figures(&account).await?, ("40.00".into(), "60.00".into()));
    Ok(())
}

#[tokio::test]
async fn a_capture_that_is_not_final_needs_a_reference_and_keeps_it_for_ever() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    let without = books.post(&capture, json!({ "amount": "1.00", "final": false })).await?;
    assert_eq!(refused(&without, 422, "validation-failed")["errors"][0]["pointer"], "/reference");

    let part = json!({ "amount": "20.00", "final": false, "reference": "c-1" });
    ok(&books.post(&capture, part.clone()).await?);
    // Under another key, as after the record has been forgotten.
    refused(&books.post(&capture, part).await?, 409, "duplicate-reference");
    ok(&books.post(&capture, json!({})).await?);
    let late = json!({ "amount": "20.00", "reference": "c-1" });
    refused(&books.post(&capture, late).await?, 409, "duplicate-reference");

    // Another hold has references of its own.
    let other = text(&created(&books.hold(&account, "10.00").await?), "id");
    let part = json!({ "amount": "1.00", "final": false, "reference": "c-1" });
    ok(&books.post(&format!("/v1/holds/{other}/capture"), part).await?);
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_released_hold_gives_all_back_once() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let release = format!("/v1/holds/{hold}/release");
    let released = ok(&books.post(&release, json!({})).await?);
    assert_eq!((&released["status"], &released["held_amount"]), (&json!("released"), &json!("0.00")));
    assert_eq!(books.figures(&account).await?, ("100.00".into(), "0.00".into()));
    for path in [&release, &format!("/v1/holds/{hold}/capture")] {
        assert_eq!(refused(&books.post(path, json!({})).await?, 409, "hold-not-active")["state"], "released");
    }
    assert_eq!(books.figures(&account).await?, ("100.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_capture_under_one_key_takes_once_however_often_it_is_sent() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    let body = json!({ "amount": "20", "final": false, "reference": "c-1" });
    let first = books.caller.post(&capture, "k", &body).await?;
    for again in ["20.0", "20.00"] {
        let body = json!({ "reference": "c-1", "final": false, "amount": again });
        let again = books.caller.post(&capture, "k", &body).await?;
        assert!(again.replayed());
        assert_eq!((again.status, &again.bytes), (first.status, &first.bytes));
    }
    let other = books.caller.post(&capture, "k", &json!({ "amount": "20.01" })).await?;
    refused(&other, 422, "idempotency-key-reused");
    assert_eq!(books.figures(&account).await?, ("40.00".into(), "40.00".into()));
    Ok(())
}

#[tokio::test]
async fn what_is_left_out_and_its_default_are_one_request() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    ok(&books.caller.post(&capture, "k", &json!({})).await?);
    assert!(books.caller.post(&capture, "k", &json!({ "final": true })).await?.replayed());
    Ok(())
}

#[tokio::test]
async fn a_hold_has_expired_from_the_very_moment_that_it_says() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold_for(&account, "30.00", Some(60)).await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    books.clock.advance(Duration::from_micros(59_999_999));
    let part = json!({ "amount": "10.00", "final": false, "reference": "just in time" });
    ok(&books.post(&capture, part).await?);
    books.clock.advance(Duration::from_micros(1));
    assert_eq!(refused(&books.post(&capture, json!({})).await?, 409, "hold-not-active")["state"], "expired");
    let release = books.post(&format!("/v1/holds/{hold}/release"), json!({})).await?;
    assert_eq!(refused(&release, 409, "hold-not-active")["state"], "expired");

    let path = format!("/v1/holds/{hold}");
    let expired = books.read_until(&path, |hold| hold["status"] == "expired").await?;
    assert_eq!((&expired["captured_amount"], &expired["held_amount"]), (&json!("10.00"), &json!("0.00")));
    assert_eq!(books.figures(&account).await?, ("90.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test]
async fn a_hold_in_yen_is_not_captured_by_the_cent() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account_in("JPY", "1000").await?;
    let body = json!({ "amount": "600", "currency": "JPY", "reference": "h" });
    let hold = text(&created(&books.post(&format!("/v1/accounts/{account}/holds"), body).await?), "id");
    let capture = format!("/v1/holds/{hold}/capture");
    for amount in ["1.50", "1.0", "-25", "0", "-0.00", "1e2", "+1", " 1", "１２", "NaN", "0x10", "1_0"] {
        let refusal = books.post(&capture, json!({ "amount": amount })).await?;
        assert_eq!(
            refused(&refusal, 422, "validation-failed")["errors"][0]["pointer"],
            "/amount",
            "{amount}"
        );
    }
    ok(&books.post(&capture, json!({ "amount": "150" })).await?);
    assert_eq!(books.figures(&account).await?, ("850".into(), "0".into()));
    Ok(())
}

#[tokio::test]
async fn a_strangers_hold_is_not_there() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    let stranger = books.server.another_client().await?;
    for (method, path) in [
        ("GET", format!("/v1/holds/{hold}")),
        ("GET", format!("/v1/accounts/{account}/holds")),
        ("POST", format!("/v1/holds/{hold}/capture")),
        ("POST", format!("/v1/holds/{hold}/release")),
    ] {
        let request = stranger.request(method, &path).header("idempotency-key", books.key());
        refused(&stranger.send(request).await?, 404, "not-found");
    }
    assert_eq!(books.figures(&account).await?, ("40.00".into(), "60.00".into()));
    Ok(())
}

#[tokio::test]
async fn the_statement_tells_of_freezing_and_follows_row_by_row() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let account = books.account("100.00").await?;
    let hold = text(&created(&books.hold(&account, "60.00").await?), "id");
    ok(&books.post(&format!("/v1/holds/{hold}/capture"), json!({ "amount": "20.00" })).await?);
    let statement = books.read(&format!("/v1/accounts/{account}/entries")).await?;
    let lines: Vec<_> = statement["data"].as_array().expect("lines").iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "4 hold_release credit 40.00 held 80.00/0.00",
            "3 hold_capture debit 20.00 revenue 40.00/40.00",
            "2 hold debit 60.00 held 40.00/60.00",
            "1 deposit credit 100.00 outside 100.00/0.00",
        ]
    );
    assert!(statement["data"].as_array().expect("lines")[..3].iter().all(|line| line["hold_id"] == hold));

    let listed = books.read(&format!("/v1/accounts/{account}/holds")).await?;
    assert_eq!(listed["data"][0]["id"], hold);
    Ok(())
}

fn line(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().expect("text").to_owned();
    let version = line["account_version"].as_i64().expect("a version");
    format!(
        "{version} {} {} {} {} {}/{}",
        text("kind"),
        text("direction"),
        text("amount"),
        text("counter_account"),
        text("available_after"),
        text("held_after")
    )
}

#[tokio::test]
async fn parts_that_were_rounded_and_the_rest_sum_to_what_was_frozen() -> anyhow::Result<()> {
    let books = Books::open().await?;
    // Of 2.50, 50 % and 45 % (1.125, rounded either way), and what is left.
    for second in ["1.12", "1.13"] {
        let account = books.account("2.50").await?;
        let order = books.authorized(&account, "2.50").await?;
        let capture = format!("/v1/orders/{order}/capture");
        for amount in ["1.25", second] {
            let part = json!({ "amount": amount, "final": false, "reference": books.key() });
            ok(&books.post(&capture, part).await?);
        }
        let rest = ok(&books.post(&capture, json!({})).await?);
        assert_eq!((&rest["status"], &rest["captured_amount"]), (&json!("paid"), &json!("2.50")), "{second}");
        assert_eq!(books.figures(&account).await?, ("0.00".into(), "0.00".into()));
        for amount in ["1.25", second] {
            created(&books.refund(&order, amount).await?);
        }
        let more = refused(&books.refund(&order, "0.14").await?, 422, "refund-exceeds-paid");
        created(&books.refund(&order, &text(&more, "refundable")).await?);
        assert_eq!(books.read(&format!("/v1/orders/{order}")).await?["status"], "refunded");
        assert_eq!(books.figures(&account).await?, ("2.50".into(), "0.00".into()));
    }
    books.audit().await;
    Ok(())
}
