//! Each row of the table of what a callback does.

use onefold_tests::callbacks::post;
use provider_simulator::event::What;
use provider_simulator::provider::PROVIDERS;
use provider_simulator::{Provider, Sender, Style};
use serde_json::json;

use crate::stage::{AMOUNT, Stage, booked, of, order_of, paid, paid_with, state_of, verdicts};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn an_order_at_a_provider_waits_and_the_callback_of_any_of_the_four_pays_it() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for provider in PROVIDERS {
        let number = format!("P-{provider}-1");
        let placed = stage.place(provider, &number).await?;
        assert_eq!(placed["status"], "pending_payment");
        assert_eq!(placed["payment"]["payment_no"], number);
        assert_eq!(placed["payment"]["provider"], provider.to_string());
        assert_eq!(placed["payment"]["status"], "pending");
        assert_eq!(placed["payment"]["amount"], AMOUNT);
        assert!(placed["payment"]["expires_at"].is_string());
        assert_eq!(placed["captured_amount"], "0.00");

        stage
            .acknowledged(
                provider,
                &paid(&format!("event-{provider}"), &number, &format!("money-{provider}")),
            )
            .await?;
        let order = stage.order(&number).await?;
        assert_eq!((&order["status"], &order["captured_amount"]), (&json!("paid"), &json!(AMOUNT)));
        assert_eq!(order["payment"]["status"], "settled");
        let payment = stage.payment(&number).await?;
        assert_eq!(payment["status"], "settled");
        assert_eq!(booked(&payment), ["payment_settled"]);
        assert_eq!(payment["journal"][0]["debit_account"], format!("clearing:{provider}"));
        assert_eq!(stage.collected(&format!("clearing:{provider}")).await?, format!("-{AMOUNT}"));
    }
    assert_eq!(stage.collected("revenue").await?, "355.20");
    stage.finish().await
}

#[tokio::test]
async fn a_number_that_the_client_does_not_give_is_made_and_one_that_is_taken_is_refused_for_ever()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let mut body = order_of(STRIPE, "N-0001");
    body["payment"].as_object_mut().expect("an object").remove("payment_no");
    let first = stage.demo().post("/v1/orders", "k-1", &body).await?;
    let number = first.json()["payment"]["payment_no"].as_str().expect("a number").to_owned();
    assert_eq!(number.len(), 32);
    let again = stage.demo().post("/v1/orders", "k-1", &body).await?;
    assert!(again.replayed(), "a number of the server's is no part of what was asked");
    assert_eq!(again.bytes, first.bytes);

    let mut second = order_of(STRIPE, &number);
    second["client_order_no"] = json!("N-0002");
    let refused = stage.demo().post("/v1/orders", "k-2", &second).await?;
    assert_eq!((refused.status, refused.slug().as_deref()), (409, Some("duplicate-payment-no")));
    assert_eq!(refused.json()["existing_id"], first.json()["id"]);
    stage.finish().await
}

#[tokio::test]
async fn a_client_without_an_endpoint_for_the_provider_is_told_so_and_its_key_stays_free()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let stranger = stage.server.another_client().await?;
    let opened =
        stranger.post("/v1/accounts", "open", &json!({ "currency": "CNY", "owner": "x" })).await?.json();
    let mut body = order_of(STRIPE, "S-0001");
    body["account_id"] = opened["id"].clone();
    let refused = stranger.post("/v1/orders", "k", &body).await?;
    assert_eq!((refused.status, refused.slug().as_deref()), (422, Some("provider-not-configured")));
    body["payment"] = json!({ "method": "balance" });
    let told = stranger.post("/v1/orders", "k", &body).await?;
    assert_eq!(told.slug().as_deref(), Some("insufficient-funds"), "the key was free");

    // Another client sees nothing of a payment that it does not own.
    stage.place(STRIPE, "S-0002").await?;
    assert_eq!(stranger.get("/v1/payments/S-0002").await?.status, 404);
    stage.finish().await
}

