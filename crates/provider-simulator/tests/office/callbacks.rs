use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use provider_simulator::Provider;
use provider_simulator::books::Books;
use provider_simulator::demo_keys::standard::API_KEY;
use provider_simulator::journal::{Journal, Unkept};
use provider_simulator::scenario::{Action, RefundAsked};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::{Asked, id, scenario};

/// A receiver of callbacks that acknowledges each, and passes on what it was sent.
async fn receiver() -> (provider_simulator::target::Target, mpsc::UnboundedReceiver<Value>) {
    let (received, bodies) = mpsc::unbounded_channel();
    let callback = move |body: String| {
        let received = received.clone();
        async move {
            received.send(serde_json::from_str(&body).unwrap()).unwrap();
            StatusCode::NO_CONTENT
        }
    };
    let router = Router::new().route("/v1/callbacks/standard", post(callback));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (target, bodies)
}

#[tokio::test]
async fn what_happens_is_told_and_told_again_when_it_has_happened_before() {
    let (server, mut bodies) = receiver().await;
    let office = Asked::with((Journal::forgetful(), Books::default()), Some(server)).await;
    for _ in 0..2 {
        let told = office.happen(Provider::Standard, Action::Pay).await;
        assert_eq!((&told["acknowledged"], &told["deliveries"][0]["status"]), (&json!(true), &json!(204)));
        assert_eq!(bodies.recv().await.unwrap()["data"]["payment_id"], id(Provider::Standard));
    }
}

#[tokio::test]
async fn a_refund_that_a_merchant_asks_for_is_called_back() {
    let (server, mut bodies) = receiver().await;
    let mut office = Asked::with((Journal::forgetful(), Books::default()), Some(server)).await;
    office.happen(Provider::Standard, Action::Pay).await;
    bodies.recv().await.unwrap();
    let body = json!({ "payment_id": id(Provider::Standard), "reference": "R-1", "amount": "10.00" });
    for status in [201, 200] {
        let answer = office.post("/standard/refunds").bearer_auth(API_KEY).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), status);
    }
    assert_eq!(bodies.recv().await.unwrap()["data"]["refund_amount"], "10.00");
    let told: Vec<String> = [office.lines.recv().await, office.lines.recv().await]
        .map(|line| line.unwrap().what)
        .into_iter()
        .collect();
    assert_eq!(told, ["payment succeeded", "refund"]);
    assert!(bodies.try_recv().is_err(), "a refund that was there is not called back");
}

#[tokio::test]
async fn a_silent_scenario_is_in_the_books_alone() {
    let (server, mut bodies) = receiver().await;
    let office = Asked::with((Journal::forgetful(), Books::default()), Some(server)).await;
    let asked = json!({ "scenario": scenario(Provider::Standard, Action::Close), "silent": true });
    assert_eq!(office.post("/control/scenarios").json(&asked).send().await.unwrap().status(), 200);
    let payment: Value = office
        .get(&format!("/standard/payments/{}", id(Provider::Standard)))
        .bearer_auth(API_KEY)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(payment["status"], "closed");
    assert!(bodies.try_recv().is_err());
}

#[tokio::test]
async fn what_cannot_happen_is_refused_with_its_reason() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    let ask = async |asked: Value| {
        let answer = office.post("/control/scenarios").json(&asked).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap()["error"].as_str().unwrap().to_owned())
    };
    let (status, error) = ask(json!({ "scenario": scenario(Provider::Standard, Action::Close) })).await;
    assert_eq!((status, error.as_str()), (422, "the payment is paid"));
    let mut named = serde_json::to_value(scenario(Provider::Standard, Action::Pay)).unwrap();
    named["payment_no"] = json!("a,b");
    assert_eq!(ask(json!({ "scenario": named })).await.0, 422);
}

#[tokio::test]
async fn an_office_that_is_started_again_remembers_and_its_statement_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("books.jsonl");
    let office = Asked::with(Journal::open(&path).unwrap(), None).await;
    office.happen(Provider::Standard, Action::Pay).await;
    let refund = RefundAsked {
        refund_no: "R-1".to_owned(),
        amount: Some("10.00".parse().unwrap()),
        refunded_before: "0".parse().unwrap(),
        outcome: provider_simulator::event::Outcome::Done,
    };
    office.happen(Provider::Standard, Action::Refund(refund)).await;
    let statement = async |office: &Asked| {
        let answer = office.get("/control/statement?provider=standard").send().await.unwrap();
        answer.text().await.unwrap()
    };
    let before = statement(&office).await;
    assert!(matches!(Journal::open(&path), Err(Unkept::Taken { .. })), "the books are somebody's");
    office.close().await;
    let again = Asked::with(Journal::open(&path).unwrap(), None).await;
    assert_eq!(statement(&again).await, before);
    let kinds: Vec<&str> = before.lines().skip(1).map(|line| line.split(',').nth(4).unwrap()).collect();
    assert_eq!(kinds, ["payment", "refund"]);
}

#[tokio::test]
async fn what_a_provider_does_not_tell_of_is_in_the_books_and_can_be_asked_for() {
    let (server, _bodies) = receiver().await;
    let office = Asked::with((Journal::forgetful(), Books::default()), Some(server)).await;
    let told = office.happen(Provider::Alipay, Action::Fail).await;
    assert_eq!((&told["deliveries"], &told["acknowledged"]), (&json!([]), &json!(true)));
    assert!(told["silent_because"].as_str().is_some_and(|why| why.contains("sends no callback")), "{told}");
    let closed = office.happen(Provider::Alipay, Action::Close).await;
    // The receiver has no such path, and the office knows no better than to try again.
    assert_eq!((&closed["silent_because"], &closed["acknowledged"]), (&Value::Null, &json!(false)));
}

#[tokio::test]
async fn a_sum_that_the_provider_cannot_say_does_not_come_into_the_books() {
    let office = Asked::new().await;
    let mut named = serde_json::to_value(scenario(Provider::Alipay, Action::Pay)).unwrap();
    named["currency"] = json!("USD");
    let answer = office.post("/control/scenarios").json(&json!({ "scenario": named })).send().await.unwrap();
    assert_eq!(answer.status(), 422);
    let statement =
        office.get("/control/statement?provider=alipay").send().await.unwrap().text().await.unwrap();
    assert_eq!(statement.lines().count(), 1, "{statement}");
}
