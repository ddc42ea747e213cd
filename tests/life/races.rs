//! Many at once, on two servers, and who wins: one, and whoever loses is told the state that it lost to.

use std::sync::Arc;
use std::time::Duration;

use desk::{Hooks, Settings};
use futures::future::join_all;
use onefold_tests::http::{Caller, Exchange, TestServer};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::books::{Books, created, refused, text};

/// A second server on the books, with the same clock: to the first it is another process.
async fn second(books: &Books) -> anyhow::Result<TestServer> {
    TestServer::start_with(books.server.database.clone(), |settings| {
        settings.clock = Arc::new(books.clock.clone());
        settings.desk = Settings::default();
        settings.hooks = Hooks::default();
    })
    .await
}

/// Sends all of these at one moment, every other one to the second server.
async fn at_once(
    books: &Books,
    second: &TestServer,
    requests: Vec<(String, Value)>,
) -> anyhow::Result<Vec<Exchange>> {
    let there = books.caller.at(&second.url());
    let barrier = Barrier::new(requests.len());
    let sent = requests.into_iter().enumerate().map(|(number, (path, body))| {
        let caller: &Caller = if number % 2 == 0 { &books.caller } else { &there };
        let (key, barrier) = (books.key(), &barrier);
        async move {
            barrier.wait().await;
            caller.post(&path, &key, &body).await
        }
    });
    join_all(sent).await.into_iter().collect()
}