#[tokio::test]
async fn an_order_that_was_placed_is_answered_again_when_its_endpoint_is_gone() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let placed = stage.try_to_place(STRIPE, "S-0001").await?;
    assert_eq!(placed.status, 201);
    // The demo's endpoints are there for whoever may use its key only.
    let stage = stage.start_again(|settings| settings.demo = false).await?;
    let again = stage.try_to_place(STRIPE, "S-0001").await?;
    assert!(again.replayed());
    assert_eq!((again.status, &again.bytes), (placed.status, &placed.bytes));
    assert_eq!(again.header("location"), placed.header("location"));

    let another = stage.demo().post("/v1/orders", "place-S-0001", &order_of(STRIPE, "S-0002")).await?;
    assert_eq!((another.status, another.slug().as_deref()), (422, Some("idempotency-key-reused")));
    let new = stage.try_to_place(STRIPE, "S-0002").await?;
    assert_eq!((new.status, new.slug().as_deref()), (422, Some("provider-not-configured")));
    stage.finish().await
}

#[tokio::test]
async fn an_order_that_its_provider_could_never_settle_exactly_is_refused_and_its_key_stays_free()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (currency, amount, provider, pointer, why) in [
        ("UGX", "500", "stripe", "/currency", "it takes no payments in UGX"),
        ("KWD", "1.001", "stripe", "/amount", "it counts KWD in steps of 0.010; choose another amount"),
        ("CNY", "1000000000.00", "alipay", "/amount", "it takes 999999999.99 CNY at most"),
        ("USD", "88.80", "alipay", "/currency", "choose another currency, or another provider"),
        ("USD", "88.80", "wechatpay", "/currency", "it takes no payments in USD"),
    ] {
        let key = format!("{provider}-{currency}");
        let opened = json!({ "currency": currency, "owner": "x" });
        let account = stage.demo().post("/v1/accounts", &format!("open-{key}"), &opened).await?.json();
        let body = |provider: &str| {
            json!({
                "account_id": account["id"], "client_order_no": key, "currency": currency, "amount": amount,
                "payment": { "method": "provider", "provider": provider },
            })
        };
        let refused = stage.demo().post("/v1/orders", &key, &body(provider)).await?;
        assert_eq!((refused.status, refused.slug().as_deref()), (422, Some("validation-failed")), "{key}");
        let told = refused.json();
        assert_eq!(told["errors"][0]["pointer"], pointer, "{key}");
        let detail = told["errors"][0]["detail"].as_str().expect("a text");
        assert!(detail.contains(why) && detail.contains(&format!("exactly at {provider}")), "{detail}");
        // A provider that writes decimal text takes it, under the same key.
        assert_eq!(stage.demo().post("/v1/orders", &key, &body("standard")).await?.status, 201, "{key}");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_forged_or_tampered_callback_costs_the_database_nothing_and_is_counted() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "F-0001").await?;
    let event = paid("evt_1", "F-0001", "pi_1");
    for provider in PROVIDERS {
        let sender = Sender::demo(provider, Style::Usual)?;
        let message = sender.message(&event, stage.now())?.tampered_with();
        let refused = post(&stage.server.anonymous(), &provider.to_string(), message).await?;
        assert!(
            !provider.takes_for_acknowledged(refused.status, &refused.bytes),
            "{provider}: {}",
            refused.status
        );
        let (status, words) = match provider {
            Provider::WechatPay => (401, r#"{"code": "FAIL", "message": "验签失败"}"#),
            Provider::Alipay => (200, "failure"),
            _ => (400, ""),
        };
        let told = (refused.status, String::from_utf8_lossy(&refused.bytes).into_owned());
        assert_eq!(told, (status, words.to_owned()), "{provider}");
    }
    assert_eq!(stage.count("callback_deliveries").await?, 0);
    assert_eq!(stage.count("idempotency_records WHERE operation LIKE '%callbacks%'").await?, 0);
    let counted = stage.server.anonymous().get("/metrics").await?;
    let counted = String::from_utf8_lossy(&counted.bytes).into_owned();
    assert!(
        counted.contains(
            r#"onefold_callbacks_total{endpoint="stripe",provider="stripe",verdict="rejected",reason="bad_signature"} 1"#
        ),
        "{counted}"
    );
    let nowhere = stage.server.anonymous().request("POST", "/v1/callbacks/nowhere").body("{}");
    assert_eq!(onefold_tests::http::send(nowhere).await?.status, 404);
    let large = stage.server.anonymous().request("POST", "/v1/callbacks/stripe").body(vec![b' '; 300_000]);
    assert_eq!(onefold_tests::http::send(large).await?.status, 413);
    stage.finish().await
}

