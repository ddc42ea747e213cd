//! Differences that become alerts, once.

use provider_simulator::Provider;
use serde_json::Value;

use crate::books::{Books, PLAIN, number};

fn kinds(alerts: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = alerts.iter().map(|alert| alert["kind"].as_str().expect("a word")).collect();
    kinds.sort_unstable();
    kinds
}

/// Books and a statement with a difference of each kind that raises an alert.
async fn different() -> (Books, String) {
    let books = Books::start().await.expect("books");
    for (id, currency) in
        [("same", "CNY"), ("amount", "CNY"), ("currency", "USD"), ("number", "CNY"), ("here", "CNY")]
    {
        books.paid(Provider::Standard, id, &number(id), "88.80", currency).await;
    }
    let at = books.time(0);
    let statement = format!(
        "{PLAIN}\n\
         same,P-same,88.80,CNY,payment,{at}\n\
         amount,P-amount,88.81,CNY,payment,{at}\n\
         currency,P-currency,88.80,CNY,payment,{at}\n\
         number,P-other,88.80,CNY,payment,{at}\n\
         there,P-there,88.80,CNY,payment,{at}\n\
         same,P-same,88.80,CNY,payment,{at}\n\
         same,P-same,88.80,CNY,payment,{at}\n"
    );
    (books, statement)
}

const EACH_KIND: [&str; 6] = [
    "amount_differs",
    "currency_differs",
    "duplicate_line",
    "missing_here",
    "missing_there",
    "payment_no_differs",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_difference_raises_one_alert_however_often_it_is_found() {
    let (books, statement) = different().await;
    let first = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert_eq!(first.code, 1, "{first:?}");
    // Of the second repetition of a line, the first has told already.
    assert!(first.stderr.contains("Raised 6 alerts; 1 were raised before."), "{first:?}");
    let alerts = books.alerts().await.expect("alerts");
    assert_eq!(kinds(&alerts), EACH_KIND);
    let amount = alerts.iter().find(|alert| alert["kind"] == "amount_differs").expect("one");
    assert_eq!(amount["expected"]["amount"], "88.80");
    assert_eq!(amount["received"]["amount"], "88.81");
    assert_eq!((&amount["payment_no"], &amount["status"]), (&"P-amount".into(), &"open".into()));
    assert!(amount["detail"].as_str().is_some_and(|detail| detail.contains("line 3")), "{amount}");

    let second = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("Raised 0 alerts; 7 were raised before."), "{second:?}");
    assert_eq!(books.alerts().await.expect("alerts"), alerts);

    // A person can end them, and no money follows; what was ended is not raised again.
    assert_eq!(books.resolve(amount, "accept").await.expect("an answer"), 409);
    assert_eq!(books.resolve(amount, "refund").await.expect("an answer"), 409);
    for alert in &alerts {
        assert_eq!(books.resolve(alert, "dismiss").await.expect("an answer"), 200, "{alert}");
    }
    let third = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert!(third.stderr.contains("Raised 0 alerts"), "{third:?}");
    // Another amount is another difference.
    let statement = statement.replace("88.81", "88.82");
    let fourth = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert!(fourth.stderr.contains("Raised 1 alerts"), "{fourth:?}");
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_raise_each_alert_once() {
    let (books, statement) = different().await;
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), &statement).expect("a statement");
    let arguments = ["--provider", "standard", "--raise-alerts", path.path().to_str().expect("a path")];
    let (one, other) = tokio::join!(books.run(&arguments, None), books.run(&arguments, None));
    assert_eq!((one.code, other.code), (1, 1), "{one:?} {other:?}");
    assert_eq!(kinds(&books.alerts().await.expect("alerts")), EACH_KIND);
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_raised_unless_asked_for_and_no_loss_where_it_may_stand_in_an_unreadable_line() {
    let (books, statement) = different().await;
    assert_eq!(books.reconcile(Provider::Standard, statement.as_bytes(), &[]).await.code, 1);
    assert_eq!(books.alerts().await.expect("alerts"), [Value::Null; 0]);

    let smudged = format!("{statement}he\u{fffd}re,P-here,88.80,CNY,payment,{}\n", books.time(0));
    let ended = books.reconcile(Provider::Standard, smudged.as_bytes(), &["--raise-alerts"]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.contains("missing_there"), "{ended:?}");
    assert!(ended.stderr.contains("None was raised for 1 that are missing there"), "{ended:?}");
    let alerts = books.alerts().await.expect("alerts");
    let kinds = kinds(&alerts);
    assert!(!kinds.contains(&"missing_there") && kinds.contains(&"unreadable_line"), "{alerts:?}");
    assert_eq!(alerts.len(), 6, "{alerts:?}");
    books.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_that_cannot_be_read_raises_one_alert_and_is_logged_once() {
    let books = Books::start().await.expect("books");
    books.paid(Provider::Standard, "p1", &number("p1"), "88.80", "CNY").await;
    let at = books.time(0);
    let statement = format!("{PLAIN}\np1,P-p1,\"88,80\",CNY,payment,{at}\n,P-p2,1.00,CNY,payment,{at}\n");
    let first = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert_eq!(first.code, 1, "{first:?}");
    let alerts = books.alerts().await.expect("alerts");
    assert_eq!(kinds(&alerts), ["unreadable_line", "unreadable_line"]);
    let smudged = alerts.iter().find(|alert| alert["provider_payment_id"] == "p1").expect("one");
    assert_eq!(smudged["payment_no"], "P-p1");
    assert!(smudged["detail"].as_str().is_some_and(|detail| detail.contains("line 2")), "{smudged}");
    let warned = |ended: &crate::books::Ended| ended.stderr.matches("a payment needs a decision").count();
    assert_eq!(warned(&first), 2, "{first:?}");
    let second = books.reconcile(Provider::Standard, statement.as_bytes(), &["--raise-alerts"]).await;
    assert!(second.stderr.contains("Raised 0 alerts; 2 were raised before."), "{second:?}");
    assert_eq!(warned(&second), 0, "{second:?}");
    assert_eq!(books.resolve(smudged, "refund").await.expect("an answer"), 409);
    assert_eq!(books.resolve(smudged, "dismiss").await.expect("an answer"), 200);
    books.finish().await;
}