/// How many were answered with this status.
fn count(answers: &[Exchange], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// Whoever has not won was refused for this reason, and told the state that it lost to.
fn losers_are_told(answers: &[Exchange], slug: &str, state: &str) {
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(refused(answer, 409, slug)["state"], state);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_captures_that_do_not_fit_together_one_succeeds() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    for round in 0..10 {
        let hold = text(&created(&books.hold(&account, "100.00").await?), "id");
        let capture = |number: u32| {
            let reference = format!("{round}-{number}");
            let body = json!({ "amount": "60.00", "final": false, "reference": reference });
            (format!("/v1/holds/{hold}/capture"), body)
        };
        let answers = at_once(&books, &second, vec![capture(1), capture(2)]).await?;
        assert_eq!((count(&answers, 200), count(&answers, 422)), (1, 1));
        let hold = books.read(&format!("/v1/holds/{hold}")).await?;
        assert_eq!(hold["captured_amount"], "60.00");
    }
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_ends_once_whether_by_capture_or_by_release() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    let mut captured = 0;
    for _ in 0..10 {
        let hold = text(&created(&books.hold(&account, "10.00").await?), "id");
        let acts = ["capture", "release", "release", "capture"];
        let requests = acts.map(|act| (format!("/v1/holds/{hold}/{act}"), json!({}))).to_vec();
        let answers = at_once(&books, &second, requests).await?;
        assert_eq!(count(&answers, 200), 1);
        let ended = text(&books.read(&format!("/v1/holds/{hold}")).await?, "status");
        losers_are_told(&answers, "hold-not-active", &ended);
        captured += u32::from(ended == "captured");
    }
    let left = 1000 - 10 * captured;
    assert_eq!(books.figures(&account).await?, (format!("{left}.00"), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_captured_or_cancelled_and_never_both() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    for _ in 0..10 {
        let order = books.authorized(&account, "10.00").await?;
        let acts = ["capture", "cancel", "cancel", "capture"];
        let requests = acts.map(|act| (format!("/v1/orders/{order}/{act}"), json!({}))).to_vec();
        let answers = at_once(&books, &second, requests).await?;
        assert_eq!(count(&answers, 200), 1);
        let state = text(&books.read(&format!("/v1/orders/{order}")).await?, "status");
        losers_are_told(&answers, "order-state-conflict", &state);
    }
    assert_eq!(books.figures(&account).await?.1, "0.00");
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn expiry_and_capture_at_the_boundary_have_one_winner() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    let mut captured = 0;
    for _ in 0..10 {
        let hold = text(&created(&books.hold_for(&account, "10.00", Some(60)).await?), "id");
        books.clock.advance(Duration::from_micros(59_999_999));
        let capture = (format!("/v1/holds/{hold}/capture"), json!({}));
        let (answers, ()) = tokio::join!(at_once(&books, &second, vec![capture; 2]), async {
            books.clock.advance(Duration::from_micros(1));
        });
        let answers = answers?;
        let path = format!("/v1/holds/{hold}");
        let ended = text(&books.read_until(&path, |hold| hold["status"] != "active").await?, "status");
        assert_eq!(count(&answers, 200), usize::from(ended == "captured"));
        losers_are_told(&answers, "hold-not-active", &ended);
        captured += u32::from(ended == "captured");
    }
    let left = 1000 - 10 * captured;
    assert_eq!(books.figures(&account).await?, (format!("{left}.00"), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn at_its_boundary_an_order_is_captured_cancelled_or_expired_and_its_stock_follows()
-> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    created(&books.put_sku("SEAT", "10.00", 100).await?);
    let mut captured = 0;
    for _ in 0..10 {
        let payment = json!({ "method": "hold", "expires_in_seconds": 60 });
        let items = json!([{ "sku": "SEAT", "quantity": 1 }]);
        let order = text(&created(&books.order(&account, "10.00", items, payment).await?), "id");
        books.clock.advance(Duration::from_micros(59_999_999));
        let acts = ["capture", "cancel", "capture", "cancel"];
        let requests = acts.map(|act| (format!("/v1/orders/{order}/{act}"), json!({}))).to_vec();
        let (answers, ()) = tokio::join!(at_once(&books, &second, requests), async {
            books.clock.advance(Duration::from_micros(1));
        });
        let answers = answers?;
        let path = format!("/v1/orders/{order}");
        let ended = text(&books.read_until(&path, |order| order["status"] != "authorized").await?, "status");
        assert_eq!(count(&answers, 200), usize::from(ended != "expired"));
        losers_are_told(&answers, "order-state-conflict", &ended);
        captured += u64::from(ended == "paid");
        assert_eq!(books.stock("SEAT").await?, (100 - captured, 0, captured));
    }
    let left = 1000 - 10 * captured;
    assert_eq!(books.figures(&account).await?, (format!("{left}.00"), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_under_one_reference_one_moves_money_and_the_others_name_it() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    for round in 0..5 {
        let (one, other) = (books.paid(&account, "50.00").await?, books.paid(&account, "50.00").await?);
        // A reference of a refund is its client's: another order's refund cannot have it.
        let refund = |order: &str| {
            let body = json!({ "amount": "10.00", "reference": format!("r-{round}") });
            (format!("/v1/orders/{order}/refunds"), body)
        };
        let requests = vec![refund(&one), refund(&other), refund(&one), refund(&other)];
        let hold = text(&created(&books.hold(&account, "50.00").await?), "id");
        let capture = || {
            let body = json!({ "amount": "10.00", "final": false, "reference": "c" });
            (format!("/v1/holds/{hold}/capture"), body)
        };
        for (requests, status) in [(requests, 201), (vec![capture(), capture(), capture(), capture()], 200)] {
            let answers = at_once(&books, &second, requests).await?;
            assert_eq!((count(&answers, status), count(&answers, 409)), (1, 3));
            let winner = answers.iter().find(|answer| answer.status == status).expect("one has won").json();
            for loser in answers.iter().filter(|answer| answer.status == 409) {
                let existing = text(&refused(loser, 409, "duplicate-reference"), "existing_id");
                assert!(status == 200 || existing == text(&winner, "id"), "{existing} is not {winner}");
            }
        }
    }
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_refunds_of_sixty_on_a_hundred_one_succeeds() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("1000.00").await?;
    for _ in 0..10 {
        let order = books.paid(&account, "100.00").await?;
        let refund = || {
            let body = json!({ "amount": "60.00", "reference": books.key() });
            (format!("/v1/orders/{order}/refunds"), body)
        };
        let answers = at_once(&books, &second, vec![refund(), refund()]).await?;
        assert_eq!(count(&answers, 201), 1);
        let loser = answers.iter().find(|answer| answer.status != 201).expect("one has lost");
        assert_eq!(refused(loser, 422, "refund-exceeds-paid")["refundable"], "40.00");
        let order = books.read(&format!("/v1/orders/{order}")).await?;
        assert_eq!(order["refunded_amount"], "60.00");
        created(&books.refund(&text(&order, "id"), "40.00").await?);
    }
    assert_eq!(books.figures(&account).await?, ("1000.00".into(), "0.00".into()));
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_buyers_of_the_last_piece_one_gets_it() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    created(&books.put_sku("LAST", "10.00", 1).await?);
    let buyers = join_all((0..10).map(|_| books.account("100.00"))).await;
    let buyers: Vec<String> = buyers.into_iter().collect::<Result<_, _>>()?;
    let requests = (0..100).map(|number| {
        let method = if number % 3 == 0 { "balance" } else { "hold" };
        let body = json!({
            "account_id": buyers[number % buyers.len()], "client_order_no": books.key(), "currency": "CNY",
            "amount": "10.00", "items": [{ "sku": "LAST", "quantity": 1 }], "payment": { "method": method },
        });
        ("/v1/orders".to_owned(), body)
    });
    let answers = at_once(&books, &second, requests.collect()).await?;
    assert_eq!((count(&answers, 201), count(&answers, 409)), (1, 99));
    for answer in answers.iter().filter(|answer| answer.status == 409) {
        assert_eq!(refused(answer, 409, "out-of-stock")["sku"], "LAST");
    }
    assert_eq!(books.stock("LAST").await?.0, 0);
    books.audit().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_at_once_never_freeze_more_than_there_is() -> anyhow::Result<()> {
    let books = Books::open().await?;
    let second = second(&books).await?;
    let account = books.account("5000.00").await?;
    let requests = (0..12).map(|_| {
        let body = json!({ "amount": "1000.00", "currency": "CNY", "reference": books.key() });
        (format!("/v1/accounts/{account}/holds"), body)
    });
    let answers = at_once(&books, &second, requests.collect()).await?;
    assert_eq!((count(&answers, 201), count(&answers, 402)), (5, 7));
    books.audit().await;
    Ok(())
}