#[tokio::test]
async fn a_delivery_is_counted_once_by_what_it_asked_for_and_what_it_did() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for number in ["D-0001", "D-0002"] {
        stage.place(STRIPE, number).await?;
    }
    let right = paid("evt_1", "D-0001", "pi_1");
    stage.acknowledged(STRIPE, &right).await?;
    stage.acknowledged(STRIPE, &right).await?;
    stage.acknowledged(STRIPE, &paid_with("evt_2", "D-0002", "pi_2", "1.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid("evt_3", "D-0003", "pi_3")).await?;
    let counted = stage.server.anonymous().get("/metrics").await?;
    let counted = String::from_utf8(counted.bytes)?;
    for (labels, count) in [
        (r#"callbacks_total{endpoint="stripe",provider="stripe",verdict="acknowledged",reason=""}"#, 4),
        (r#"callbacks_total{endpoint="alipay",provider="alipay",verdict="acknowledged",reason=""}"#, 0),
        (r#"callback_decisions_total{provider="stripe",decision="apply_payment",effect="settled"}"#, 1),
        (r#"callback_decisions_total{provider="stripe",decision="hold_amount_mismatch",effect="held"}"#, 1),
        (r#"callback_decisions_total{provider="stripe",decision="hold_unknown_order",effect="parked"}"#, 1),
    ] {
        let line = format!("onefold_{labels} {count}");
        assert!(counted.lines().any(|known| known == line), "{line} is missing in\n{counted}");
    }
    stage.finish().await
}

#[tokio::test]
async fn the_same_delivery_again_does_nothing_and_is_acknowledged() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for provider in PROVIDERS {
        let number = format!("A-{provider}-1");
        stage.place(provider, &number).await?;
        let event = paid(&format!("event-{provider}"), &number, &format!("money-{provider}"));
        for _ in 0..3 {
            stage.acknowledged(provider, &event).await?;
        }
        let payment = stage.payment(&number).await?;
        assert_eq!(booked(&payment), ["payment_settled"]);
        assert_eq!(verdicts(&payment), ["settled"]);
    }
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn known_failure_39_two_events_about_one_payment_are_one_payment() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "D-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "D-0001", "pi_1")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "D-0001", "pi_1")).await?;
    let payment = stage.payment("D-0001").await?;
    assert_eq!(booked(&payment), ["payment_settled"]);
    assert_eq!(verdicts(&payment), ["settled", "none"]);
    stage.finish().await
}

#[tokio::test]
async fn known_failure_34_a_late_failure_does_not_turn_a_paid_order_back() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "L-0001").await?;
    let event = paid("evt_1", "L-0001", "pi_1");
    // Before: noted, and the order stays payable.
    stage.acknowledged(STRIPE, &of(&event, "evt_0", What::Failed)).await?;
    let payment = stage.payment("L-0001").await?;
    assert_eq!((&payment["status"], payment["failed_at"].is_string()), (&json!("pending"), true));
    stage.acknowledged(STRIPE, &event).await?;
    stage.acknowledged(STRIPE, &of(&event, "evt_2", What::Failed)).await?;
    stage.acknowledged(STRIPE, &of(&event, "evt_3", What::Closed)).await?;
    assert_eq!(stage.order("L-0001").await?["status"], "paid");
    let payment = stage.payment("L-0001").await?;
    assert_eq!(verdicts(&payment), ["failure_noted", "settled", "none", "none"]);
    stage.finish().await
}

#[tokio::test]
async fn known_failure_35_another_amount_or_currency_settles_nothing_and_is_in_the_books()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (index, (amount, currency)) in
        [("88.79", "CNY"), ("88.81", "CNY"), ("8880.00", "CNY"), ("88.80", "USD"), ("0.00", "CNY")]
            .into_iter()
            .enumerate()
    {
        let number = format!("M-{index:04}");
        stage.place(STRIPE, &number).await?;
        let (id, money) = (format!("evt_{index}"), format!("pi_{index}"));
        stage.acknowledged(STRIPE, &paid_with(&id, &number, &money, amount, currency)).await?;
        let payment = stage.payment(&number).await?;
        assert_eq!(state_of(&payment, &money), Some("mismatched"), "{amount} {currency}");
        assert_eq!(payment["status"], "pending");
        let expected: &[&str] = if amount == "0.00" { &[] } else { &["payment_unapplied"] };
        assert_eq!(booked(&payment), expected);
        assert_eq!(stage.order(&number).await?["status"], "pending_payment");
        let alert = &stage.alerts("kind=mismatched&status=open").await?[0];
        assert_eq!(alert["payment_no"], number);
        assert_eq!(alert["expected"], json!({ "amount": AMOUNT, "currency": "CNY" }));
        assert_eq!(alert["received"], json!({ "amount": amount, "currency": currency }));
    }
    assert_eq!(stage.collected("unapplied_receipts").await?, "9057.60");
    assert_eq!(stage.collected("revenue").await?, "0.00");
    stage.finish().await
}

#[tokio::test]
async fn known_failure_38_money_for_a_payment_that_is_paid_or_is_anothers_is_excess() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "E-0001").await?;
    // From another provider than the payment's, before and after.
    stage.acknowledged(Provider::WechatPay, &paid("note-1", "E-0001", "wx-1")).await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "E-0001", "pi_1")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "E-0001", "pi_2")).await?;
    stage.acknowledged(Provider::Alipay, &paid("note-2", "E-0001", "trade-2")).await?;
    let payment = stage.payment("E-0001").await?;
    for (money, state) in [("wx-1", "excess"), ("pi_1", "settled"), ("pi_2", "excess"), ("trade-2", "excess")]
    {
        assert_eq!(state_of(&payment, money), Some(state), "{money}");
    }
    assert_eq!(stage.alerts("kind=excess&status=open").await?.len(), 3);
    assert_eq!(stage.collected("unapplied_receipts").await?, "266.40");
    assert_eq!(stage.collected("revenue").await?, AMOUNT);
    stage.finish().await
}

