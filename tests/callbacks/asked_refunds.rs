//! Refunds that providers are asked for: each once, whatever is lost on the way.

use std::time::Duration;

use onefold_tests::office::{Mute, Office};
use provider_simulator::event::{Outcome, Payment, What};
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::{Action, RefundAsked};
use provider_simulator::trouble::Kind;
use provider_simulator::{Event, Provider};
use serde_json::{Value, json};
use server::provider_calls::CallSettings;
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;
use uuid::Uuid;

use crate::stage::{AMOUNT, Stage, booked, of, paid, refunded};

const STRIPE: Provider = Provider::Stripe;
const A_MINUTE: Duration = Duration::from_secs(60);

/// An order that is paid at this provider, whose office knows of it, and the event that told of that.
async fn paid_order(
    stage: &Stage,
    office: &Office,
    provider: Provider,
    number: &str,
) -> anyhow::Result<Event> {
    stage.place(provider, number).await?;
    let Payment { provider_payment_id, .. } = office.happen(provider, number, AMOUNT, Action::Pay).await?;
    let event = paid(&format!("event-{number}"), number, &provider_payment_id);
    stage.acknowledged(provider, &event).await?;
    assert_eq!(stage.order(number).await?["status"], "paid");
    Ok(event)
}

/// What the provider's books say has gone back, in how many refunds.
fn gone_back(office: &Office, provider: Provider, number: &str) -> (String, usize) {
    office.office().read(|books| {
        let booked = books.of_number(provider, number).expect("a payment");
        (format!("{}", booked.refunded()), booked.refunds.len())
    })
}

