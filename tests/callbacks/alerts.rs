//! People who decide.

use client::ApiKey;
use provider_simulator::Provider;
use serde_json::json;

use crate::stage::{AMOUNT, Stage, booked, of, paid, paid_with, refunded, state_of};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn accepted_money_pays_the_order_with_what_was_received() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (number, money, amount) in [("A-0001", "pi_1", "80.00"), ("A-0002", "pi_2", "90.00")] {
        stage.place(STRIPE, number).await?;
        let event = paid_with(&format!("evt_{money}"), number, money, amount, "CNY");
        stage.acknowledged(STRIPE, &event).await?;
        let alert = stage.alerts("status=open").await?.remove(0);
        let resolved = stage.resolve(&alert, "accept").await?;
        assert_eq!(resolved.status, 200, "{}", String::from_utf8_lossy(&resolved.bytes));
        let body = resolved.json();
        let by = format!("client, key {}", ApiKey::presented(server::demo::API_KEY).hash().id());
        assert_eq!(
            (&body["status"], &body["action"], &body["note"], &body["resolved_by"]),
            (&json!("resolved"), &json!("accept"), &json!("as agreed"), &json!(by))
        );
        let order = stage.order(number).await?;
        assert_eq!((&order["status"], &order["captured_amount"]), (&json!("paid"), &json!(amount)));
        let payment = stage.payment(number).await?;
        assert_eq!(payment["status"], "settled");
        assert_eq!(state_of(&payment, money), Some("accepted"));
        // What was paid caps what can be given back.
        let more = of(&event, &format!("evt_more_{money}"), refunded(money, "95.00", "95.00"));
        stage.acknowledged(STRIPE, &more).await?;
        assert_eq!(stage.order(number).await?["refunded_amount"], "0.00");
        let all = of(&event, &format!("evt_all_{money}"), refunded(money, amount, amount));
        stage.acknowledged(STRIPE, &all).await?;
        assert_eq!(stage.order(number).await?["status"], "refunded");
        let beside = stage.alerts("status=open&kind=refund_mismatched").await?.remove(0);
        assert_eq!(stage.resolve(&beside, "dismiss").await?.status, 200);
    }
    stage.finish().await
}

#[tokio::test]
async fn only_money_of_the_orders_currency_for_an_order_that_waits_can_be_accepted() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "A-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "A-0001", "pi_1", "80.00", "USD")).await?;
    stage.acknowledged(STRIPE, &paid_with("evt_2", "A-0001", "pi_2", "80.00", "CNY")).await?;
    stage.acknowledged(STRIPE, &paid("evt_3", "A-0001", "pi_3")).await?;
    let open = stage.alerts("status=open").await?;
    assert_eq!(open.len(), 2);
    for alert in &open {
        let refused = stage.resolve(alert, "accept").await?;
        assert_eq!((refused.status, refused.slug().as_deref()), (409, Some("alert-not-acceptable")));
        let again = stage.resolve(alert, "accept").await?;
        assert!(again.replayed(), "a refusal is remembered");
    }
    assert_eq!(stage.alerts("status=open").await?.len(), 2);
    stage.finish().await
}

#[tokio::test]
async fn money_that_is_owed_back_is_booked_so_and_leaves_when_the_provider_gives_it_back()
-> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "O-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "O-0001", "pi_1")).await?;
    let second = paid("evt_2", "O-0001", "pi_2");
    stage.acknowledged(STRIPE, &second).await?;
    let alert = stage.alerts("status=open").await?.remove(0);
    assert_eq!(stage.resolve(&alert, "refund").await?.status, 200);
    assert_eq!(stage.collected("refunds_owed").await?, AMOUNT);
    assert_eq!(stage.collected("unapplied_receipts").await?, "0.00");
    assert_eq!(state_of(&stage.payment("O-0001").await?, "pi_2"), Some("refund_owed"));
    let twice = stage.resolve(&alert, "dismiss").await?;
    assert_eq!((twice.status, twice.slug().as_deref()), (409, Some("alert-resolved")));

    stage.acknowledged(STRIPE, &of(&second, "evt_3", refunded("1", AMOUNT, AMOUNT))).await?;
    assert_eq!(stage.collected("refunds_owed").await?, "0.00");
    assert_eq!(stage.collected("clearing:stripe").await?, format!("-{AMOUNT}"));
    let payment = stage.payment("O-0001").await?;
    assert_eq!(booked(&payment), ["payment_settled", "payment_unapplied", "refund_owed", "owed_refunded"]);
    assert_eq!(stage.order("O-0001").await?["status"], "paid", "the order kept its own money");
    stage.finish().await
}