#[tokio::test]
async fn an_amount_that_grows_or_shrinks_under_one_id_is_booked_by_its_difference_and_judged_again()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "G-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "G-0001", "pi_1", "80.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid_with("evt_2", "G-0001", "pi_1", "88.80", "CNY")).await?;
    assert_eq!(stage.order("G-0001").await?["status"], "paid");
    let alerts = stage.alerts("").await?;
    assert_eq!(alerts.len(), 1);
    assert_eq!((&alerts[0]["status"], &alerts[0]["action"]), (&json!("resolved"), &json!("superseded")));
    let payment = stage.payment("G-0001").await?;
    assert_eq!(booked(&payment), ["payment_unapplied", "payment_unapplied", "payment_applied"]);

    // It is paid, and the provider says less: the order stays, and somebody is asked.
    stage.acknowledged(STRIPE, &paid_with("evt_3", "G-0001", "pi_1", "80.00", "CNY")).await?;
    assert_eq!(stage.order("G-0001").await?["status"], "paid");
    assert_eq!(stage.collected("unapplied_receipts").await?, "-8.80");
    assert_eq!(stage.alerts("kind=mismatched&status=open").await?.len(), 1);
    stage.acknowledged(STRIPE, &paid_with("evt_4", "G-0001", "pi_1", "88.80", "CNY")).await?;
    assert_eq!(stage.collected("unapplied_receipts").await?, "0.00");
    assert_eq!(stage.alerts("status=open").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn each_amount_that_differs_is_booked_and_asked_about_however_often_it_changes() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "G-0002").await?;
    for (event, amount) in [("evt_1", "80.00"), ("evt_2", "70.00"), ("evt_3", "90.00")] {
        stage.acknowledged(STRIPE, &paid_with(event, "G-0002", "pi_1", amount, "CNY")).await?;
        assert_eq!(stage.collected("unapplied_receipts").await?, amount);
        let open = stage.alerts("kind=mismatched&status=open").await?;
        assert_eq!(open.len(), 1, "the last question takes the place of those before");
        assert_eq!(open[0]["received"]["amount"], amount);
    }
    // Another currency under the same id is no difference that can be booked; it is asked about all the same.
    stage.acknowledged(STRIPE, &paid_with("evt_4", "G-0002", "pi_1", "90.00", "USD")).await?;
    assert_eq!(stage.order("G-0002").await?["status"], "pending_payment");
    assert_eq!(stage.alerts("kind=mismatched&status=open").await?.len(), 1);
    stage.finish().await
}

