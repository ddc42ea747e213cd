//! Providers that tell the total of a payment's refunds, and not whose they are: each counts once, and none is forgotten.

use std::time::Duration;

use onefold_tests::office::Office;
use provider_simulator::event::Outcome;
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::{Action, RefundAsked};
use provider_simulator::trouble::Kind;
use provider_simulator::{Amount, Event, Provider};
use serde_json::{Value, json};

use crate::stage::{AMOUNT, Stage, booked, of, paid, refunded};

const STRIPE: Provider = Provider::Stripe;

async fn paid_order(
    stage: &Stage,
    office: &Office,
    provider: Provider,
    number: &str,
) -> anyhow::Result<Event> {
    stage.place(provider, number).await?;
    let money = office.happen(provider, number, AMOUNT, Action::Pay).await?;
    let event = paid(&format!("event-{number}"), number, &money.provider_payment_id);
    stage.acknowledged(provider, &event).await?;
    Ok(event)
}

/// A refund of 10.00 that Stripe has given, whose answer was lost, and of which the total was told.
async fn lost_and_told(stage: &Stage, office: &Office, number: &str) -> anyhow::Result<Value> {
    let event = paid_order(stage, office, STRIPE, number).await?;
    let refund = stage.refund(number, "10.00", &format!("{number}-a")).await?.json();
    office.trouble(&refund_no(&refund), Kind::Lost, 1);
    stage.ask_for_refunds().await?;
    assert_eq!(stage.refund_now(&refund).await?["status"], "unknown");
    stage
        .acknowledged(STRIPE, &of(&event, &format!("back-{number}"), refunded("1", "10.00", "10.00")))
        .await?;
    assert_eq!(stage.order(number).await?["refunded_amount"], "10.00");
    Ok(refund)
}

fn refund_no(refund: &Value) -> String {
    refund["id"].as_str().unwrap_or_default().replace('-', "")
}