/// The number under which a provider is asked for a refund.
fn refund_no(refund: &Value) -> String {
    refund["id"].as_str().unwrap_or_default().replace('-', "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_is_pending_until_its_provider_has_given_the_money_back() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let number = format!("G-{provider}");
        paid_order(&stage, &office, provider, &number).await?;
        let reference = |part: &str| format!("{number}-{part}");
        let asked = stage.refund(&number, "10.00", &reference("a")).await?;
        assert_eq!(asked.status, 201, "{}", String::from_utf8_lossy(&asked.bytes));
        let part = asked.json();
        assert_eq!((&part["status"], &part["failure"]), (&json!("pending"), &Value::Null));
        let order = stage.order(&number).await?;
        assert_eq!((&order["status"], &order["refunded_amount"]), (&json!("paid"), &json!("0.00")));

        // What is on its way is taken off what is left.
        let too_much = stage.refund(&number, "78.81", &reference("b")).await?;
        assert_eq!(too_much.slug().as_deref(), Some("refund-exceeds-paid"));
        assert_eq!(too_much.json()["refundable"], "78.80");
        let again = stage.refund_under(&format!("again-{number}"), &number, "10.00", &reference("a")).await?;
        assert_eq!(again.slug().as_deref(), Some("duplicate-reference"));

        assert_eq!(stage.ask_for_refunds().await?, 1);
        stage.clock.advance(Duration::from_secs(10));
        // Alipay says of a request whether it moved money, and of a refund what became of it.
        stage.ask_for_refunds().await?;
        let order = stage.order(&number).await?;
        assert_eq!(
            (&order["status"], &order["refunded_amount"]),
            (&json!("partially_refunded"), &json!("10.00")),
            "{provider}"
        );
        assert_eq!(stage.refund_now(&part).await?["status"], "succeeded");

        let rest = stage.refund(&number, "78.80", &reference("c")).await?.json();
        stage.ask_for_refunds().await?;
        stage.clock.advance(Duration::from_secs(10));
        stage.ask_for_refunds().await?;
        assert_eq!(stage.order(&number).await?["status"], "refunded");
        assert_eq!(stage.refund_now(&rest).await?["status"], "succeeded");
        let payment = stage.payment(&number).await?;
        assert_eq!(booked(&payment), ["payment_settled", "payment_refunded", "payment_refunded"]);
        assert_eq!(gone_back(&office, provider, &number), ("88.8".to_owned(), 2), "{provider}");
        let path = format!("/v1/orders/{}/refunds", order["id"].as_str().unwrap_or_default());
        let listed = stage.demo().get(&path).await?.json();
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(2));
    }
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.ask_for_refunds().await?, 0, "what is over is not asked about");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_answer_is_lost_is_asked_about_and_never_made_a_second_refund() -> anyhow::Result<()>
{
    let office = Office::open().await?;
    for provider in PROVIDERS {
        // A clock of its own: WeChat Pay takes no request that is signed for much later.
        let stage = Stage::start_asking(&office.url).await?;
        for kind in [Kind::Lost, Kind::Timeout, Kind::Error] {
            let number = format!("L-{provider}-{kind:?}");
            paid_order(&stage, &office, provider, &number).await?;
            let refund = stage.refund(&number, "10.00", &number).await?.json();
            office.trouble(&refund_no(&refund), kind, 1);
            assert_eq!(stage.ask_for_refunds().await?, 1);
            assert_eq!(stage.refund_now(&refund).await?["status"], "unknown", "{number}");
            assert_eq!(stage.order(&number).await?["refunded_amount"], "0.00");
            // It still counts as on its way.
            let too_much = stage.refund(&number, "78.81", &format!("{number}-b")).await?;
            assert_eq!(too_much.slug().as_deref(), Some("refund-exceeds-paid"));
            for _ in 0..3 {
                stage.clock.advance(Duration::from_secs(20));
                stage.ask_for_refunds().await?;
            }
            assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded", "{number}");
            assert_eq!(stage.order(&number).await?["refunded_amount"], "10.00", "{number}");
            assert_eq!(gone_back(&office, provider, &number), ("10".to_owned(), 1), "{number}");
        }
        stage.finish().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_providers_callback_and_its_answer_meet_whichever_comes_first() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for (round, provider) in (0..4).flat_map(|round| PROVIDERS.map(|provider| (round, provider))) {
        let number = format!("M-{provider}-{round}");
        let event = paid_order(&stage, &office, provider, &number).await?;
        let refund = stage.refund(&number, "10.00", &number).await?.json();
        // The provider has done it, and its answer is lost; what it knows the refund by stands in its books.
        office.trouble(&refund_no(&refund), Kind::Lost, 1);
        stage.ask_for_refunds().await?;
        let told = office.office().read(|books| {
            let booked = books.of_number(provider, &number).expect("a payment");
            booked.refund(&refund_no(&refund)).expect("a refund").refund.clone()
        });
        let back = of(&event, &format!("back-{number}"), What::Refunded(told));
        stage.clock.advance(Duration::from_secs(6));
        match round {
            0 => {
                stage.acknowledged(provider, &back).await?;
                stage.ask_for_refunds().await?;
            }
            1 => {
                stage.ask_for_refunds().await?;
                stage.acknowledged(provider, &back).await?;
            }
            _ => {
                let (asked, told) =
                    tokio::join!(stage.ask_for_refunds(), stage.acknowledged(provider, &back));
                asked?;
                told?;
            }
        }
        stage.clock.advance(Duration::from_secs(12));
        stage.ask_for_refunds().await?;
        let payment = stage.payment(&number).await?;
        assert_eq!(booked(&payment), ["payment_settled", "payment_refunded"], "{number}");
        assert_eq!(payment["receipts"][0]["refunded_amount"], "10.00", "{number}");
        assert_eq!(stage.order(&number).await?["refunded_amount"], "10.00", "{number}");
        assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded", "{number}");
        assert_eq!(gone_back(&office, provider, &number).1, 1);
    }
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_the_provider_refuses_fails_and_another_may_be_asked_for() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let number = format!("R-{provider}");
        stage.place(provider, &number).await?;
        // Money that the office does not know of cannot go back.
        stage.acknowledged(provider, &paid(&format!("event-{number}"), &number, "4200000001")).await?;
        let refund = stage.refund(&number, "10.00", &number).await?.json();
        stage.ask_for_refunds().await?;
        let failed = stage.refund_now(&refund).await?;
        assert_eq!(failed["status"], "failed", "{provider}: {failed}");
        assert!(failed["failure"].is_string());
        let order = stage.order(&number).await?;
        assert_eq!((&order["status"], &order["refunded_amount"]), (&json!("paid"), &json!("0.00")));
        assert_eq!(stage.refund(&number, AMOUNT, &format!("{number}-b")).await?.status, 201);
        stage.ask_for_refunds().await?;
    }
    let alerts = stage.alerts("kind=refund_attention&status=open").await?;
    assert_eq!(alerts.len(), 2 * PROVIDERS.len(), "a person is asked about each");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_is_stuck_is_asked_about_until_it_is_over() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let provider = Provider::WechatPay;
    let event = paid_order(&stage, &office, provider, "W-0001").await?;
    let refund = stage.refund("W-0001", "10.00", "r-1").await?.json();
    let What::Refunded(mut stuck) = refunded(&refund_no(&refund), "10.00", "10.00") else { unreachable!() };
    stuck.outcome = Outcome::Abnormal;
    stage.acknowledged(provider, &of(&event, "stuck", What::Refunded(stuck.clone()))).await?;
    let alerts = stage.alerts("kind=refund_attention").await?;
    assert_eq!(alerts.len(), 1);
    assert_eq!(stage.refund_now(&refund).await?["status"], "pending");
    assert_eq!(stage.order("W-0001").await?["refunded_amount"], "0.00");
    // It is in the provider's hands: nothing of it is left that could be owed back, or accepted.
    for action in ["refund", "accept"] {
        let refused = stage.resolve(&alerts[0], action).await?;
        assert_eq!(refused.slug().as_deref(), Some("alert-not-acceptable"), "{action}");
    }
    // A person has ended it at the provider.
    stuck.outcome = Outcome::Done;
    stage.acknowledged(provider, &of(&event, "done", What::Refunded(stuck))).await?;
    assert_eq!(stage.alerts("status=open").await?.len(), 0, "nobody is asked about what is over");
    assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded");
    assert_eq!(stage.order("W-0001").await?["refunded_amount"], "10.00");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_that_its_provider_says_is_stuck_waits_for_a_person_there() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let provider = Provider::WechatPay;
    let event = paid_order(&stage, &office, provider, "S-0001").await?;
    let refund = stage.refund("S-0001", "10.00", "r-1").await?.json();
    office.office().stick("S-0001");
    for seconds in [0, 10, 20, 40] {
        stage.clock.advance(Duration::from_secs(seconds));
        stage.ask_for_refunds().await?;
    }
    assert_eq!(stage.refund_now(&refund).await?["status"], "pending");
    assert_eq!(stage.order("S-0001").await?["refunded_amount"], "0.00");
    assert_eq!(gone_back(&office, provider, "S-0001"), ("0".to_owned(), 1), "asked for once");
    let alerts = stage.alerts("kind=refund_attention").await?;
    assert_eq!(alerts.len(), 1, "a person is asked once, however often it is told");
    assert_eq!(alerts[0]["status"], "open");
    // The callback says the same, in words of its own.
    let told = office.office().read(|books| {
        let booked = books.of_number(provider, "S-0001").expect("a payment");
        booked.refund(&refund_no(&refund)).expect("a refund").refund.clone()
    });
    let again = of(&event, "stuck", What::Refunded(told));
    for _ in 0..2 {
        stage.acknowledged(provider, &again).await?;
    }
    assert_eq!(stage.alerts("kind=refund_attention").await?, alerts, "whichever way it is told");
    // It still counts as on its way.
    let too_much = stage.refund("S-0001", "78.81", "r-2").await?;
    assert_eq!(too_much.slug().as_deref(), Some("refund-exceeds-paid"));

    let ended = RefundAsked {
        refund_no: refund_no(&refund),
        amount: None,
        refunded_before: provider_simulator::Amount::ZERO,
        outcome: Outcome::Done,
    };
    office.happen(provider, "S-0001", AMOUNT, Action::Refund(ended)).await?;
    stage.clock.advance(Duration::from_secs(100));
    assert_eq!(stage.ask_for_refunds().await?, 1);
    assert_eq!(stage.refund_now(&refund).await?["status"], "succeeded");
    let order = stage.order("S-0001").await?;
    assert_eq!(
        (&order["status"], &order["refunded_amount"]),
        (&json!("partially_refunded"), &json!("10.00"))
    );
    assert_eq!(booked(&stage.payment("S-0001").await?), ["payment_settled", "payment_refunded"]);
    let answered = stage.alerts("kind=refund_attention").await?.remove(0);
    assert_eq!((&answered["status"], &answered["action"]), (&json!("resolved"), &json!("superseded")));
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_decides_to_give_back_is_asked_for_at_its_provider() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let number = format!("O-{provider}");
        stage.place(provider, &number).await?;
        let wrong = office.happen(provider, &number, "99.00", Action::Pay).await?;
        let event = crate::stage::paid_with(&number, &number, &wrong.provider_payment_id, "99.00", "CNY");
        stage.acknowledged(provider, &event).await?;
        let alerts = stage.alerts("kind=mismatched&status=open").await?;
        assert_eq!(stage.resolve(&alerts[0], "refund").await?.status, 200);
        assert_eq!(stage.collected("refunds_owed").await?, "99.00");
        stage.ask_for_refunds().await?;
        stage.clock.advance(Duration::from_secs(10));
        stage.ask_for_refunds().await?;
        assert_eq!(stage.collected("refunds_owed").await?, "0.00", "{provider}");
        assert_eq!(gone_back(&office, provider, &number), ("99".to_owned(), 1));
        let payment = stage.payment(&number).await?;
        assert_eq!(booked(&payment), ["payment_unapplied", "refund_owed", "owed_refunded"]);
    }
    stage.finish().await
}

