use std::collections::BTreeMap;

use provider_simulator::Provider;
use provider_simulator::demo_keys::alipay as demo;
use provider_simulator::rsa::{SigningKey, VerifyingKey};
use provider_simulator::scenario::Action;
use serde_json::{Value, json};

use crate::{Asked, id};

/// Asks as the official libraries do: the parameters sorted, `sign_type` signed with the others.
async fn ask(office: &Asked, method: &str, content: Value) -> Value {
    let mut form = parameters(method, &content);
    let signed: Vec<String> = form.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let key = SigningKey::from_pem(demo::APP_PRIVATE_KEY).unwrap();
    form.insert("sign", key.sign(signed.join("&").as_bytes()));
    answer(office, method, &form).await
}

fn parameters(method: &str, content: &Value) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("app_id", demo::APP_ID.to_owned()),
        ("method", method.to_owned()),
        ("format", "JSON".to_owned()),
        ("charset", "utf-8".to_owned()),
        ("sign_type", "RSA2".to_owned()),
        ("timestamp", "2026-11-29 07:59:58".to_owned()),
        ("version", "1.0".to_owned()),
        ("biz_content", content.to_string()),
    ])
}

/// The object that is answered, after its signature was verified over the bytes between its name and `sign`.
async fn answer(office: &Asked, method: &str, form: &BTreeMap<&'static str, String>) -> Value {
    let answer = office.post("/gateway.do").form(form).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.unwrap();
    let begin = format!(r#"{{"{}_response":"#, method.replace('.', "_"));
    let (object, sign) = text.strip_prefix(&begin).unwrap().split_once(r#","sign":""#).unwrap();
    let key = VerifyingKey::from_pem(demo::PLATFORM_PUBLIC_KEY).unwrap();
    assert!(key.verifies(object.as_bytes(), sign.trim_end_matches(r#""}"#)), "{text}");
    serde_json::from_str(object).unwrap()
}

const QUERY: &str = "alipay.trade.query";
const REFUND: &str = "alipay.trade.refund";
const REFUND_QUERY: &str = "alipay.trade.fastpay.refund.query";

#[tokio::test]
async fn a_trade_is_found_by_either_number() {
    let office = Asked::new().await;
    office.happen(Provider::Alipay, Action::Pay).await;
    let trade = ask(&office, QUERY, json!({ "out_trade_no": "P-1" })).await;
    assert_eq!((&trade["code"], &trade["trade_status"]), (&json!("10000"), &json!("TRADE_SUCCESS")));
    assert_eq!((&trade["total_amount"], &trade["trade_no"]), (&json!("88.80"), &json!(id(Provider::Alipay))));
    assert_eq!(ask(&office, QUERY, json!({ "trade_no": id(Provider::Alipay) })).await, trade);
}

#[tokio::test]
async fn a_trade_that_is_not_there_is_a_business_failure() {
    let office = Asked::new().await;
    let answer = ask(&office, QUERY, json!({ "out_trade_no": "P-1" })).await;
    assert_eq!((&answer["code"], &answer["sub_code"]), (&json!("40004"), &json!("ACQ.TRADE_NOT_EXIST")));
}

#[tokio::test]
async fn a_failed_attempt_waits_for_the_buyer_and_a_closed_trade_says_so() {
    let office = Asked::new().await;
    let scenario = |action| json!({ "scenario": crate::scenario(Provider::Alipay, action), "silent": true });
    for (action, status) in [(Action::Fail, "WAIT_BUYER_PAY"), (Action::Close, "TRADE_CLOSED")] {
        let answer = office.post("/control/scenarios").json(&scenario(action)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(ask(&office, QUERY, json!({ "out_trade_no": "P-1" })).await["trade_status"], status);
    }
}

#[tokio::test]
async fn a_request_that_the_app_has_not_signed_is_refused() {
    let office = Asked::new().await;
    let mut form = parameters(QUERY, &json!({ "out_trade_no": "P-1" }));
    form.insert("sign", SigningKey::from_pem(demo::PLATFORM_PRIVATE_KEY).unwrap().sign(b"something else"));
    let refused = answer(&office, QUERY, &form).await;
    assert_eq!((&refused["code"], &refused["sub_code"]), (&json!("40002"), &json!("isv.invalid-signature")));
}

#[tokio::test]
async fn refunds_add_up_and_the_same_request_moves_no_money_again() {
    let office = Asked::new().await;
    office.happen(Provider::Alipay, Action::Pay).await;
    let refund = |refund_no: &str, amount: &str| {
        let content = json!({ "out_trade_no": "P-1", "refund_amount": amount, "out_request_no": refund_no });
        ask(&office, REFUND, content)
    };
    let first = refund("R-1", "10.00").await;
    assert_eq!((&first["fund_change"], &first["refund_fee"]), (&json!("Y"), &json!("10.00")));
    let again = refund("R-1", "10.00").await;
    assert_eq!((&again["fund_change"], &again["refund_fee"]), (&json!("N"), &json!("10.00")));
    assert_eq!(refund("R-1", "11.00").await["sub_code"], "ACQ.DISCORDANT_REPEAT_REQUEST");
    let second = refund("R-2", "15.00").await;
    assert_eq!((&second["refund_fee"], &second["send_back_fee"]), (&json!("25.00"), &json!("15.00")));
    assert_eq!(refund("R-3", "63.81").await["sub_code"], "ACQ.REFUND_AMT_NOT_EQUAL_TOTAL");

    let content = |refund_no: &str| json!({ "out_trade_no": "P-1", "out_request_no": refund_no });
    let found = ask(&office, REFUND_QUERY, content("R-2")).await;
    assert_eq!(
        (&found["refund_status"], &found["refund_amount"]),
        (&json!("REFUND_SUCCESS"), &json!("15.00"))
    );
    let nothing = ask(&office, REFUND_QUERY, content("R-3")).await;
    assert_eq!((&nothing["code"], nothing.get("refund_status")), (&json!("10000"), None));
    assert_eq!(refund("R-4", "63.80").await["refund_fee"], "88.80");
    assert_eq!(ask(&office, QUERY, json!({ "out_trade_no": "P-1" })).await["trade_status"], "TRADE_CLOSED");
}
