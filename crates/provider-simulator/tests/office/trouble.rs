use std::time::Duration;

use provider_simulator::Provider;
use provider_simulator::demo_keys::standard::API_KEY;
use provider_simulator::scenario::Action;
use serde_json::json;

use crate::{Asked, answered, id};

async fn order(office: &Asked, trouble: &str) {
    let body = json!({ "payment_no": id(Provider::Standard), "trouble": trouble });
    assert_eq!(office.post("/control/trouble").json(&body).send().await.unwrap().status(), 204);
}

fn refund(office: &Asked) -> reqwest::RequestBuilder {
    let body = json!({ "payment_id": id(Provider::Standard), "reference": "R-1", "amount": "10.00" });
    office.post("/standard/refunds").bearer_auth(API_KEY).json(&body)
}

#[tokio::test]
async fn a_lost_answer_has_had_its_effect() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    order(&office, "lost").await;
    assert!(refund(&office).send().await.is_err());
    assert_eq!(answered(refund(&office)).await.0, 200, "it was made by the request whose answer was lost");
}

#[tokio::test]
async fn a_failure_and_a_time_out_have_had_none() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    order(&office, "error").await;
    assert_eq!(refund(&office).send().await.unwrap().status(), 502);
    order(&office, "timeout").await;
    let waited = refund(&office).timeout(Duration::from_millis(100)).send().await;
    assert!(waited.is_err_and(|error| error.is_timeout()));
    assert_eq!(answered(refund(&office)).await.0, 201);
}

#[tokio::test]
async fn a_late_answer_is_the_same_answer() {
    let office = Asked::new().await;
    office.happen(Provider::Standard, Action::Pay).await;
    order(&office, "slow").await;
    let asked_at = std::time::Instant::now();
    assert_eq!(answered(refund(&office)).await.0, 201);
    assert!(asked_at.elapsed() >= Duration::from_millis(50));
}
