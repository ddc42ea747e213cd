//! Refunds get stuck at WeChat Pay (`ABNORMAL`) while the service and PostgreSQL die, its callbacks are lost, and a person
//! ends them there, one way or the other: one question about each, which ends with it, and books that agree.

use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::join_all;
use onefold_tests::http::{ALICE, Caller, send};
use onefold_tests::office::Office;
use onefold_tests::own_cluster::OwnCluster;
use provider_simulator::demo_keys::wechatpay;
use provider_simulator::event::{Outcome, What};
use provider_simulator::scenario::{Action, RefundAsked};
use provider_simulator::trouble::Kind;
use provider_simulator::{Amount, Event, Provider, Sender, Style};
use rand::Rng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::asked::{ASK_AGAIN, Asked, until};
use crate::program::{DEADLINE, Program, signal, verify};

const WECHAT_PAY: Provider = Provider::WechatPay;

/// How many refunds get stuck.
const REFUNDS: usize = 6;

/// How long it works before something dies, at the most.
const WORKS_MS: u64 = 400;

/// The endpoint, which is asked at this address, soon and without patience.
fn configuration(url: &str) -> String {
    format!(
        "[payments]\nprovider_timeout_ms = 1000\n\n[callbacks.wechatpay]\nprovider = \"wechatpay\"\n\
         client = \"demo\"\npoll_after_s = 1\nmchid = {:?}\nappid = {:?}\napi_v3_key = {:?}\n\
         keys = [{{ kind = \"public_key\", id = {:?}, public_key_pem = {:?} }}]\n\
         api = {{ merchant_serial = {:?}, merchant_private_key = {:?}, base_url = {url:?} }}\n",
        wechatpay::MCHID,
        wechatpay::APPID,
        wechatpay::API_V3_KEY,
        wechatpay::PUBLIC_KEY_ID,
        wechatpay::PLATFORM_PUBLIC_KEY,
        wechatpay::MERCHANT_SERIAL,
        wechatpay::MERCHANT_PRIVATE_KEY
    )
}

/// An order of 88.80 that is paid, and its refund of 10.00, which is to get stuck.
struct Stuck {
    number: String,
    order: String,
    refund: String,
    /// How a person ends it at the provider.
    end: Outcome,
}

impl Stuck {
    /// The number that the provider knows the refund by.
    fn refund_no(&self) -> String {
        self.refund.replace('-', "")
    }

    /// What the provider calls back about it, as its books are now.
    fn event(&self, office: &Office) -> Option<Event> {
        office.office().read(|books| {
            let (booked, refund) = books.of_refund(WECHAT_PAY, &self.refund_no())?;
            Some(Event {
                id: format!("{}-{:?}", self.number, refund.refund.outcome),
                at: refund.at,
                payment: booked.payment.clone(),
                what: What::Refunded(refund.refund.clone()),
            })
        })
    }

    /// A person ends it at the provider, who calls nobody about it.
    async fn ended_by_hand(&self, office: &Office) -> anyhow::Result<()> {
        let ended = RefundAsked {
            refund_no: self.refund_no(),
            amount: None,
            refunded_before: Amount::ZERO,
            outcome: self.end,
        };
        office.happen(WECHAT_PAY, &self.number, "88.80", Action::Refund(ended)).await?;
        Ok(())
    }

    /// A refund of this much of its order, under this reference.
    fn asking(&self, amount: &str, reference: String) -> Asked {
        Asked {
            key: reference.clone(),
            path: format!("/v1/orders/{}/refunds", self.order),
            body: json!({ "amount": amount, "reference": reference }),
            expected: &[201],
            deed: None,
        }
    }
}

