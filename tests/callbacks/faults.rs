//! A database that goes away, commits whose answer is lost, records that are forgotten.

use std::time::Duration;

use desk::{Hooks, Settings, Step};
use onefold_tests::cutting_proxy::{Cut, CuttingProxy};
use onefold_tests::database::new_database;
use onefold_tests::raw_http;
use provider_simulator::Provider;
use tokio::time::sleep;

use crate::stage::{Stage, audited, booked, of, paid, refunded, verdicts};

const STRIPE: Provider = Provider::Stripe;

#[tokio::test]
async fn a_duplicate_that_comes_after_its_record_was_forgotten_still_does_nothing() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    // Of a provider whose signatures do not grow old.
    let provider = Provider::Alipay;
    stage.place(provider, "A-0001").await?;
    let event = paid("notify-1", "A-0001", "trade-1");
    stage.acknowledged(provider, &event).await?;
    let back = of(&event, "notify-2", refunded("1", "10.00", "10.00"));
    stage.acknowledged(provider, &back).await?;
    stage.clock.advance(Duration::from_secs(73 * 60 * 60));
    desk::housekeeping::once(stage.server.server().database(), &stage.clock).await?;
    assert_eq!(stage.count("idempotency_records").await?, 0);
    for _ in 0..2 {
        stage.acknowledged(provider, &event).await?;
        stage.acknowledged(provider, &back).await?;
    }
    let payment = stage.payment("A-0001").await?;
    assert_eq!(booked(&payment), ["payment_settled", "payment_refunded"]);
    assert_eq!(verdicts(&payment), ["settled", "refunded"]);
    assert_eq!(stage.alerts("").await?.len(), 0);
    stage.finish_without_records().await
}

/// Known failures 36 and 37: the mark "seen" and the effect are one transaction, and nothing is acknowledged before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn known_failures_36_and_37_with_the_database_away_nothing_is_acknowledged_and_a_retry_settles()
-> anyhow::Result<()> {
    // The commit did not come to the database, or it did and its answer was lost: the provider cannot tell.
    for cut in [Cut::BeforeTheServer, Cut::BeforeTheAnswer] {
        let database = new_database().await?;
        let proxy = CuttingProxy::before(&database)?;
        let hasty = Duration::from_millis(200);
        let settings = Settings { reconnect_wait: hasty, unknown_wait: hasty, ..Settings::default() };
        let stage = Stage::start_on(proxy.options(&database), settings, Hooks::default()).await?;
        stage.place(STRIPE, "D-0001").await?;
        proxy.cut_at_next_commit(cut, true);
        let event = paid("evt_1", "D-0001", "pi_1");
        for attempt in 0..2 {
            let told = stage.deliver(STRIPE, &event).await?;
            assert!(told.status >= 500, "{cut:?}, attempt {attempt}: {}", told.status);
            assert!(told.header("retry-after").is_some());
        }
        proxy.come_back();
        while stage.deliver(STRIPE, &event).await?.status != 200 {
            sleep(Duration::from_millis(20)).await;
        }
        stage.acknowledged(STRIPE, &event).await?;
        let payment = stage.payment("D-0001").await?;
        assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled"]));
        stage.server.shutdown().await;
        audited(&database).await?;
    }
    Ok(())
}

/// WeChat Pay hangs up after 5 s, and whoever hears nothing learns nothing; so a slow database is told in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_is_answered_within_five_seconds_however_slow_the_database_is() -> anyhow::Result<()> {
    let (slow, is_slow) = tokio::sync::watch::channel(false);
    let hooks = Hooks::pausing(move |step| {
        let mut is_slow = is_slow.clone();
        async move {
            if step == Step::Saved {
                is_slow.wait_for(|is_slow| !is_slow).await.ok();
            }
        }
    });
    let stage = Stage::start_on(new_database().await?, Settings::default(), hooks).await?;
    let provider = Provider::WechatPay;
    stage.place(provider, "W-0001").await?;
    slow.send(true)?;
    let event = paid("id-1", "W-0001", "4200000001");
    let told = tokio::time::timeout(Duration::from_secs(5), stage.deliver(provider, &event)).await??;
    assert!(told.status >= 500, "{}", told.status);
    slow.send(false)?;
    stage.acknowledged(provider, &event).await?;
    let payment = stage.payment("W-0001").await?;
    assert_eq!((booked(&payment), verdicts(&payment)), (vec!["payment_settled"], vec!["settled"]));
    stage.finish().await
}

/// Known failure 37, the opposite: what is wrong for ever is acknowledged, or it would be sent for days.
#[tokio::test]
async fn what_can_never_be_settled_is_acknowledged_all_the_same() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    stage.acknowledged(STRIPE, &paid("evt_1", "nobody-knows-this", "pi_1")).await?;
    stage.acknowledged(STRIPE, &paid("evt_2", "no number of ours?", "pi_2")).await?;
    stage.finish().await
}

/// A callback is no JSON of ours, so a body that breaks off is not said to be a malformed one.
#[tokio::test]
async fn a_callback_whose_chunks_cannot_be_read_is_a_malformed_request() -> anyhow::Result<()> {
    let stage = Stage::start().await?;
    for chunks in ["5\r\nhello\r\nzz\r\n", "5\r\nhello and more\r\n0\r\n\r\n"] {
        let request = format!(
            "POST /v1/callbacks/stripe HTTP/1.1\r\nhost: test\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
        );
        let refused = raw_http::exchange(&stage.server.url(), request.as_bytes()).await?;
        assert_eq!(
            (refused.status, refused.slug().as_deref()),
            (400, Some("malformed-request")),
            "{chunks:?}"
        );
    }
    stage.finish().await
}
