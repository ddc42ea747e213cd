//! Payments whose callback does not come: their providers are asked.

use std::time::Duration;

use desk::{Hooks, Step};
use futures::future::join_all;
use onefold_tests::database::new_database;
use onefold_tests::office::{Office, Parrot};
use provider_simulator::Provider;
use provider_simulator::event::What;
use provider_simulator::provider::PROVIDERS;
use provider_simulator::scenario::Action;
use provider_simulator::trouble::Kind;
use serde_json::json;

use crate::stage::{AMOUNT, Stage, booked, of, paid, state_of, verdicts};

const STRIPE: Provider = Provider::Stripe;
const A_MINUTE: Duration = Duration::from_secs(60);
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_whose_callback_does_not_come_is_settled_by_asking_its_provider() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for provider in PROVIDERS {
        let number = format!("Q-{provider}");
        stage.place(provider, &number).await?;
        office.happen(provider, &number, AMOUNT, Action::Pay).await?;
    }
    assert_eq!(stage.poll().await?, 0, "a callback is given a minute");
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.poll().await?, PROVIDERS.len());
    for provider in PROVIDERS {
        let number = format!("Q-{provider}");
        assert_eq!(stage.order(&number).await?["status"], "paid");
        let payment = stage.payment(&number).await?;
        assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled"]));
    }
    stage.clock.advance(HALF_AN_HOUR);
    assert_eq!(stage.poll().await?, 0, "what is settled is not asked about");
    stage.finish().await
}

