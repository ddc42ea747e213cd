//! `onefold show`, as its users run it: beside a running server.

#[path = "command_line/program.rs"]
#[expect(dead_code, reason = "these tests need no signals but the last")]
mod program;

use program::{DEMO_KEY, Home};
use reqwest::StatusCode;
use serde_json::{Value, json};

const ACCOUNT_A: &str = "01900000-0000-7000-8000-00000000000a";

/// What a column of a table holds below its heading, line by line, until the table's end.
fn column<'t>(text: &'t str, heading: &str, next: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| !line.contains(heading));
    let headings = lines.next().unwrap_or_else(|| panic!("no {heading} in\n{text}"));
    let (from, to) = (headings.find(heading).expect("a heading"), headings.find(next).expect("the next one"));
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.get(from..to).unwrap_or_default().trim())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_an_account_and_a_payment_are_shown_beside_a_running_server() {
    let home = Home::new();
    let server = home.serve().await;
    let order = |number: &str, payment: Value| {
        json!({
            "account_id": ACCOUNT_A, "client_order_no": number, "currency": "CNY", "amount": "128.00",
            "payment": payment,
        })
    };
    let paid =
        server.post("/v1/orders", DEMO_KEY, "key-1", &order("A-1", json!({ "method": "balance" }))).await;
    assert_eq!(paid.status(), StatusCode::CREATED);
    let paid = paid.json::<Value>().await.unwrap();
    let at_stripe = json!({ "method": "provider", "provider": "stripe", "payment_no": "pay-0001" });
    let pending = server.post("/v1/orders", DEMO_KEY, "key-2", &order("A-2", at_stripe)).await;
    assert_eq!(pending.status(), StatusCode::CREATED);
    let pending = pending.json::<Value>().await.unwrap();
    let (paid_id, pending_id) = (paid["id"].as_str().unwrap(), pending["id"].as_str().unwrap());

    let shown = home.run(&["show", "order", paid_id]).await;
    assert!(shown.success(), "{shown:?}");
    let text = &shown.stdout;
    assert!(text.starts_with(&format!("Order {paid_id}, A-1\n")), "{text}");
    assert!(
        text.contains(&format!("128.00 CNY of account {ACCOUNT_A}, paid by balance: paid, version 1")),
        "{text}"
    );
    assert_eq!(column(text, "WHAT", "STATUS"), ["placed"], "{text}");
    assert_eq!(column(text, "STATUS", "AMOUNT"), ["paid"], "{text}");
    assert!(
        text.contains(&format!("128.00  order_payment: {ACCOUNT_A} → revenue  request, key key-1")),
        "{text}"
    );

    let shown = home.run(&["show", "order", pending_id, "--json", "--client", "demo"]).await;
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["order"], pending);
    assert_eq!(document["history"][0]["changes"][0]["status"], "pending_payment");
    assert_eq!(document["history"][0]["by"]["idempotency_key"], "key-2");

    let shown = home.run(&["show", "account", ACCOUNT_A]).await;
    let text = &shown.stdout;
    assert!(text.contains("available 9872.00, held 0.00, balance 9872.00: open, version 2"), "{text}");
    assert_eq!(column(text, "WHAT", "REFERENCE"), ["deposit", "order_payment"], "oldest first:\n{text}");
    assert_eq!(column(text, "AVAILABLE", "HELD"), ["10000.00", "9872.00"], "{text}");
    let newest = home.run(&["show", "account", ACCOUNT_A, "--limit", "1"]).await;
    assert!(newest.stdout.contains("Earlier rows are left out"), "{newest:?}");
    assert_eq!(column(&newest.stdout, "WHAT", "REFERENCE"), ["order_payment"]);
    let none = home.run(&["show", "account", ACCOUNT_A, "--to", "2000-01-01T00:00:00Z", "--json"]).await;
    let document: Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!(document["entries"], json!([]));

    let shown = home.run(&["show", "payment", "pay-0001"]).await;
    assert!(shown.stdout.starts_with("Payment pay-0001 at stripe\n"), "{shown:?}");
    assert!(shown.stdout.contains(&format!("128.00 CNY for order {pending_id}: pending")), "{shown:?}");

    for (arguments, sentence) in [
        (
            &["show", "order", ACCOUNT_A][..],
            "onefold: there is no order 01900000-0000-7000-8000-00000000000a",
        ),
        (&["show", "payment", "pay-0002"], "onefold: there is no payment pay-0002"),
        (&["show", "callback", "stripe", "evt_1"], "onefold: there is no callback evt_1 of stripe"),
        (&["show", "account", ACCOUNT_A, "--client", "nobody"], "onefold: there is no client named nobody"),
    ] {
        let refused = home.run(arguments).await;
        assert!(!refused.success() && refused.stdout.is_empty(), "{refused:?}");
        assert_eq!(refused.sentence(), sentence);
    }
    assert!(server.stop("TERM").await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_frozen_money_is_shown_step_by_step() {
    let home = Home::new();
    let server = home.serve().await;
    let ask = async |path: &str, key: &str, body: Value| -> String {
        let answer = server.post(path, DEMO_KEY, key, &body).await;
        assert!(answer.status().is_success(), "{key} was answered {answer:?}");
        answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let order = json!({
        "account_id": ACCOUNT_A, "client_order_no": "A-1", "currency": "CNY", "amount": "100.00",
        "payment": { "method": "hold" },
    });
    let order = ask("/v1/orders", "place", order).await;
    let capture = format!("/v1/orders/{order}/capture");
    ask(&capture, "part", json!({ "amount": "40.00", "final": false, "reference": "first" })).await;
    ask(&capture, "last", json!({ "amount": "10.00" })).await;
    let freezing = json!({ "amount": "30.00", "currency": "CNY", "reference": "room-7" });
    let hold = ask(&format!("/v1/accounts/{ACCOUNT_A}/holds"), "freeze", freezing).await;
    ask(&format!("/v1/holds/{hold}/release"), "thaw", json!({})).await;

    let shown = home.run(&["show", "order", &order]).await;
    let text = &shown.stdout;
    assert_eq!(column(text, "WHAT", "STATUS"), ["placed", "captured", "captured", ""], "{text}");
    assert_eq!(column(text, "STATUS", "AMOUNT"), ["authorized", "authorized", "paid", ""], "{text}");
    for line in [
        format!("100.00  hold: {ACCOUNT_A} → held"),
        format!("40.00  hold_capture: {ACCOUNT_A} → revenue"),
        format!("10.00  hold_capture: {ACCOUNT_A} → revenue"),
        format!("50.00  hold_release: held → {ACCOUNT_A}"),
    ] {
        assert!(text.contains(&line), "{line} in\n{text}");
    }
    assert!(text.contains("captured 50.00, refunded 0.00"), "{text}");

    let shown = home.run(&["show", "account", ACCOUNT_A]).await;
    let text = &shown.stdout;
    let kinds = ["deposit", "hold", "hold_capture", "hold_capture", "hold_release", "hold", "hold_release"];
    assert_eq!(column(text, "WHAT", "REFERENCE"), kinds, "{text}");
    let figures: Vec<Vec<&str>> =
        column(text, "AVAILABLE", "KEY").iter().map(|cells| cells.split_whitespace().collect()).collect();
    assert_eq!(
        figures,
        [
            ["10000.00", "0.00"],
            ["9900.00", "100.00"],
            ["9900.00", "60.00"],
            ["9900.00", "50.00"],
            ["9950.00", "0.00"],
            ["9920.00", "30.00"],
            ["9950.00", "0.00"],
        ],
        "{text}"
    );
    assert!(server.stop("TERM").await.success());
}