/// Orders that are paid, whose next refund gets stuck.
async fn paid_orders(caller: &Caller, office: &Office) -> anyhow::Result<Vec<Stuck>> {
    let mut orders = Vec::new();
    for index in 0..REFUNDS {
        let number = format!("STUCK-{index}");
        let body = json!({
            "account_id": ALICE, "client_order_no": number, "currency": "CNY", "amount": "88.80",
            "payment": { "method": "provider", "provider": "wechatpay", "payment_no": number },
        });
        let placed = caller.post("/v1/orders", &number, &body).await?;
        ensure!(placed.status == 201, "{}", String::from_utf8_lossy(&placed.bytes));
        office.happen(WECHAT_PAY, &number, "88.80", Action::Pay).await?;
        office.office().stick(&number);
        orders.push(Stuck {
            order: placed.json()["id"].as_str().context("an id")?.to_owned(),
            refund: String::new(),
            end: if index % 2 == 0 { Outcome::Done } else { Outcome::Closed },
            number,
        });
    }
    for Stuck { order, .. } in &orders {
        until(caller, &format!("/v1/orders/{order}"), |order| order["status"] == "paid").await?;
    }
    Ok(orders)
}

/// Calls back about these, all at once; answers how many were acknowledged.
async fn called_back(to: &Caller, events: Vec<Event>) -> anyhow::Result<usize> {
    let sender = Sender::demo(WECHAT_PAY, Style::Usual)?;
    let calling = events.into_iter().map(|event| {
        let message = sender.message(&event, desk::Clock::now(&desk::SystemClock));
        async move {
            let message = message?;
            let mut request = to.request("POST", "/v1/callbacks/wechatpay");
            for (name, value) in message.headers {
                request = request.header(name, value);
            }
            // One that nobody answers is no fault of this test's: it is called back about again.
            let answer = send(request.body(message.body)).await.ok();
            anyhow::Ok(
                answer.is_some_and(|answer| WECHAT_PAY.takes_for_acknowledged(answer.status, &answer.bytes)),
            )
        }
    });
    let acknowledged = join_all(calling).await.into_iter().collect::<anyhow::Result<Vec<bool>>>()?;
    Ok(acknowledged.into_iter().filter(|is| *is).count())
}

/// The alerts about refunds.
async fn alerts(caller: &Caller) -> anyhow::Result<Vec<Value>> {
    let list = caller.get("/v1/payment-alerts?kind=refund_attention&limit=100").await?.json();
    Ok(list["data"].as_array().context("a list")?.clone())
}