/// An order that is paid at a provider that answers nobody, and a refund of it.
async fn refund_at_nobody(stage: &Stage, number: &str) -> anyhow::Result<Value> {
    stage.place(STRIPE, number).await?;
    stage.acknowledged(STRIPE, &paid(&format!("event-{number}"), number, &format!("pi-{number}"))).await?;
    Ok(stage.refund(number, "10.00", number).await?.json())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_whose_request_is_still_under_way_has_no_second_turn() -> anyhow::Result<()> {
    let nobody = Mute::open().await?;
    let stage = Stage::start_calling(&nobody.url, CallSettings::default()).await?;
    refund_at_nobody(&stage, "T-0001").await?;
    let refunding = stage.server.server().refunding().clone();
    let first = tokio::spawn(async move { refunding.once().await });
    nobody.has_been_called(1).await?;
    // An answer may take 10 s.
    stage.clock.advance(Duration::from_secs(12));
    assert_eq!(stage.ask_for_refunds().await?, 0);
    assert!(!first.is_finished(), "the first request is still under way");
    first.abort();
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_taken_when_there_is_a_place_for_its_request_and_not_before() -> anyhow::Result<()> {
    let nobody = Mute::open().await?;
    let calls = CallSettings { at_once_max: 1, ..CallSettings::default() };
    let stage = Stage::start_calling(&nobody.url, calls).await?;
    let refund = refund_at_nobody(&stage, "T-0001").await?;
    stage.place(STRIPE, "T-0002").await?;
    stage.clock.advance(A_MINUTE);
    let polling = stage.server.server().polling().clone();
    let asking = tokio::spawn(async move { polling.once().await });
    nobody.has_been_called(1).await?;
    // The only place is taken: whoever asks for the refund waits for it, and has no turn meanwhile.
    let waiting = timeout(Duration::from_millis(200), stage.ask_for_refunds()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    assert_eq!(turns_of(&stage, &refund).await?, 0);
    asking.abort();
    assert!(asking.await.is_err_and(|error| error.is_cancelled()));
    let refunding = stage.server.server().refunding().clone();
    let taking = tokio::spawn(async move { refunding.once().await });
    nobody.has_been_called(2).await?;
    assert_eq!(turns_of(&stage, &refund).await?, 1);
    taking.abort();
    stage.finish().await
}

/// How many turns were taken of a refund.
async fn turns_of(stage: &Stage, refund: &Value) -> anyhow::Result<i32> {
    let mut connection = PgConnection::connect_with(&stage.server.database).await?;
    let id: Uuid = refund["id"].as_str().unwrap_or_default().parse()?;
    let turns = sqlx::query_scalar("SELECT asked FROM asked_refunds WHERE refund_id = $1").bind(id);
    Ok(turns.fetch_one(&mut connection).await?)
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_is_asked_for_nothing() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.place(STRIPE, "N-0001").await?;
    let unpaid = stage.refund("N-0001", "1.00", "r-0").await?;
    assert_eq!(unpaid.slug().as_deref(), Some("order-state-conflict"));
    stage.acknowledged(STRIPE, &paid("evt_1", "N-0001", "pi_1")).await?;
    let refused = stage.refund("N-0001", "1.00", "r-1").await?;
    assert_eq!(refused.slug().as_deref(), Some("refund-at-provider"));
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_that_are_asked_for_at_once_never_pass_what_was_paid() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let second = Stage::start_asking_on(stage.server.database.clone(), &office.url).await?;
    paid_order(&stage, &office, STRIPE, "C-0001").await?;
    let asking = (0..10).map(|index| {
        let server = if index % 2 == 0 { &stage } else { &second };
        async move { server.refund("C-0001", "20.00", &format!("r-{index}")).await }
    });
    let mut asked = 0;
    for answer in futures::future::join_all(asking).await {
        let answer = answer?;
        match answer.status {
            201 => asked += 1,
            _ => assert_eq!(answer.slug().as_deref(), Some("refund-exceeds-paid")),
        }
    }
    assert_eq!(asked, 4);
    for _ in 0..4 {
        let (one, two) = tokio::join!(stage.ask_for_refunds(), second.ask_for_refunds());
        one?;
        two?;
        stage.clock.advance(Duration::from_secs(30));
        second.clock.advance(Duration::from_secs(30));
    }
    assert_eq!(gone_back(&office, STRIPE, "C-0001"), ("80".to_owned(), 4));
    assert_eq!(stage.order("C-0001").await?["refunded_amount"], "80.00");
    second.server.shutdown().await;
    stage.finish().await
}
