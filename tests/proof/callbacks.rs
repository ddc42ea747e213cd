//! The service dies between the commit of a callback's effect and its acknowledgement, or just before the commit.

use std::time::Duration;

use chrono::Utc;
use desk::Step;
use onefold_tests::http::{ALICE, Caller, send};
use onefold_tests::own_cluster::OwnCluster;
use provider_simulator::event::{Payment, What};
use provider_simulator::{Amount, Event, Provider, Sender, Style};
use serde_json::json;

use crate::program::{Program, verify};

/// Delivers what Stripe has to say about this payment; `None` if there was no answer.
async fn deliver(to: &Caller, payment_no: &str) -> anyhow::Result<Option<u16>> {
    let event = Event {
        id: format!("evt_{payment_no}"),
        at: now(),
        payment: Payment {
            payment_no: payment_no.to_owned(),
            provider_payment_id: format!("pi_{payment_no}"),
            amount: Amount::parse("88.80")?,
            currency: "CNY".to_owned(),
        },
        what: What::Succeeded,
    };
    let message = Sender::demo(Provider::Stripe, Style::Usual)?.message(&event, now())?;
    let mut request = to.request("POST", "/v1/callbacks/stripe");
    for (name, value) in message.headers {
        request = request.header(name, value);
    }
    Ok(send(request.body(message.body).timeout(Duration::from_secs(20)))
        .await
        .ok()
        .map(|answer| answer.status))
}

fn now() -> chrono::DateTime<Utc> {
    desk::Clock::now(&desk::SystemClock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_around_the_commit_of_a_callback_leaves_one_effect_and_a_retry_is_acknowledged()
-> anyhow::Result<()> {
    let cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    for step in [Step::Decided, Step::Saved, Step::Committed] {
        let number = format!("P-{}", step.name());
        let program = Program::first(&url).await?;
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "88.80",
            "payment": { "method": "provider", "provider": "stripe", "payment_no": number },
        });
        let placed = program.demo().post("/v1/orders", &number, &body).await?;
        assert_eq!(placed.status, 201, "{}", String::from_utf8_lossy(&placed.bytes));
        program.kill().await?;

        let mut doomed = Program::failing(&url, &format!("{}=return", step.name())).await?;
        assert_eq!(deliver(&doomed.demo(), &number).await?, None, "{} is not acknowledged", step.name());
        doomed.crashed().await?;

        let program = Program::first(&url).await?;
        assert_eq!(deliver(&program.demo(), &number).await?, Some(200));
        let payment = program.demo().get(&format!("/v1/payments/{number}")).await?.json();
        assert_eq!(payment["status"], "settled");
        assert_eq!(payment["journal"].as_array().map(Vec::len), Some(1), "{payment}");
        assert_eq!(payment["deliveries"].as_array().map(Vec::len), Some(1), "{payment}");
        program.kill().await?;
    }
    verify(&url).await?;
    cluster.stop().await
}
