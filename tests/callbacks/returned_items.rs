//! The items of refunds that providers are asked for: a piece is back in stock when its money is, once, and not before.

use std::time::Duration;

use anyhow::ensure;
use onefold_tests::http::Exchange;
use onefold_tests::office::Office;
use provider_simulator::event::{Outcome, What};
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::Action;
use provider_simulator::{Event, Provider};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::stage::{AMOUNT, Stage, of, order_of, paid, refunded};

const WECHAT: Provider = Provider::WechatPay;

/// A sku of which there are two pieces, at half of [`AMOUNT`].
async fn two_pieces(stage: &Stage, sku: &str) -> anyhow::Result<()> {
    let set = json!({ "price": { "amount": "44.40", "currency": "CNY" }, "total": 2 });
    let request = stage.demo().request("PUT", &format!("/v1/skus/{sku}"));
    let request = request.header("content-type", "application/json").body(set.to_string());
    ensure!(stage.demo().send(request).await?.status < 300, "the sku is set");
    Ok(())
}

/// An order of both pieces that is paid under this id of the money, and what told of it.
async fn sold_out(
    stage: &Stage,
    provider: Provider,
    number: &str,
    sku: &str,
    money: &str,
) -> anyhow::Result<Event> {
    two_pieces(stage, sku).await?;
    let mut order = order_of(provider, number);
    order["items"] = json!([{ "sku": sku, "quantity": 2 }]);
    let placed = stage.demo().post("/v1/orders", &format!("place-{number}"), &order).await?;
    ensure!(placed.status == 201, "{}", String::from_utf8_lossy(&placed.bytes));
    let event = paid(&format!("event-{number}"), number, money);
    stage.acknowledged(provider, &event).await?;
    assert_eq!(sold(stage, sku).await?, 2);
    Ok(event)
}

/// The same at a provider whose office knows of the money.
async fn sold_out_at(
    stage: &Stage,
    office: &Office,
    provider: Provider,
    name: &str,
) -> anyhow::Result<Event> {
    let money = office.happen(provider, name, AMOUNT, Action::Pay).await?;
    sold_out(stage, provider, name, name, &money.provider_payment_id).await
}

/// Asks for a refund that brings so many pieces back.
async fn refund(
    stage: &Stage,
    (number, sku): (&str, &str),
    amount: &str,
    pieces: u64,
    reference: &str,
) -> anyhow::Result<Exchange> {
    let order = stage.order(number).await?;
    let path = format!("/v1/orders/{}/refunds", order["id"].as_str().unwrap_or_default());
    let items = json!([{ "sku": sku, "quantity": pieces }]);
    let body = json!({ "amount": amount, "reference": reference, "items": items });
    stage.demo().post(&path, &format!("refund-{reference}"), &body).await
}

async fn sold(stage: &Stage, sku: &str) -> anyhow::Result<u64> {
    let sku = stage.demo().get(&format!("/v1/skus/{sku}")).await?.json();
    Ok(sku["sold"].as_u64().unwrap_or(u64::MAX))
}

async fn returned(stage: &Stage, number: &str) -> anyhow::Result<Value> {
    Ok(stage.order(number).await?["items"][0]["returned"].clone())
}

/// What WeChat Pay says became of a refund that it was asked for.
fn ended(refund: &Value, amount: &str, outcome: Outcome) -> What {
    let number = refund["id"].as_str().unwrap_or_default().replace('-', "");
    let What::Refunded(told) = refunded(&number, amount, amount) else { unreachable!("it is a refund") };
    What::Refunded(provider_simulator::event::Refund { outcome, ..told })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_piece_is_back_in_stock_when_its_money_is_back_and_spoken_for_until_then() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let name = format!("I-{provider}");
        sold_out_at(&stage, &office, provider, &name).await?;
        let asked = refund(&stage, (&name, &name), "44.40", 1, &format!("{name}-a")).await?;
        assert_eq!(asked.status, 201, "{}", String::from_utf8_lossy(&asked.bytes));
        assert_eq!((sold(&stage, &name).await?, returned(&stage, &name).await?), (2, json!(0)), "{provider}");
        let too_many = refund(&stage, (&name, &name), "44.40", 2, &format!("{name}-b")).await?;
        assert_eq!(too_many.slug().as_deref(), Some("refund-exceeds-items"));
        assert_eq!(too_many.json()["remaining_quantity"], 1);
        // Nobody is sold a piece that its buyer may keep.
        let mut other = order_of(provider, &format!("{name}-other"));
        other["items"] = json!([{ "sku": name, "quantity": 1 }]);
        other["amount"] = json!("44.40");
        let refused = stage.demo().post("/v1/orders", &format!("{name}-other"), &other).await?;
        assert_eq!(refused.slug().as_deref(), Some("out-of-stock"));

        // Alipay says of a request whether it moved money, and of a refund what became of it.
        stage.ask_for_refunds().await?;
        stage.clock.advance(Duration::from_secs(10));
        stage.ask_for_refunds().await?;
        assert_eq!(stage.refund_now(&asked.json()).await?["status"], "succeeded", "{provider}");
        assert_eq!((sold(&stage, &name).await?, returned(&stage, &name).await?), (1, json!(1)), "{provider}");
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_fails_leaves_its_pieces_sold_and_speaks_for_them_no_more() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let name = format!("F-{provider}");
        // Money that the office does not know of cannot go back.
        sold_out(&stage, provider, &name, &name, "4200000001").await?;
        let asked = refund(&stage, (&name, &name), "44.40", 2, &format!("{name}-a")).await?.json();
        stage.ask_for_refunds().await?;
        assert_eq!(stage.refund_now(&asked).await?["status"], "failed", "{provider}");
        assert_eq!((sold(&stage, &name).await?, returned(&stage, &name).await?), (2, json!(0)), "{provider}");
        let again = refund(&stage, (&name, &name), "44.40", 2, &format!("{name}-b")).await?;
        assert_eq!(again.status, 201, "another refund may name them");
    }
    stage.finish().await
}

