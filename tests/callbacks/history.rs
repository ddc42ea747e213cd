//! What has become of an order that a provider's payment pays, step by step.

use std::time::Duration;

use onefold_tests::office::Office;
use onefold_tests::story;
use provider_simulator::Provider;
use provider_simulator::event::{Outcome, Refund, What};
use serde_json::Value;

use crate::stage::{Stage, of, paid, paid_with, refunded};

const STRIPE: Provider = Provider::Stripe;
const WECHAT: Provider = Provider::WechatPay;

/// The history of the order of this number.
async fn story(stage: &Stage, number: &str, limit: usize) -> anyhow::Result<Vec<String>> {
    let order = stage.order(number).await?;
    story::story(stage.demo(), order["id"].as_str().unwrap_or_default(), limit).await
}

#[tokio::test]
async fn an_order_at_a_provider_is_told_from_its_placing_to_its_refunds() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    let tick = || stage.clock.advance(Duration::from_secs(1));
    stage.place(STRIPE, "H-0001").await?;
    tick();
    let payment = paid("evt_1", "H-0001", "pi_1");
    stage.acknowledged(STRIPE, &of(&payment, "evt_0", What::Failed)).await?;
    tick();
    stage.acknowledged(STRIPE, &payment).await?;
    tick();
    // The same delivery again is no step; another one about the same money is one that changes nothing.
    stage.acknowledged(STRIPE, &payment).await?;
    stage.acknowledged(STRIPE, &of(&payment, "evt_again", What::Succeeded)).await?;
    tick();
    stage.acknowledged(STRIPE, &of(&payment, "evt_2", refunded("r1", "20.00", "20.00"))).await?;
    tick();
    stage.acknowledged(STRIPE, &of(&payment, "evt_3", refunded("r2", "68.80", "88.80"))).await?;

    let expected = [
        "request place-H-0001 | 1 placed pending_payment | ",
        "callback stripe evt_0 failure_noted |  | ",
        "callback stripe evt_1 settled | 2 paid paid | payment_settled 88.80: clearing:stripe to revenue",
        "callback stripe evt_again none |  | ",
        "callback stripe evt_2 refunded | 3 refunded partially_refunded | payment_refunded 20.00: revenue to clearing:stripe",
        "callback stripe evt_3 refunded | 4 refunded refunded | payment_refunded 68.80: revenue to clearing:stripe",
    ];
    for limit in [100, 1, 4] {
        assert_eq!(story(&stage, "H-0001", limit).await?, expected, "{limit} a page");
    }
    stage.finish().await
}

#[tokio::test]
async fn each_step_of_a_refund_at_a_provider_is_told_with_its_amount_and_why_it_failed() -> anyhow::Result<()>
{
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let tick = || stage.clock.advance(Duration::from_secs(1));
    stage.place(WECHAT, "H-0003").await?;
    tick();
    // Money that the office does not know of cannot go back.
    let payment = paid("evt-1", "H-0003", "4200000009");
    stage.acknowledged(WECHAT, &payment).await?;
    tick();
    let ended = |refund: &Value, outcome| {
        let number = refund["id"].as_str().unwrap_or_default().replace('-', "");
        let What::Refunded(told) = refunded(&number, "10.00", "10.00") else { unreachable!("it is one") };
        What::Refunded(Refund { outcome, ..told })
    };
    let closed = stage.refund("H-0003", "10.00", "r-1").await?.json();
    tick();
    stage.acknowledged(WECHAT, &of(&payment, "evt-2", ended(&closed, Outcome::Closed))).await?;
    tick();
    stage.refund("H-0003", "20.00", "r-2").await?;
    tick();
    stage.ask_for_refunds().await?;
    tick();
    let done = stage.refund("H-0003", "10.00", "r-3").await?.json();
    tick();
    stage.acknowledged(WECHAT, &of(&payment, "evt-3", ended(&done, Outcome::Done))).await?;
    assert_eq!(
        story(&stage, "H-0003", 100).await?,
        [
            "request place-H-0003 | 1 placed pending_payment | ",
            "callback wechatpay evt-1 settled | 2 paid paid | payment_settled 88.80: clearing:wechatpay to revenue",
            "request refund-r-1 | 3 refund_asked paid, r-1 of 10.00 | ",
            "callback wechatpay evt-2 refund_failed | 4 refund_failed paid, r-1 of 10.00 | ",
            "request refund-r-2 | 5 refund_asked paid, r-2 of 20.00 | ",
            "service | 6 refund_failed paid, r-2 of 20.00 | ",
            "request refund-r-3 | 7 refund_asked paid, r-3 of 10.00 | ",
            "callback wechatpay evt-3 refunded | 8 refunded partially_refunded, r-3 of 10.00 | \
             payment_refunded 10.00: revenue to clearing:wechatpay",
        ]
    );
    let order = stage.order("H-0003").await?;
    let path = format!("/v1/orders/{}/history", order["id"].as_str().unwrap_or_default());
    let steps = stage.demo().get(&path).await?.json();
    let of_step = |step: usize| steps["data"][step]["changes"][0]["refund"].clone();
    assert_eq!(of_step(2)["refund_id"], closed["id"]);
    assert_eq!(of_step(3)["failure"], "closed by the provider");
    assert!(of_step(5)["failure"].is_string(), "{steps}");
    assert!(of_step(7).get("failure").is_none(), "{steps}");
    stage.finish().await
}

#[tokio::test]
async fn money_that_came_before_its_order_is_told_with_it() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "H-0001", "pi_1")).await?;
    stage.clock.advance(Duration::from_secs(1));
    stage.place(STRIPE, "H-0001").await?;
    assert_eq!(
        story(&stage, "H-0001", 100).await?,
        [
            "callback stripe evt_1 parked |  | payment_unapplied 88.80: clearing:stripe to unapplied_receipts",
            "request place-H-0001 | 1 placed pending_payment, 2 paid paid | \
             payment_applied 88.80: unapplied_receipts to revenue",
        ]
    );
    stage.finish().await
}

#[tokio::test]
async fn what_a_person_accepts_and_what_the_clock_does_has_its_origin() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for number in ["H-0001", "H-0002"] {
        stage.place(STRIPE, number).await?;
    }
    stage.clock.advance(Duration::from_secs(1));
    stage.acknowledged(STRIPE, &paid_with("evt_1", "H-0001", "pi_1", "80.00", "CNY")).await?;
    let alert = stage.alerts("status=open").await?.remove(0);
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!(stage.resolve(&alert, "accept").await?.status, 200);
    let alert_id = alert["id"].as_str().unwrap_or_default();
    assert_eq!(
        story(&stage, "H-0001", 100).await?,
        [
            "request place-H-0001 | 1 placed pending_payment | ".to_owned(),
            "callback stripe evt_1 held |  | payment_unapplied 80.00: clearing:stripe to unapplied_receipts"
                .to_owned(),
            format!(
                "request accept-{alert_id} | 2 paid paid | payment_applied 80.00: unapplied_receipts to revenue"
            ),
        ]
    );
    stage.clock.advance(Duration::from_secs(30 * 60));
    stage.sweep().await?;
    assert_eq!(
        story(&stage, "H-0002", 100).await?,
        ["request place-H-0002 | 1 placed pending_payment | ", "service | 2 expired expired | "]
    );
    stage.finish().await
}
