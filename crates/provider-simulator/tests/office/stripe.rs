use provider_simulator::Provider;
use provider_simulator::demo_keys::stripe::API_KEY;
use provider_simulator::scenario::Action;
use reqwest::RequestBuilder;
use serde_json::json;

use crate::{Asked, answered, id};

trait Authorised {
    fn authorised(self) -> Self;
}

impl Authorised for RequestBuilder {
    fn authorised(self) -> Self {
        self.bearer_auth(API_KEY)
    }
}

#[tokio::test]
async fn a_payment_is_found_by_its_id_and_by_the_number_in_its_metadata() {
    let office = Asked::new().await;
    office.happen(Provider::Stripe, Action::Pay).await;
    let path = format!("/v1/payment_intents/{}", id(Provider::Stripe));
    let (status, intent) = answered(office.get(&path).authorised()).await;
    assert_eq!(
        (status, &intent["status"], &intent["amount_received"]),
        (200, &json!("succeeded"), &json!(8880))
    );

    let search = office.get("/v1/payment_intents/search").authorised();
    let (_, found) = answered(search.query(&[("query", "metadata['order_id']:'P-1'")])).await;
    assert_eq!(found["data"], json!([intent]));
    let search = office.get("/v1/payment_intents/search").authorised();
    let (_, nothing) = answered(search.query(&[("query", "metadata[\"order_id\"]:\"P-2\"")])).await;
    assert_eq!(nothing["data"], json!([]));
}

#[tokio::test]
async fn an_attempt_that_failed_can_be_asked_for() {
    let office = Asked::new().await;
    office.happen(Provider::Stripe, Action::Fail).await;
    let path = format!("/v1/payment_intents/{}", id(Provider::Stripe));
    let (_, intent) = answered(office.get(&path).authorised()).await;
    assert_eq!(
        (&intent["status"], &intent["amount_received"]),
        (&json!("requires_payment_method"), &json!(0))
    );
}

#[tokio::test]
async fn a_refund_under_one_key_happens_once() {
    let office = Asked::new().await;
    office.happen(Provider::Stripe, Action::Pay).await;
    let refund = |key: &str, amount: &str| {
        let intent = id(Provider::Stripe);
        let form = [("payment_intent", intent.as_str()), ("amount", amount)];
        answered(office.post("/v1/refunds").authorised().header("Idempotency-Key", key).form(&form))
    };
    let (status, first) = refund("k-1", "1000").await;
    assert_eq!((status, &first["status"], &first["amount"]), (200, &json!("succeeded"), &json!(1000)));
    assert_eq!(refund("k-1", "1000").await, (200, first.clone()), "the same again");
    let (status, other) = refund("k-1", "1001").await;
    assert_eq!((status, &other["error"]["type"]), (400, &json!("idempotency_error")));
    let (status, too_much) = refund("k-2", "7881").await;
    assert_eq!((status, &too_much["error"]["code"]), (400, &json!("amount_too_large")));
    assert_eq!(refund("k-3", "7880").await.0, 200);
    let (_, nothing_left) = refund("k-4", "1").await;
    assert_eq!(nothing_left["error"]["code"], "charge_already_refunded");

    let path = format!("/v1/charges/{}", first["charge"].as_str().unwrap());
    let (_, charge) = answered(office.get(&path).authorised()).await;
    assert_eq!((&charge["amount_refunded"], &charge["refunded"]), (&json!(8880), &json!(true)));
    let path = format!("/v1/refunds/{}", first["id"].as_str().unwrap());
    assert_eq!(answered(office.get(&path).authorised()).await, (200, first));
}

#[tokio::test]
async fn without_an_amount_all_that_is_left_goes_back() {
    let office = Asked::new().await;
    office.happen(Provider::Stripe, Action::Pay).await;
    let form = [("payment_intent", id(Provider::Stripe))];
    let (_, refund) = answered(office.post("/v1/refunds").authorised().form(&form)).await;
    assert_eq!(refund["amount"], 8880);
}

#[tokio::test]
async fn what_is_not_there_and_who_has_no_key_are_told_so() {
    let office = Asked::new().await;
    let (status, missing) = answered(office.get("/v1/payment_intents/pi_none").authorised()).await;
    assert_eq!((status, &missing["error"]["code"]), (404, &json!("resource_missing")));
    let (status, _) = answered(office.get("/v1/payment_intents/pi_none").bearer_auth("sk_test_other")).await;
    assert_eq!(status, 401);
    let basic = office.get("/v1/payment_intents/pi_none").basic_auth(API_KEY, None::<&str>);
    assert_eq!(answered(basic).await.0, 404, "the key may be the user of Basic");
}
