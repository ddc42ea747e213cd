use provider_simulator::Provider;
use provider_simulator::demo_keys::standard::API_KEY;
use provider_simulator::scenario::Action;
use serde_json::{Value, json};

use crate::{Asked, answered, id};

#[tokio::test]
async fn payments_are_found_by_number_and_by_id() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    let (_, found) = answered(office.get("/standard/payments?order_id=P-1").bearer_auth(API_KEY)).await;
    let payment = &found["data"][0];
    assert_eq!((&payment["status"], &payment["amount"]), (&json!("paid"), &json!("88.80")));
    assert!(payment["paid_at"].is_string());
    let path = format!("/standard/payments/{}", id(Provider::Standard));
    assert_eq!(answered(office.get(&path).bearer_auth(API_KEY)).await, (200, payment.clone()));
    let (_, nothing) = answered(office.get("/standard/payments?order_id=P-2").bearer_auth(API_KEY)).await;
    assert_eq!(nothing, json!({ "data": [] }));
    assert_eq!(answered(office.get(&path)).await.0, 401);
}

#[tokio::test]
async fn a_refund_under_one_reference_happens_once() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    let refund =
        async |body: Value| answered(office.post("/standard/refunds").bearer_auth(API_KEY).json(&body)).await;
    let body = json!({ "payment_id": id(Provider::Standard), "reference": "R-1", "amount": "10.00" });
    let (status, first) = refund(body.clone()).await;
    assert_eq!((status, &first["amount"]), (201, &json!("10.00")));
    assert_eq!(refund(body).await, (200, first.clone()));
    let other = json!({ "payment_id": id(Provider::Standard), "reference": "R-1", "amount": "11" });
    assert_eq!(refund(other).await.1["error"]["code"], "reference_reused");
    let too_much = json!({ "payment_id": id(Provider::Standard), "reference": "R-2", "amount": "78.81" });
    assert_eq!(refund(too_much).await.1["error"]["code"], "refund_exceeds_paid");
    let rest = json!({ "payment_id": id(Provider::Standard), "reference": "R-3" });
    assert_eq!(refund(rest).await.1["amount"], "78.80");
    assert_eq!(answered(office.get("/standard/refunds/R-1").bearer_auth(API_KEY)).await, (200, first));
    assert_eq!(refund(json!({ "payment_id": "pay_none", "reference": "R-4" })).await.0, 404);
}