#[tokio::test]
async fn a_refund_that_succeeds_after_it_had_failed_brings_its_pieces_back_once() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let event = sold_out(&stage, WECHAT, "L-0001", "TEA", "4200000002").await?;
    let both = ("L-0001", "TEA");
    let first = refund(&stage, both, "20.00", 2, "r-1").await?.json();
    let closed = of(&event, "closed", ended(&first, "20.00", Outcome::Closed));
    stage.acknowledged(WECHAT, &closed).await?;
    assert_eq!(sold(&stage, "TEA").await?, 2);
    let second = refund(&stage, both, "30.00", 2, "r-2").await?.json();
    assert_eq!(stage.alerts("kind=refund_attention&status=open").await?.len(), 1);

    stage.acknowledged(WECHAT, &of(&event, "done", ended(&first, "20.00", Outcome::Done))).await?;
    assert_eq!(stage.refund_now(&first).await?["status"], "succeeded");
    assert_eq!((sold(&stage, "TEA").await?, returned(&stage, "L-0001").await?), (0, json!(2)));
    let answered = stage.alerts("kind=refund_attention").await?.remove(0);
    assert_eq!(answered["action"], "superseded", "nobody has to act any more");
    // The pieces that the second one names are back already.
    stage.acknowledged(WECHAT, &of(&event, "again", ended(&second, "30.00", Outcome::Done))).await?;
    assert_eq!((sold(&stage, "TEA").await?, returned(&stage, "L-0001").await?), (0, json!(2)));
    assert_eq!(stage.order("L-0001").await?["refunded_amount"], "50.00");
    stage.finish().await
}

#[tokio::test]
async fn what_came_back_with_the_asking_comes_back_no_second_time() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let event = sold_out(&stage, WECHAT, "B-0001", "TEA", "4200000003").await?;
    let asked = refund(&stage, ("B-0001", "TEA"), "44.40", 1, "r-1").await?.json();
    // As the version before has left it.
    let mut owner = PgConnection::connect_with(&stage.server.database).await?;
    let earlier = "UPDATE asked_refunds SET items_back = TRUE; UPDATE order_items SET given_back = 1;
                   UPDATE skus SET sold = 1";
    sqlx::raw_sql(earlier).execute(&mut owner).await?;
    let other = refund(&stage, ("B-0001", "TEA"), "10.00", 1, "r-2").await?;
    assert_eq!(other.status, 201, "one piece is left");
    stage.acknowledged(WECHAT, &of(&event, "done", ended(&asked, "44.40", Outcome::Done))).await?;
    assert_eq!((sold(&stage, "TEA").await?, returned(&stage, "B-0001").await?), (1, json!(1)));
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_on_two_servers_that_name_the_same_pieces_bring_each_back_once() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let second = Stage::start_asking_on(stage.server.database.clone(), &office.url).await?;
    sold_out_at(&stage, &office, Provider::Stripe, "C-0001").await?;
    let asking = (0..8).map(|index| {
        let server = if index % 2 == 0 { &stage } else { &second };
        async move { refund(server, ("C-0001", "C-0001"), "10.00", 1, &format!("r-{index}")).await }
    });
    let mut asked = 0;
    for answer in futures::future::join_all(asking).await {
        let answer = answer?;
        match answer.status {
            201 => asked += 1,
            _ => assert_eq!(answer.slug().as_deref(), Some("refund-exceeds-items")),
        }
    }
    assert_eq!(asked, 2, "there are two pieces");
    for _ in 0..3 {
        let (one, two) = tokio::join!(stage.ask_for_refunds(), second.ask_for_refunds());
        one?;
        two?;
        stage.clock.advance(Duration::from_secs(30));
        second.clock.advance(Duration::from_secs(30));
    }
    assert_eq!((sold(&stage, "C-0001").await?, returned(&stage, "C-0001").await?), (0, json!(2)));
    assert_eq!(stage.order("C-0001").await?["refunded_amount"], "20.00");
    second.server.shutdown().await;
    stage.finish().await
}