/// Money goes back that nobody has asked for here.
async fn given_back_outside(
    office: &Office,
    provider: Provider,
    number: &str,
    amount: &str,
) -> anyhow::Result<()> {
    let outside = RefundAsked {
        refund_no: format!("outside-{number}"),
        amount: Some(Amount::parse(amount)?),
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    };
    office.happen(provider, number, AMOUNT, Action::Refund(outside)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_total_may_count_twice_refuses_no_refund_for_ever() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    lost_and_told(&stage, &office, "T-0001").await?;

    // The total may be that of the refund on its way, or of another one beside it.
    let undecided = stage.refund("T-0001", "78.80", "rest").await?;
    assert_eq!((undecided.status, undecided.slug().as_deref()), (409, Some("refund-undecided")));
    assert_eq!(undecided.json()["retryable"], true);
    assert!(undecided.header("retry-after").is_some());
    assert_eq!(stage.demo().get("/v1/idempotency-keys/refund-rest").await?.status, 404, "nothing is stored");
    // What would be too much either way is too much.
    let too_much = stage.refund("T-0001", "78.81", "too-much").await?;
    assert_eq!(too_much.slug().as_deref(), Some("refund-exceeds-paid"));
    assert_eq!(too_much.json()["refundable"], "68.80", "so much is left for certain");

    stage.clock.advance(Duration::from_secs(20));
    assert_eq!(stage.ask_for_refunds().await?, 1);
    assert_eq!(stage.refund("T-0001", "78.80", "rest").await?.status, 201, "under the same key");
    stage.ask_for_refunds().await?;
    let order = stage.order("T-0001").await?;
    assert_eq!((&order["status"], &order["refunded_amount"]), (&json!("refunded"), &json!(AMOUNT)));
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_its_provider_names_by_our_number_is_known_at_once() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let refund = lost_and_told(&stage, &office, "N-0001").await?;
    let money = stage.payment("N-0001").await?["receipts"][0]["provider_payment_id"].clone();
    let object = json!({
        "id": "re_1", "object": "refund", "amount": 1000, "currency": "cny", "payment_intent": money,
        "status": "succeeded", "metadata": { "order_id": "N-0001", "refund_no": refund_no(&refund) },
    });
    stage.stripe_says("evt_named", "refund.updated", &object).await?;
    assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded");
    let payment = stage.payment("N-0001").await?;
    assert_eq!(payment["deliveries"][0]["verdict"], "refund_confirmed");
    assert_eq!(booked(&payment), ["payment_settled", "payment_refunded"], "it counts once");
    assert_eq!(stage.refund("N-0001", "78.80", "rest").await?.status, 201);
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_went_back_outside_is_booked_with_the_answer_that_knows_the_total() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in [STRIPE, Provider::Alipay] {
        let number = format!("A-{provider}");
        paid_order(&stage, &office, provider, &number).await?;
        given_back_outside(&office, provider, &number, "5.00").await?;
        let refund = stage.refund(&number, "10.00", &number).await?.json();
        if provider == STRIPE {
            // Stripe tells of one refund when it is asked for it, and of all when it is asked about it.
            office.trouble(&refund_no(&refund), Kind::Lost, 1);
            stage.ask_for_refunds().await?;
            stage.clock.advance(Duration::from_secs(20));
        }
        stage.ask_for_refunds().await?;
        assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded", "{provider}");
        assert_eq!(stage.order(&number).await?["refunded_amount"], "15.00", "{provider}");
        let too_much = stage.refund(&number, "73.81", &format!("{number}-b")).await?;
        assert_eq!(too_much.json()["refundable"], "73.80", "{provider}");
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_comes_on_top_of_the_total_that_was_told_before_it_was_asked_for() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let event = paid_order(&stage, &office, STRIPE, "B-0001").await?;
    given_back_outside(&office, STRIPE, "B-0001", "5.00").await?;
    stage.acknowledged(STRIPE, &of(&event, "outside", refunded("outside", "5.00", "5.00"))).await?;
    stage.refund("B-0001", "10.00", "r-1").await?;
    // Of what was told before it, nothing can be the refund on its way.
    let too_much = stage.refund("B-0001", "73.81", "r-2").await?;
    assert_eq!(too_much.slug().as_deref(), Some("refund-exceeds-paid"));
    stage.ask_for_refunds().await?;
    assert_eq!(stage.order("B-0001").await?["refunded_amount"], "15.00");
    stage.refund("B-0001", "10.00", "r-3").await?;
    stage.ask_for_refunds().await?;
    assert_eq!(stage.order("B-0001").await?["refunded_amount"], "25.00");
    // The provider's own word says no more than that.
    stage.acknowledged(STRIPE, &of(&event, "all", refunded("all", "10.00", "25.00"))).await?;
    assert_eq!(stage.order("B-0001").await?["refunded_amount"], "25.00");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_back_and_was_not_given_is_shown_and_may_be_asked_for_again() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let number = format!("O-{provider}");
        stage.place(provider, &number).await?;
        // Money that the office does not know of cannot go back.
        let wrong = crate::stage::paid_with(&number, &number, "4200000007", "99.00", "CNY");
        stage.acknowledged(provider, &wrong).await?;
        let question = stage.alerts("kind=mismatched&status=open").await?.remove(0);
        assert_eq!(stage.resolve(&question, "refund").await?.status, 200);
        for asked in 1..=2 {
            stage.ask_for_refunds().await?;
            let refunds = stage.payment(&number).await?["refunds"].clone();
            let refunds = refunds.as_array().expect("refunds");
            assert_eq!(refunds.len(), asked, "{provider}");
            let last = &refunds[asked - 1];
            assert_eq!((&last["status"], &last["amount"]), (&json!("failed"), &json!("99.00")), "{provider}");
            assert!(last["order_id"].is_null() && last["failure"].is_string(), "{last}");
            let mut open = stage.alerts("kind=refund_attention&status=open").await?;
            open.retain(|alert| alert["payment_no"] == number.as_str());
            assert_eq!(open.len(), 1, "a person is asked each time");
            assert_eq!(stage.resolve(&open[0], "refund").await?.status, 200, "{provider}");
        }
        let last = stage.payment(&number).await?["refunds"][2].clone();
        assert_eq!(last["status"], "pending", "under a number of its own");
        assert_eq!(stage.collected("refunds_owed").await?, "99.00", "it is owed once");
        let done = of(&wrong, &format!("{number}-back"), refunded(&refund_no(&last), "99.00", "99.00"));
        stage.acknowledged(provider, &done).await?;
        assert_eq!(stage.collected("refunds_owed").await?, "0.00", "{provider}");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_failed_refund_of_an_order_is_asked_for_anew_of_the_order_and_not_of_its_alert()
-> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    stage.place(STRIPE, "F-0001").await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "F-0001", "4200000008")).await?;
    stage.refund("F-0001", "10.00", "r-1").await?;
    stage.ask_for_refunds().await?;
    let alert = stage.alerts("kind=refund_attention&status=open").await?.remove(0);
    assert_eq!(stage.resolve(&alert, "refund").await?.slug().as_deref(), Some("alert-not-acceptable"));
    assert_eq!(stage.resolve(&alert, "dismiss").await?.status, 200);
    assert_eq!(stage.refund("F-0001", "10.00", "r-2").await?.status, 201);
    let payment = stage.payment("F-0001").await?;
    let told: Vec<_> =
        payment["refunds"].as_array().expect("refunds").iter().map(|one| &one["status"]).collect();
    assert_eq!(told, ["failed", "pending"]);
    stage.finish().await
}