fn how_many(alerts: &[Value], action: Option<&str>) -> usize {
    alerts.iter().filter(|alert| alert["action"].as_str() == action).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_gets_stuck_while_everything_dies_is_asked_about_once_and_ends_as_it_does_there()
-> anyhow::Result<()> {
    let mut cluster = OwnCluster::start(&[]).await?;
    cluster.new_bare_database("onefold").await?;
    let url = cluster.url("onefold");
    let office = Office::open().await?;
    let configuration = configuration(&office.url);
    let moment = || Duration::from_millis(rand::rng().random_range(0..WORKS_MS));
    let mut program = Program::configured(&url, None, &configuration).await?;
    let mut orders = paid_orders(&program.demo(), &office).await?;

    // The requests, of which some get no answer, and a death among them.
    for (index, order) in orders.iter_mut().enumerate() {
        let asking = order.asking("10.00", format!("{}-a", order.number));
        let answer = asking.send_until_answered(&program.demo()).await?;
        ensure!(answer.status == 201, "{}", String::from_utf8_lossy(&answer.bytes));
        order.refund = answer.json()["id"].as_str().context("an id")?.to_owned();
        let kind = [None, Some(Kind::Lost), Some(Kind::Error)][index % 3];
        kind.into_iter().for_each(|kind| office.trouble(&order.refund_no(), kind, 1));
    }
    // No state is waited for: any moment will do, and no two the same.
    sleep(moment()).await;
    program.kill().await?;
    program = Program::configured(&url, None, &configuration).await?;
    let began = Instant::now();
    while orders.iter().any(|order| order.event(&office).is_none()) {
        ensure!(began.elapsed() < DEADLINE, "not every refund was asked for");
        sleep(ASK_AGAIN).await;
    }

    // That they are stuck is called back about, twice, with a death in between; and it is the answer to being asked about.
    let told: Vec<Event> = orders.iter().filter_map(|order| order.event(&office)).collect();
    let caller = program.demo();
    let (called, killed) = tokio::join!(called_back(&caller, told.clone()), async {
        sleep(moment()).await;
        program.kill().await
    });
    called?;
    killed?;
    program = Program::configured(&url, None, &configuration).await?;
    ensure!(called_back(&program.demo(), told).await? == REFUNDS, "not every callback was acknowledged");
    let asked_about = alerts(&program.demo()).await?;
    assert_eq!(asked_about.len(), REFUNDS, "one question about each: {asked_about:#?}");
    assert_eq!(how_many(&asked_about, None), REFUNDS);

    // A person answers some of the questions, and PostgreSQL dies.
    let dismissed = asked_about.iter().take(2).map(|alert| Asked {
        key: format!("dismiss-{}", alert["id"]).replace('"', ""),
        path: format!("/v1/payment-alerts/{}/resolve", alert["id"].as_str().unwrap_or_default()),
        body: json!({ "action": "dismiss", "note": "it is being dealt with there" }),
        expected: &[200],
        deed: None,
    });
    let caller = program.demo();
    let answering = async {
        for asking in dismissed {
            let answer = asking.send_until_answered(&caller).await?;
            ensure!(answer.status == 200, "{}", String::from_utf8_lossy(&answer.bytes));
        }
        anyhow::Ok(())
    };
    let (answered, died) = tokio::join!(answering, async {
        sleep(moment() / 10).await;
        signal("QUIT", cluster.postmaster()?).await?;
        cluster.start_again().await
    });
    answered?;
    died?;

    // They are ended there. Of some it is called back about, and the service dies; of the others it has to ask.
    for order in &orders {
        order.ended_by_hand(&office).await?;
    }
    let told: Vec<Event> = orders.iter().step_by(3).filter_map(|order| order.event(&office)).collect();
    let times = told.len();
    let caller = program.demo();
    let (called, killed) = tokio::join!(called_back(&caller, told.clone()), async {
        sleep(moment() / 10).await;
        program.kill().await
    });
    called?;
    killed?;
    program = Program::configured(&url, None, &configuration).await?;
    ensure!(called_back(&program.demo(), told).await? == times, "not every callback was acknowledged");

    let caller = program.demo();
    for order in &orders {
        let (status, back) =
            if order.end == Outcome::Done { ("succeeded", "10.00") } else { ("failed", "0.00") };
        let path = format!("/v1/refunds/{}", order.refund);
        until(&caller, &path, |refund| refund["status"] == status).await?;
        let ours = caller.get(&format!("/v1/orders/{}", order.order)).await?.json();
        assert_eq!(ours["refunded_amount"], back, "{}", order.number);
    }
    let now = alerts(&caller).await?;
    let failed = orders.iter().filter(|order| order.end == Outcome::Closed).count();
    assert_eq!(how_many(&now, Some("dismiss")), 2);
    assert_eq!(how_many(&now, Some("superseded")), REFUNDS - 2, "whoever waits is not asked any more");
    assert_eq!(how_many(&now, None), failed, "a person is asked about each that failed: {now:#?}");

    // What did not go back is where it was, and can be asked for anew.
    for order in orders.iter().filter(|order| order.end == Outcome::Closed) {
        let answer =
            order.asking("88.80", format!("{}-b", order.number)).send_until_answered(&caller).await?;
        ensure!(answer.status == 201, "{}", String::from_utf8_lossy(&answer.bytes));
    }
    for order in &orders {
        let whole = if order.end == Outcome::Closed { "88.80" } else { "10.00" };
        let path = format!("/v1/orders/{}", order.order);
        until(&caller, &path, |order| order["refunded_amount"] == whole).await?;
        let there = office
            .office()
            .read(|books| books.of_number(WECHAT_PAY, &order.number).map(|one| one.refunded()));
        assert_eq!(there, Amount::parse(whole).ok(), "{}: the provider's books and ours agree", order.number);
    }
    program.kill().await?;
    verify(&url).await?;
    cluster.stop().await
}
