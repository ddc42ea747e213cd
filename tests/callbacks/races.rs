//! Copies at once, and a callback and its order at once.

use std::sync::Arc;

use desk::Clock;
use futures::future::join_all;
use onefold_tests::callbacks::deliver;
use provider_simulator::Provider;
use provider_simulator::provider::PROVIDERS;
use serde_json::json;
use tokio::sync::Barrier;

use crate::stage::{AMOUNT, Stage, booked, paid, paid_with, state_of, verdicts};

const STRIPE: Provider = Provider::Stripe;

/// How often a callback and its order are sent at once.
fn rounds() -> usize {
    if onefold_tests::long() { 300 } else { 40 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_failure_33_ten_copies_at_once_have_one_effect_and_all_are_acknowledged() -> anyhow::Result<()>
{
    let stage = Stage::start().await?;
    for provider in PROVIDERS {
        let number = format!("C-{provider}-1");
        stage.place(provider, &number).await?;
        let event = paid(&format!("event-{provider}"), &number, &format!("money-{provider}"));
        let barrier = Arc::new(Barrier::new(10));
        let copies = (0..10).map(|_| {
            let (barrier, to, event, clock) =
                (barrier.clone(), stage.server.anonymous(), event.clone(), stage.clock.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                deliver(&to, provider, &event, clock.now()).await
            })
        });
        for answer in join_all(copies).await {
            let answer = answer??;
            assert!(provider.takes_for_acknowledged(answer.status, &answer.bytes), "{provider}: {answer:?}");
        }
        let payment = stage.payment(&number).await?;
        assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled"]));
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_events_about_one_payment_at_once_are_one_payment() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "E-0001").await?;
    let deliveries = (0..10).map(|index| {
        let (to, clock) = (stage.server.anonymous(), stage.clock.clone());
        let event = paid(&format!("evt_{index}"), "E-0001", "pi_1");
        tokio::spawn(async move { deliver(&to, STRIPE, &event, clock.now()).await })
    });
    for answer in join_all(deliveries).await {
        assert_eq!(answer??.status, 200);
    }
    let payment = stage.payment("E-0001").await?;
    assert_eq!(booked(&payment), ["payment_settled"]);
    assert_eq!(payment["deliveries"].as_array().map(Vec::len), Some(10));
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_pay_at_once_pay_once_and_the_other_is_excess() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for round in 0..10 {
        let number = format!("T-{round:04}");
        stage.place(STRIPE, &number).await?;
        let (one, other) = (format!("pi_{round}_a"), format!("pi_{round}_b"));
        let (first, second) = (
            paid(&format!("evt_{round}_a"), &number, &one),
            paid(&format!("evt_{round}_b"), &number, &other),
        );
        let (a, b) = tokio::join!(stage.acknowledged(STRIPE, &first), stage.acknowledged(STRIPE, &second));
        a?;
        b?;
        let payment = stage.payment(&number).await?;
        let mut states = [state_of(&payment, &one), state_of(&payment, &other)];
        states.sort();
        assert_eq!(states, [Some("excess"), Some("settled")]);
    }
    assert_eq!(stage.alerts("kind=excess").await?.len(), 10);
    stage.finish().await
}

/// Two servers on one database: what meets in their payments' rows is two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_and_the_order_that_asks_for_it_at_once_always_meet() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let other =
        Stage::start_on(stage.server.database.clone(), desk::Settings::default(), desk::Hooks::default())
            .await?;
    for round in 0..rounds() {
        let number = format!("M-{round:04}");
        let event = paid(&format!("evt_{round}"), &number, &format!("pi_{round}"));
        let (placed, told) = tokio::join!(stage.place(STRIPE, &number), other.acknowledged(STRIPE, &event));
        placed?;
        told?;
        let order = stage.order(&number).await?;
        assert_eq!(
            (&order["status"], &order["captured_amount"], &order["payment"]["status"]),
            (&json!("paid"), &json!(AMOUNT), &json!("settled")),
            "round {round}"
        );
    }
    assert_eq!(stage.collected("unapplied_receipts").await?, "0.00");
    assert_eq!(stage.alerts("").await?.len(), 0);
    other.server.shutdown().await;
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_and_a_decision_about_the_same_money_at_once_leave_the_books_right() -> anyhow::Result<()>
{
    let stage = Stage::start().await?;
    for round in 0..10 {
        let number = format!("D-{round:04}");
        let money = format!("pi_{round}");
        stage.place(STRIPE, &number).await?;
        stage
            .acknowledged(STRIPE, &paid_with(&format!("evt_{round}_a"), &number, &money, "80.00", "CNY"))
            .await?;
        let alert = stage.alerts("status=open").await?.remove(0);
        let right = paid_with(&format!("evt_{round}_b"), &number, &money, AMOUNT, "CNY");
        let (decided, told) =
            tokio::join!(stage.resolve(&alert, "accept"), stage.acknowledged(STRIPE, &right));
        told?;
        let order = stage.order(&number).await?;
        assert_eq!(order["status"], "paid");
        match decided?.status {
            // A person was faster: the rest of the money is asked about.
            200 => assert_eq!(order["captured_amount"], "80.00"),
            409 => assert_eq!(order["captured_amount"], AMOUNT),
            other => panic!("{other}"),
        }
        for alert in stage.alerts("status=open").await? {
            stage.resolve(&alert, "dismiss").await?;
        }
    }
    stage.finish().await
}