#[tokio::test]
async fn a_payment_that_nobody_has_paid_yet_is_asked_about_ever_more_seldom_and_leaves_no_record()
-> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    stage.place(STRIPE, "N-0001").await?;
    let records = stage.count("idempotency_records").await?;
    let mut asked = Vec::new();
    for second in (0..1_785).step_by(15) {
        if stage.poll().await? == 1 {
            asked.push(second);
        }
        stage.clock.advance(Duration::from_secs(15));
    }
    // The first pauses are as long as the payment is old; chance prolongs each by a quarter at most, and the clock goes
    // in steps of 15 s.
    assert_eq!(asked[0], 60);
    for (asked_at, next) in asked.iter().zip(&asked[1..3]) {
        assert!((asked_at * 2..=asked_at * 9 / 4 + 15).contains(next), "{asked:?}");
    }
    assert!((6..=9).contains(&asked.len()), "{asked:?}");
    assert_eq!(stage.count("idempotency_records").await?, records);
    assert_eq!(stage.count("callback_deliveries").await?, 0);

    office.happen(STRIPE, "N-0001", AMOUNT, Action::Pay).await?;
    assert_eq!(stage.poll().await?, 1, "the last call, 15 s before its time is over");
    assert_eq!(stage.order("N-0001").await?["status"], "paid");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_and_a_callback_at_once_settle_once() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    let rounds = if onefold_tests::long() { 200 } else { 40 };
    for round in 0..rounds {
        let number = format!("R-{round:04}");
        stage.place(STRIPE, &number).await?;
        let money = office.happen(STRIPE, &number, AMOUNT, Action::Pay).await?;
        let event = paid(&format!("evt_{round}"), &number, &money.provider_payment_id);
        stage.clock.advance(A_MINUTE);
        let (asked, told) = match round % 4 {
            0 => {
                let asked = stage.poll().await;
                (asked, stage.acknowledged(STRIPE, &event).await)
            }
            1 => {
                let told = stage.acknowledged(STRIPE, &event).await;
                (stage.poll().await, told)
            }
            _ => tokio::join!(stage.poll(), stage.acknowledged(STRIPE, &event)),
        };
        asked?;
        told?;
        let payment = stage.payment(&number).await?;
        assert_eq!(payment["status"], "settled");
        assert_eq!(booked(&payment), ["payment_settled"], "round {round}");
        assert_eq!(payment["receipts"].as_array().map(Vec::len), Some(1));
        assert_eq!(verdicts(&payment)[0], "settled");
        assert!(verdicts(&payment)[1..].iter().all(|verdict| *verdict == "none"), "{payment}");
    }
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_a_provider_fails_to_answer_the_next_turn_settles() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for kind in [Kind::Timeout, Kind::Lost, Kind::Error, Kind::Slow] {
        let number = format!("F-{kind:?}");
        stage.place(STRIPE, &number).await?;
        office.happen(STRIPE, &number, AMOUNT, Action::Pay).await?;
        office.trouble(&number, kind, 1);
    }
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.poll().await?, 4);
    assert_eq!(stage.count("payment_receipts").await?, 0);
    assert_eq!(stage.poll().await?, 0, "each waits for its next turn");
    stage.clock.advance(2 * A_MINUTE);
    assert_eq!(stage.poll().await?, 4);
    for kind in [Kind::Timeout, Kind::Lost, Kind::Error, Kind::Slow] {
        let payment = stage.payment(&format!("F-{kind:?}")).await?;
        assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled"]));
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_down_is_left_alone_for_a_while_and_no_payment_loses_its_turn()
-> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for index in 0..12 {
        let number = format!("D-{index:04}");
        stage.place(STRIPE, &number).await?;
        office.happen(STRIPE, &number, AMOUNT, Action::Pay).await?;
        office.trouble(&number, Kind::Error, 1);
    }
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.poll().await?, 8, "no more than that are asked at once");
    assert_eq!(stage.poll().await?, 0, "five failures in a row are enough");
    stage.clock.advance(Duration::from_secs(5));
    assert_eq!(stage.poll().await?, 1, "one request tries, and fails");
    assert_eq!(stage.poll().await?, 0);
    stage.clock.advance(Duration::from_secs(5));
    assert_eq!(stage.poll().await?, 0, "it is left alone for longer than before");
    let metrics = String::from_utf8(stage.server.anonymous().get("/metrics").await?.bytes)?;
    let counted =
        r#"onefold_provider_requests_total{provider="stripe",request="query",outcome="unavailable"} 9"#;
    assert!(metrics.contains(counted), "{metrics}");

    // Those that were never asked about fail once, too, and have their turns again.
    for _ in 0..20 {
        stage.clock.advance(A_MINUTE);
        stage.poll().await?;
    }
    for index in 0..12 {
        assert_eq!(stage.order(&format!("D-{index:04}")).await?["status"], "paid");
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_has_signed_and_what_nobody_can_read_changes_nothing() -> anyhow::Result<()> {
    let database = new_database().await?;
    let number = |provider: Provider| format!("U-{provider}");
    let lies = [
        ("200 OK", "<html>welcome to the hotel's network</html>".to_owned()),
        ("302 Found", String::new()),
        ("404 Not Found", "{}".to_owned()),
        ("200 OK", json!({ "trade_state": "SUCCESS", "out_trade_no": "U-wechatpay", "transaction_id": "1" }).to_string()),
        (
            "200 OK",
            json!({
                "alipay_trade_query_response": {
                    "code": "10000", "trade_no": "1", "out_trade_no": "U-alipay", "trade_status": "TRADE_SUCCESS",
                    "total_amount": AMOUNT,
                },
                "sign": "bGllcw==",
            })
            .to_string(),
        ),
    ];
    let mut placed = false;
    for (status, body) in lies {
        let liar = Parrot::saying(status, &body).await?;
        let stage = Stage::start_asking_on(database.clone(), &liar.url).await?;
        if !placed {
            for provider in PROVIDERS {
                stage.place(provider, &number(provider)).await?;
            }
            placed = true;
        }
        stage.clock.advance(10 * A_MINUTE);
        assert_eq!(stage.poll().await?, PROVIDERS.len(), "{body}");
        for table in ["payment_receipts", "callback_deliveries", "payment_alerts"] {
            assert_eq!(stage.count(table).await?, 0, "{table}: {body}");
        }
        for provider in PROVIDERS {
            assert_eq!(stage.payment(&number(provider)).await?["status"], "pending", "{body}");
        }
        stage.server.shutdown().await;
        // The clock of the next server begins anew.
        let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect_with(&database).await?;
        sqlx::query("UPDATE payments SET next_poll_at = '-infinity'").execute(&mut connection).await?;
    }
    let office = Office::open().await?;
    let stage = Stage::start_asking_on(database, &office.url).await?;
    for provider in PROVIDERS {
        office.happen(provider, &number(provider), AMOUNT, Action::Pay).await?;
    }
    stage.clock.advance(2 * A_MINUTE);
    assert_eq!(stage.poll().await?, PROVIDERS.len());
    for provider in PROVIDERS {
        assert_eq!(stage.payment(&number(provider)).await?["status"], "settled", "nothing was lost");
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_servers_one_asks_about_a_payment_at_each_of_its_turns() -> anyhow::Result<()> {
    let provider = Parrot::saying("200 OK", r#"{"data":[]}"#).await?;
    let stage = Stage::start_asking(&provider.url).await?;
    let others = [
        Stage::start_asking_on(stage.server.database.clone(), &provider.url).await?,
        Stage::start_asking_on(stage.server.database.clone(), &provider.url).await?,
    ];
    for index in 0..30 {
        stage.place(Provider::Standard, &format!("S-{index:04}")).await?;
    }
    for (turn, minutes) in [(1, 4), (2, 6), (3, 7)] {
        for clock in [&stage.clock, &others[0].clock, &others[1].clock] {
            clock.advance(minutes * A_MINUTE);
        }
        loop {
            let servers = [&stage, &others[0], &others[1]];
            let rounds = join_all(servers.iter().map(|server| server.poll())).await;
            if rounds.into_iter().sum::<anyhow::Result<usize>>()? == 0 {
                break;
            }
        }
        let heard = provider.heard();
        for index in 0..30 {
            let times = heard.iter().filter(|line| line.contains(&format!("order_id=S-{index:04} "))).count();
            assert_eq!(times, turn, "S-{index:04}: {heard:?}");
        }
    }
    for other in others {
        other.server.shutdown().await;
    }
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_that_a_provider_could_not_tell_of_in_time_is_found_late_and_not_lost() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for number in ["L-0001", "L-0002"] {
        stage.place(STRIPE, number).await?;
    }
    office.happen(STRIPE, "L-0001", AMOUNT, Action::Pay).await?;
    office.trouble("L-0001", Kind::Error, 2);
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.poll().await?, 2);
    let last_call = Duration::from_secs(15);
    stage.clock.advance(HALF_AN_HOUR - A_MINUTE - last_call);
    assert_eq!(stage.poll().await?, 2, "the last call");
    stage.clock.advance(last_call);
    stage.sweep().await?;
    assert_eq!(stage.order("L-0001").await?["status"], "expired");
    assert_eq!(stage.poll().await?, 2, "once more at its end");
    let payment = stage.payment("L-0001").await?;
    assert_eq!(payment["receipts"][0]["state"], "late", "{payment}");
    assert_eq!(stage.alerts("kind=late&status=open").await?.len(), 1);

    // A buyer who pays long after: the pauses double for a day.
    office.happen(STRIPE, "L-0002", AMOUNT, Action::Pay).await?;
    stage.clock.advance(Duration::from_secs(12 * 60 * 60));
    stage.poll().await?;
    assert_eq!(stage.payment("L-0002").await?["receipts"][0]["state"], "late");
    stage.clock.advance(Duration::from_secs(30 * 60 * 60));
    stage.poll().await?;
    stage.clock.advance(Duration::from_secs(90 * 60 * 60));
    assert_eq!(stage.poll().await?, 0, "and then nobody asks any more");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_answer_says_is_judged_as_a_callback_is() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    for (provider, number) in
        [(STRIPE, "J-0001"), (Provider::Alipay, "J-0002"), (Provider::WechatPay, "J-0003")]
    {
        stage.place(provider, number).await?;
    }
    let wrong = office.happen(STRIPE, "J-0001", "88.81", Action::Pay).await?;
    office.happen(Provider::Alipay, "J-0002", AMOUNT, Action::Close).await?;
    office.happen(Provider::WechatPay, "J-0003", AMOUNT, Action::Fail).await?;
    stage.clock.advance(A_MINUTE);
    assert_eq!(stage.poll().await?, 3);
    let mismatched = stage.payment("J-0001").await?;
    assert_eq!(state_of(&mismatched, &wrong.provider_payment_id), Some("mismatched"));
    assert_eq!(stage.count("quarantined_bodies").await?, 1, "a person may look at the answer");
    assert_eq!(stage.order("J-0002").await?["payment"]["status"], "closed");
    assert_eq!(stage.order("J-0003").await?["status"], "pending_payment");
    assert_eq!(verdicts(&stage.payment("J-0003").await?), ["failure_noted"]);

    // The same answers again are the same deliveries.
    let deliveries = stage.count("callback_deliveries").await?;
    stage.clock.advance(10 * A_MINUTE);
    assert_eq!(stage.poll().await?, 3);
    assert_eq!(stage.count("callback_deliveries").await?, deliveries);
    assert_eq!(stage.alerts("").await?.len(), 1);
    stage.finish().await
}

/// A turn changes nothing that a callback has read, so that the callback need not begin anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_taken_while_a_callback_is_decided_is_no_conflict() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let (hold, held) = tokio::sync::watch::channel(false);
    let (reach, mut reached) = tokio::sync::watch::channel(false);
    let hooks = Hooks::pausing(move |step| {
        let (mut held, reach) = (held.clone(), reach.clone());
        async move {
            if step == Step::Decided && *held.borrow() {
                reach.send_replace(true);
                held.wait_for(|held| !held).await.ok();
            }
        }
    });
    let stage = Stage::start_asking_with(new_database().await?, &office.url, hooks).await?;
    stage.place(STRIPE, "V-0001").await?;
    stage.clock.advance(A_MINUTE);
    hold.send(true)?;
    let event = paid("evt_1", "V-0001", "pi_1");
    let turn = async {
        reached.wait_for(|reached| *reached).await?;
        let asked = stage.poll().await?;
        hold.send(false)?;
        anyhow::Ok(asked)
    };
    let (told, asked) = tokio::join!(stage.acknowledged(STRIPE, &event), turn);
    told?;
    assert_eq!(asked?, 1);
    assert_eq!(stage.order("V-0001").await?["status"], "paid");
    let metrics = String::from_utf8(stage.server.anonymous().get("/metrics").await?.bytes)?;
    let mut conflicts = metrics.lines().filter(|line| line.starts_with("onefold_desk_conflicts_total{"));
    assert!(conflicts.all(|line| line.ends_with(" 0")), "{metrics}");
    stage.finish().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_is_being_asked_about_can_be_settled_meanwhile() -> anyhow::Result<()> {
    let office = Office::open().await?;
    let stage = Stage::start_asking(&office.url).await?;
    stage.place(STRIPE, "M-0001").await?;
    let money = office.happen(STRIPE, "M-0001", AMOUNT, Action::Pay).await?;
    office.trouble("M-0001", Kind::Timeout, 1);
    stage.clock.advance(A_MINUTE);
    let event = paid("evt_1", "M-0001", &money.provider_payment_id);
    let told = async {
        stage.acknowledged(STRIPE, &event).await?;
        stage.acknowledged(STRIPE, &of(&event, "evt_0", What::Failed)).await
    };
    let (asked, told) = tokio::join!(stage.poll(), told);
    told?;
    assert!(asked? <= 1);
    let payment = stage.payment("M-0001").await?;
    assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled", "none"]));
    stage.finish().await
}