#[tokio::test]
async fn dismissed_money_stays_where_it_is() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "X-0001").await?;
    stage.acknowledged(STRIPE, &paid_with("evt_1", "X-0001", "pi_1", "1.00", "CNY")).await?;
    let alert = stage.alerts("status=open").await?.remove(0);
    assert_eq!(stage.resolve(&alert, "dismiss").await?.status, 200);
    assert_eq!(stage.collected("unapplied_receipts").await?, "1.00");
    let payment = stage.payment("X-0001").await?;
    assert_eq!((state_of(&payment, "pi_1"), &payment["status"]), (Some("dismissed"), &json!("pending")));
    // The provider repeats itself under another name: nobody is asked again.
    stage.acknowledged(STRIPE, &paid_with("evt_2", "X-0001", "pi_1", "1.00", "CNY")).await?;
    assert_eq!(stage.alerts("status=open").await?.len(), 0);
    stage.finish().await
}

#[tokio::test]
async fn alerts_are_listed_newest_first_page_by_page_and_resolved_under_a_key() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "P-0001").await?;
    for index in 0..5 {
        let event = paid_with(&format!("evt_{index}"), "P-0001", &format!("pi_{index}"), "1.00", "CNY");
        stage.acknowledged(STRIPE, &event).await?;
    }
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = stage.demo().get(&format!("/v1/payment-alerts?limit=2{cursor}")).await?.json();
        listed.extend(page["data"].as_array().expect("a list").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let money: Vec<_> = listed.iter().map(|alert| alert["provider_payment_id"].as_str()).collect();
    assert_eq!(money, [Some("pi_4"), Some("pi_3"), Some("pi_2"), Some("pi_1"), Some("pi_0")]);
    assert_eq!(stage.demo().get("/v1/payment-alerts?status=shut").await?.status, 422);
    assert_eq!(stage.demo().get("/v1/payment-alerts?kind=odd").await?.status, 422);

    let path = format!("/v1/payment-alerts/{}/resolve", listed[0]["id"].as_str().expect("an id"));
    let keyless = stage.demo().request("POST", &path).json(&json!({ "action": "dismiss", "note": "" }));
    assert_eq!(stage.demo().send(keyless).await?.slug().as_deref(), Some("idempotency-key-missing"));
    let unknown = stage.demo().post(&path, "k", &json!({ "action": "shred", "note": "" })).await?;
    assert_eq!(unknown.slug().as_deref(), Some("validation-failed"));
    let stranger = stage.server.another_client().await?;
    assert_eq!(stranger.post(&path, "k", &json!({ "action": "dismiss", "note": "" })).await?.status, 404);
    let body = json!({ "action": "dismiss", "note": "" });
    let first = stage.demo().post(&path, "k", &body).await?;
    let again = stage.demo().post(&path, "k", &body).await?;
    assert_eq!((first.status, again.replayed()), (200, true));
    stage.finish().await
}

#[tokio::test]
async fn an_alert_is_found_by_its_id_and_by_its_payment_and_by_its_client_alone() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (number, money) in [("I-0001", "pi_1"), ("I-0002", "pi_2")] {
        stage.place(STRIPE, number).await?;
        let event = paid_with(&format!("evt_{money}"), number, money, "1.00", "CNY");
        stage.acknowledged(STRIPE, &event).await?;
    }
    let found = stage.alerts("payment_no=I-0001").await?;
    assert_eq!((found.len(), &found[0]["provider_payment_id"]), (1, &json!("pi_1")));
    assert_eq!(stage.alerts("payment_no=I-0003").await?.len(), 0);
    assert_eq!(stage.demo().get("/v1/payment-alerts?payment_no=%20").await?.status, 422);
    let path = format!("/v1/payment-alerts/{}", found[0]["id"].as_str().expect("an id"));
    assert_eq!(stage.demo().get(&path).await?.json(), found[0]);
    let resolved = stage.resolve(&found[0], "dismiss").await?.json();
    assert_eq!(stage.demo().get(&path).await?.json(), resolved);
    assert_eq!(stage.server.another_client().await?.get(&path).await?.status, 404);
    stage.finish().await
}

#[tokio::test]
async fn a_decision_about_the_money_answers_every_question_about_it() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for (number, other, money, action) in
        [("D-0001", "D-0002", "pi_1", "accept"), ("D-0003", "D-0004", "pi_2", "refund")]
    {
        stage.place(STRIPE, number).await?;
        stage.place(STRIPE, other).await?;
        let event = paid_with(&format!("evt_{money}"), number, money, "80.00", "CNY");
        stage.acknowledged(STRIPE, &event).await?;
        let elsewhere = paid_with(&format!("evt_other_{money}"), other, money, "80.00", "CNY");
        stage.acknowledged(STRIPE, &elsewhere).await?;
        let open = stage.alerts("status=open").await?;
        assert_eq!(open.len(), 2);
        assert_eq!(
            stage.resolve(&open[0], action).await?.status,
            200,
            "the newest is about the other payment"
        );
        assert_eq!(stage.alerts("status=open").await?.len(), 0);
    }
    stage.finish().await
}
