use provider_simulator::clock::now;
use provider_simulator::demo_keys::wechatpay as demo;
use provider_simulator::event::Outcome;
use provider_simulator::rsa::{SigningKey, VerifyingKey};
use provider_simulator::scenario::{Action, RefundAsked};
use provider_simulator::{Amount, Provider};
use serde_json::{Value, json};

use crate::{Asked, id};

/// Asks as the official libraries do, and verifies the answer's signature.
async fn ask(office: &Asked, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (timestamp, nonce) = (now().timestamp(), "nonce-of-the-merchant");
    let content = format!("{method}\n{path}\n{timestamp}\n{nonce}\n{body}\n");
    let signature = SigningKey::from_pem(demo::MERCHANT_PRIVATE_KEY).unwrap().sign(content.as_bytes());
    let authorization = format!(
        "WECHATPAY2-SHA256-RSA2048 mchid=\"{}\",nonce_str=\"{nonce}\",signature=\"{signature}\",\
         timestamp=\"{timestamp}\",serial_no=\"{}\"",
        demo::MCHID,
        demo::MERCHANT_SERIAL
    );
    let request = match method {
        "POST" => office.post(path).body(body.to_owned()).header("Content-Type", "application/json"),
        _ => office.get(path),
    };
    verified(request.header("Authorization", authorization)).await
}

async fn verified(request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("Wechatpay-Serial"), demo::PUBLIC_KEY_ID);
    let (timestamp, nonce, signature) =
        (header("Wechatpay-Timestamp"), header("Wechatpay-Nonce"), header("Wechatpay-Signature"));
    let body = answer.text().await.unwrap();
    let content = format!("{timestamp}\n{nonce}\n{body}\n");
    let key = VerifyingKey::from_pem(demo::PLATFORM_PUBLIC_KEY).unwrap();
    assert!(key.verifies(content.as_bytes(), &signature), "{body}");
    (status, serde_json::from_str(&body).unwrap())
}

fn of_number(payment_no: &str) -> String {
    format!("/v3/pay/transactions/out-trade-no/{payment_no}?mchid={}", demo::MCHID)
}

#[tokio::test]
async fn a_payment_is_found_by_either_number() {
    let office = Asked::new().await;
    office.happen(Provider::WechatPay, Action::Pay).await;
    let (status, paid) = ask(&office, "GET", &of_number("P-1"), "").await;
    assert_eq!(
        (status, &paid["trade_state"], &paid["amount"]["total"]),
        (200, &json!("SUCCESS"), &json!(8880))
    );
    let path = format!("/v3/pay/transactions/id/{}?mchid={}", id(Provider::WechatPay), demo::MCHID);
    assert_eq!(ask(&office, "GET", &path, "").await, (200, paid));
    let (status, missing) = ask(&office, "GET", &of_number("P-2"), "").await;
    assert_eq!((status, &missing["code"]), (404, &json!("ORDER_NOT_EXIST")));
}

#[tokio::test]
async fn a_request_that_the_merchant_has_not_signed_is_refused() {
    let office = Asked::new().await;
    let (status, refused) = verified(office.get(&of_number("P-1"))).await;
    assert_eq!((status, &refused["code"]), (401, &json!("SIGN_ERROR")));
    let forged = "WECHATPAY2-SHA256-RSA2048 mchid=\"1900000001\",nonce_str=\"n\",signature=\"AAAA\",timestamp=\"1\",serial_no=\"1\"";
    assert_eq!(verified(office.get(&of_number("P-1")).header("Authorization", forged)).await.0, 401);
}

#[tokio::test]
async fn a_query_that_does_not_name_the_merchant_is_refused() {
    let office = Asked::new().await;
    let (status, refused) = ask(&office, "GET", "/v3/pay/transactions/out-trade-no/P-1?mchid=1", "").await;
    assert_eq!((status, &refused["code"]), (400, &json!("PARAM_ERROR")));
}

#[tokio::test]
async fn a_refund_is_in_progress_first_and_then_has_succeeded() {
    let office = Asked::new().await;
    office.happen(Provider::WechatPay, Action::Pay).await;
    let refund = async |refund_no: &str, fen: u64| {
        let amount = json!({ "refund": fen, "total": 8880, "currency": "CNY" });
        let body = json!({ "out_trade_no": "P-1", "out_refund_no": refund_no, "amount": amount }).to_string();
        ask(&office, "POST", "/v3/refund/domestic/refunds", &body).await
    };
    let (status, begun) = refund("R-1", 1000).await;
    assert_eq!(
        (status, &begun["status"], &begun["amount"]["refund"]),
        (200, &json!("PROCESSING"), &json!(1000))
    );
    let (_, ended) = ask(&office, "GET", "/v3/refund/domestic/refunds/R-1", "").await;
    assert_eq!((&ended["status"], &ended["refund_id"]), (&json!("SUCCESS"), &begun["refund_id"]));
    assert_eq!(refund("R-1", 1000).await, (200, ended), "the same again");
    for (refund_no, fen) in [("R-1", 1001), ("R-2", 7881)] {
        let (status, refused) = refund(refund_no, fen).await;
        assert_eq!((status, &refused["code"]), (400, &json!("INVALID_REQUEST")), "{refund_no} {fen}");
    }
    let (_, paid) = ask(&office, "GET", &of_number("P-1"), "").await;
    assert_eq!(paid["trade_state"], "REFUND");
    let (status, missing) = ask(&office, "GET", "/v3/refund/domestic/refunds/R-2", "").await;
    assert_eq!((status, &missing["code"]), (404, &json!("RESOURCE_NOT_EXISTS")));
}

#[tokio::test]
async fn a_refund_that_sticks_is_abnormal_until_somebody_ends_it() {
    let office = Asked::new().await;
    office.happen(Provider::WechatPay, Action::Pay).await;
    let sticking = office.post("/control/sticking").json(&json!({ "payment_no": "P-1" }));
    assert_eq!(sticking.send().await.unwrap().status(), 204);
    let refund = async |refund_no: &str| {
        let amount = json!({ "refund": 1000, "total": 8880, "currency": "CNY" });
        let body = json!({ "out_trade_no": "P-1", "out_refund_no": refund_no, "amount": amount }).to_string();
        ask(&office, "POST", "/v3/refund/domestic/refunds", &body).await.1
    };
    let status_of = async |refund_no: &str| {
        ask(&office, "GET", &format!("/v3/refund/domestic/refunds/{refund_no}"), "").await.1["status"].clone()
    };
    assert_eq!(refund("R-1").await["status"], "PROCESSING");
    assert_eq!(status_of("R-1").await, "ABNORMAL");
    assert_eq!(refund("R-1").await["status"], "ABNORMAL", "asking again ends nothing");
    assert_eq!(ask(&office, "GET", &of_number("P-1"), "").await.1["trade_state"], "SUCCESS");

    refund("R-2").await;
    assert_eq!(status_of("R-2").await, "SUCCESS", "it was the next one that was to stick");
    let ended = RefundAsked {
        refund_no: "R-1".to_owned(),
        amount: None,
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    };
    office.happen(Provider::WechatPay, Action::Refund(ended)).await;
    assert_eq!(status_of("R-1").await, "SUCCESS");
}