#[tokio::test]
async fn known_failure_32_a_callback_before_its_order_is_parked_and_pays_the_order_when_it_is_placed()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for provider in PROVIDERS {
        let number = format!("B-{provider}-1");
        stage
            .acknowledged(
                provider,
                &paid(&format!("event-{provider}"), &number, &format!("money-{provider}")),
            )
            .await?;
        assert_eq!(stage.demo().get(&format!("/v1/payments/{number}")).await?.status, 404);
        assert_eq!(stage.collected("unapplied_receipts").await?, AMOUNT, "in the books from the receipt on");
        let placed = stage.place(provider, &number).await?;
        assert_eq!((&placed["status"], &placed["payment"]["status"]), (&json!("paid"), &json!("settled")));
        let payment = stage.payment(&number).await?;
        assert_eq!(booked(&payment), ["payment_unapplied", "payment_applied"]);
        assert_eq!(state_of(&payment, &format!("money-{provider}")), Some("settled"));
        assert_eq!(stage.collected("unapplied_receipts").await?, "0.00");
    }
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn a_parked_callback_with_another_amount_is_asked_about_when_its_order_is_placed() -> anyhow::Result<()>
{
    let stage = Stage::start().await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "B-0002", "pi_1", "1.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "B-0002", "pi_2")).await?;
    let placed = stage.place(STRIPE, "B-0002").await?;
    assert_eq!(placed["status"], "paid", "the one that fits pays it");
    let payment = stage.payment("B-0002").await?;
    assert_eq!(state_of(&payment, "pi_1"), Some("mismatched"));
    assert_eq!(stage.alerts("kind=mismatched&status=open").await?.len(), 1);
    stage.finish().await
}

#[tokio::test]
async fn a_known_delivery_with_another_content_does_nothing_and_is_asked_about() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "C-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "C-0001", "pi_1")).await?;
    let other = paid_with("evt_1", "C-0001", "pi_other", "1.00", "CNY");
    for _ in 0..3 {
        stage.acknowledged(STRIPE, &other).await?;
    }
    let payment = stage.payment("C-0001").await?;
    assert_eq!(payment["receipts"].as_array().map(Vec::len), Some(1));
    assert_eq!(booked(&payment), ["payment_settled"]);
    let alerts = stage.alerts("").await?;
    assert_eq!(alerts.len(), 1, "one cause raises one alert");
    assert_eq!(alerts[0]["kind"], "delivery_conflict");
    assert_eq!(stage.count("quarantined_bodies").await?, 1);
    assert_eq!(stage.resolve(&alerts[0], "accept").await?.slug().as_deref(), Some("alert-not-acceptable"));
    assert_eq!(stage.resolve(&alerts[0], "dismiss").await?.json()["status"], "resolved");
    stage.finish().await
}
