//! What is asked of providers, and what is read from their answers.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use money::{Amount, Currency};
use payment_callback::api::{
    ApiFault, ApiRequest, ApiResponse, PaymentAsked, ProviderApi, RefundAnswer, RefundAsked, RefundState,
    Sending,
};
use payment_callback::{Delivery, Event, Notice, Provider, Reason, ReportedAmount};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rsa::PublicKey;
use rsa::pkcs1::EncodeRsaPublicKey as _;
use rsa::pkcs8::DecodePublicKey as _;
use serde_json::{Value, json};

use crate::endpoint::{NOW, PAYMENT_NO, RsaKey, SECOND_PUBLIC_KEY, endpoint};
use crate::{alipay, standard, stripe, wechatpay};

const OUR_KEY: &str = include_str!("../keys/second.private.pem");
const NONCE: &str = "EcZ9Cmy4Xyx1i6RlJQzLcCyEqDa26NBz";
const HERE: &str = "http://127.0.0.1:1";

fn with_api(provider: &str, mut settings: Value, api: Value) -> Box<dyn Provider> {
    settings["api"] = api;
    endpoint(provider, settings)
}

fn stripe_api() -> Box<dyn Provider> {
    with_api(
        "stripe",
        json!({ "secrets": [stripe::SECRET], "livemode": true }),
        json!({ "key": "sk_live_1" }),
    )
}

fn alipay_api() -> Box<dyn Provider> {
    with_api("alipay", alipay::settings(), json!({ "app_private_key": OUR_KEY, "base_url": HERE }))
}

fn wechatpay_api() -> Box<dyn Provider> {
    let api = json!({ "merchant_serial": "3DE0", "merchant_private_key": OUR_KEY, "base_url": HERE });
    with_api("wechatpay", wechatpay::settings(), api)
}

fn standard_api() -> Box<dyn Provider> {
    let api = json!({ "key": "key-1", "base_url": "http://127.0.0.1:1/standard" });
    with_api("standard", json!({ "secrets": [standard::whsec_of_ours()] }), api)
}

fn api(provider: &dyn Provider) -> &dyn ProviderApi {
    provider.api().expect("the endpoint has an api")
}

fn sending() -> Sending<'static> {
    Sending { at: DateTime::from_timestamp(NOW, 0).unwrap(), nonce: NONCE }
}

fn payment() -> PaymentAsked<'static> {
    PaymentAsked { payment_no: PAYMENT_NO, payment_id: None }
}

fn amount(text: &str, currency: &str) -> Amount {
    Amount::parse(text, Currency::from_code(currency).unwrap()).unwrap()
}

fn refund(currency: &str) -> RefundAsked<'static> {
    RefundAsked {
        payment_no: PAYMENT_NO,
        payment_id: "pay_1",
        refund_no: "R-000001",
        refund_id: None,
        amount: amount("10.00", currency),
        paid: amount("88.80", currency),
    }
}

fn header<'a>(request: &'a ApiRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
}

fn form(body: &[u8]) -> BTreeMap<String, String> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let body = std::str::from_utf8(body).unwrap();
    body.split('&')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// By another implementation of RSA than the one that signed.
fn is_signed_by_us(content: &[u8], base64: &str) -> bool {
    let key = PublicKey::from_public_key_pem(SECOND_PUBLIC_KEY).unwrap().to_pkcs1_der().unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.as_bytes());
    key.verify(content, &STANDARD.decode(base64).unwrap()).is_ok()
}

/// An answer without a signature.
struct Answered {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn unsigned(status: u16, body: &Value) -> Answered {
    Answered { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

/// As WeChat Pay signs answers.
fn signed_by_wechatpay(status: u16, body: &Value) -> Answered {
    let body = body.to_string().into_bytes();
    Answered { status, headers: wechatpay::signed_at(NOW, &body).headers, body }
}

/// As Alipay signs answers: the bytes of the response as they stand.
fn signed_by_alipay(node: &str, response: &str) -> Answered {
    let sign = RsaKey::First.sign(response.as_bytes());
    let body = format!(r#"{{"{node}":{response},"sign":"{sign}"}}"#).into_bytes();
    Answered { status: 200, headers: Vec::new(), body }
}

impl Answered {
    fn read<T>(&self, read: impl FnOnce(&ApiResponse<'_>) -> T) -> T {
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        read(&ApiResponse { status: self.status, content: Delivery { headers: &headers, body: &self.body } })
    }

    fn query(&self, provider: &dyn Provider) -> Result<Vec<Notice>, ApiFault> {
        self.read(|response| api(provider).read_query(&payment(), response, sending().at))
    }

    fn refund(&self, provider: &dyn Provider, asked: &RefundAsked<'_>) -> Result<RefundAnswer, ApiFault> {
        self.read(|response| api(provider).read_refund(asked, response, sending().at))
    }

    fn query_refund(
        &self,
        provider: &dyn Provider,
        asked: &RefundAsked<'_>,
    ) -> Result<RefundAnswer, ApiFault> {
        self.read(|response| api(provider).read_query_refund(asked, response, sending().at))
    }
}

fn kinds(notices: &[Notice]) -> Vec<&'static str> {
    notices.iter().map(|notice| notice.event.kind()).collect()
}

fn paid_amount(notice: &Notice) -> Option<String> {
    match &notice.event {
        Event::PaymentSucceeded { amount: ReportedAmount::Exact(amount), .. } => Some(amount.to_string()),
        _ => None,
    }
}

#[test]
fn an_endpoint_without_an_api_asks_nothing() {
    assert!(stripe::ours().api().is_none());
    assert!(alipay::ours().api().is_none());
    assert!(wechatpay::ours().api().is_none());
    assert!(standard::ours().api().is_none());
}

#[test]
fn stripe_is_asked_by_our_number_or_by_the_intent() {
    let provider = stripe_api();
    let request = api(&*provider).query(&payment(), sending());
    assert_eq!(request.method, "GET");
    let (url, query) = request.url.split_once('?').unwrap();
    assert_eq!(url, "https://api.stripe.com/v1/payment_intents/search");
    assert_eq!(form(query.as_bytes())["query"], format!("metadata['order_id']:'{PAYMENT_NO}'"));
    assert_eq!(header(&request, "Authorization"), Some("Bearer sk_live_1"));
    let known = PaymentAsked { payment_id: Some("pi_1"), ..payment() };
    let request = api(&*provider).query(&known, sending());
    assert!(request.url.starts_with("https://api.stripe.com/v1/payment_intents/pi_1?"), "{}", request.url);
}

#[test]
fn stripe_answers_with_what_happened_to_each_intent() {
    let provider = stripe_api();
    let intent = |status: &str, more: Value| {
        let mut intent = json!({ "id": "pi_1", "object": "payment_intent", "livemode": true, "status": status,
                                 "amount": 8880, "amount_received": 8880, "currency": "usd",
                                 "metadata": { "order_id": PAYMENT_NO } });
        for (name, value) in more.as_object().unwrap() {
            intent[name] = value.clone();
        }
        intent
    };
    let found = |intents: Vec<Value>| {
        unsigned(200, &json!({ "object": "search_result", "has_more": false, "data": intents }))
            .query(&*provider)
    };
    assert_eq!(found(vec![]), Ok(vec![]));
    for (intent, expected) in [
        (intent("succeeded", json!({})), vec!["payment_succeeded"]),
        (intent("canceled", json!({})), vec!["payment_closed"]),
        (
            intent("requires_payment_method", json!({ "last_payment_error": { "code": "x" } })),
            vec!["payment_failed"],
        ),
        (intent("requires_payment_method", json!({})), vec!["noted"]),
        (intent("processing", json!({})), vec!["noted"]),
        (intent("succeeded", json!({ "livemode": false })), vec!["other_account"]),
        (intent("succeeded", json!({ "metadata": { "order_id": "P-000002" } })), vec![]),
        (intent("succeeded", json!({ "latest_charge": "ch_1" })), vec!["payment_succeeded"]),
        (
            intent(
                "succeeded",
                json!({ "latest_charge": { "id": "ch_1", "amount_refunded": 0, "currency": "usd" } }),
            ),
            vec!["payment_succeeded"],
        ),
        (
            intent(
                "succeeded",
                json!({ "latest_charge": { "id": "ch_1", "amount_refunded": 1000, "currency": "usd",
                                                           "payment_intent": "pi_1" } }),
            ),
            vec!["payment_succeeded", "refund_succeeded"],
        ),
    ] {
        assert_eq!(kinds(&found(vec![intent.clone()]).unwrap()), expected, "{intent}");
        assert_eq!(kinds(&unsigned(200, &intent).query(&*provider).unwrap()), expected, "{intent}");
    }
    let twice =
        found(vec![intent("succeeded", json!({})), intent("succeeded", json!({ "id": "pi_2" }))]).unwrap();
    assert_eq!(kinds(&twice), ["payment_succeeded", "payment_succeeded"]);
    assert_eq!(paid_amount(&twice[0]).as_deref(), Some("88.80"));
    assert_ne!(twice[0].delivery_key, twice[1].delivery_key);
    let told = crate::endpoint::read(&*stripe::ours(), &stripe::paid(json!(8880), "usd"));
    assert_eq!(twice[0].event, told.event, "what is asked for is what would have been told");
}

#[test]
fn a_refund_at_stripe_is_asked_for_under_one_key() {
    let provider = stripe_api();
    let request = api(&*provider).refund(&refund("USD"), sending()).unwrap();
    assert_eq!((request.method, request.url.as_str()), ("POST", "https://api.stripe.com/v1/refunds"));
    assert_eq!(header(&request, "Idempotency-Key"), Some("R-000001"));
    let fields = form(&request.body);
    assert_eq!((fields["payment_intent"].as_str(), fields["amount"].as_str()), ("pay_1", "1000"));
    assert_eq!(fields["metadata[refund_no]"], "R-000001");
    assert_eq!(
        api(&*provider).refund(&refund("USD"), sending()),
        Ok(request),
        "again, it is the same request"
    );

    let whole = RefundAsked { amount: amount("500", "JPY"), paid: amount("500", "JPY"), ..refund("USD") };
    assert_eq!(form(&api(&*provider).refund(&whole, sending()).unwrap().body)["amount"], "500");
    for (text, currency) in [("500", "UGX"), ("5.124", "KWD")] {
        let asked =
            RefundAsked { amount: amount(text, currency), paid: amount(text, currency), ..refund("USD") };
        assert!(api(&*provider).refund(&asked, sending()).is_err(), "{text} {currency}");
    }
}

#[test]
fn a_refund_at_stripe_is_found_by_its_id_or_by_our_number() {
    let provider = stripe_api();
    let made = |status: &str| {
        json!({ "id": "re_1", "object": "refund", "status": status, "amount": 1000, "currency": "usd",
                "metadata": { "refund_no": "R-000001" } })
    };
    for (status, state) in [
        ("succeeded", RefundState::Succeeded),
        ("pending", RefundState::Processing),
        ("failed", RefundState::Closed),
        ("canceled", RefundState::Closed),
        ("requires_action", RefundState::Abnormal),
    ] {
        let answer = unsigned(200, &made(status)).refund(&*provider, &refund("USD")).unwrap();
        assert_eq!((answer.state, answer.refund_id.as_deref()), (state, Some("re_1")));
    }
    let listed = |refunds: Vec<Value>, has_more: bool| {
        let list = json!({ "object": "list", "data": refunds, "has_more": has_more });
        unsigned(200, &list).query_refund(&*provider, &refund("USD"))
    };
    let other = json!({ "id": "re_2", "object": "refund", "status": "succeeded", "metadata": {} });
    assert_eq!(listed(vec![other.clone(), made("succeeded")], false).unwrap().state, RefundState::Succeeded);
    assert_eq!(listed(vec![other.clone()], false).unwrap().state, RefundState::Unknown);
    assert!(matches!(listed(vec![other], true), Err(ApiFault::Unreadable(_))));
    let known = RefundAsked { refund_id: Some("re_1"), ..refund("USD") };
    assert_eq!(api(&*provider).query_refund(&known, sending()).url, "https://api.stripe.com/v1/refunds/re_1");
    let missing = unsigned(404, &json!({ "error": { "code": "resource_missing" } }));
    assert_eq!(missing.query_refund(&*provider, &known).unwrap().state, RefundState::Unknown);
    let another = RefundAsked { refund_id: Some("re_9"), ..refund("USD") };
    assert!(unsigned(200, &made("succeeded")).query_refund(&*provider, &another).is_err());
}

#[test]
fn an_error_of_stripes_is_told_by_what_can_be_done_about_it() {
    let provider = stripe_api();
    let refused = |status: u16, error: Value| {
        unsigned(status, &json!({ "error": error })).refund(&*provider, &refund("USD")).unwrap_err()
    };
    let code = |code: &str| json!({ "type": "invalid_request_error", "code": code });
    assert!(matches!(refused(401, code("api_key_invalid")), ApiFault::Unauthorised { .. }));
    assert!(
        matches!(refused(400, code("charge_already_refunded")), ApiFault::Refused { code } if code == "charge_already_refunded")
    );
    assert!(
        matches!(refused(400, json!({ "type": "idempotency_error" })), ApiFault::Refused { code } if code == "idempotency_error")
    );
    assert!(matches!(refused(404, code("resource_missing")), ApiFault::Refused { .. }));
    for status in [409, 429, 500, 502, 503] {
        assert_eq!(refused(status, code("x")), ApiFault::Unavailable { status });
    }
    let html = Answered { status: 404, headers: Vec::new(), body: b"<html>".to_vec() };
    assert_eq!(html.query(&*provider), Err(ApiFault::Unavailable { status: 404 }), "a proxy's page");
    assert!(ApiFault::Unavailable { status: 503 }.is_transient() && !refused(401, code("x")).is_transient());
}

#[test]
fn what_alipay_is_asked_is_signed_by_the_app() {
    let provider = alipay_api();
    let request = api(&*provider).query(&payment(), sending());
    assert_eq!((request.method, request.url.as_str()), ("POST", "http://127.0.0.1:1/gateway.do"));
    let mut fields = form(&request.body);
    assert_eq!(fields["method"], "alipay.trade.query");
    assert_eq!(fields["timestamp"], "2026-11-29 08:00:00", "Beijing's time");
    assert_eq!(fields["biz_content"], json!({ "out_trade_no": PAYMENT_NO }).to_string());
    let sign = fields.remove("sign").unwrap();
    let content: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert!(is_signed_by_us(content.join("&").as_bytes(), &sign));
    assert!(!is_signed_by_us(content.join("&").replace("query", "close").as_bytes(), &sign));

    let request = api(&*provider).refund(&refund("CNY"), sending()).unwrap();
    let content: Value = serde_json::from_str(&form(&request.body)["biz_content"]).unwrap();
    assert_eq!(
        content,
        json!({ "trade_no": "pay_1", "refund_amount": "10.00", "out_request_no": "R-000001" })
    );
    assert!(api(&*provider).refund(&refund("USD"), sending()).is_err());
    let request = api(&*provider).query_refund(&refund("CNY"), sending());
    assert_eq!(form(&request.body)["method"], "alipay.trade.fastpay.refund.query");
}

#[test]
fn alipay_is_shown_the_token_of_the_merchant_whom_the_app_acts_for() {
    let isv = json!({ "app_private_key": OUR_KEY, "app_auth_token": "202611BBtoken", "base_url": HERE });
    let mut settings = alipay::settings();
    settings["auth_app_id"] = json!("2021000000000009");
    let provider = with_api("alipay", settings, isv);
    let mut fields = form(&api(&*provider).query(&payment(), sending()).body);
    assert_eq!(fields["app_auth_token"], "202611BBtoken");
    let sign = fields.remove("sign").unwrap();
    let content: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert!(is_signed_by_us(content.join("&").as_bytes(), &sign));
}

const ALIPAY_QUERY: &str = "alipay_trade_query_response";

#[test]
fn alipay_answers_with_what_happened_to_the_trade() {
    let provider = alipay_api();
    let said = |status: &str, more: &str| {
        let response = format!(
            r#"{{"code":"10000","msg":"Success", "out_trade_no":"{PAYMENT_NO}","trade_no":"2026","trade_status":"{status}","total_amount":"88.80"{more}}}"#
        );
        signed_by_alipay(ALIPAY_QUERY, &response).query(&*provider).unwrap()
    };
    let paid_out = r#","send_pay_date":"2026-11-29 08:00:00""#;
    for (status, more, expected) in [
        ("WAIT_BUYER_PAY", "", vec!["noted"]),
        ("TRADE_SUCCESS", paid_out, vec!["payment_succeeded"]),
        ("TRADE_FINISHED", paid_out, vec!["payment_succeeded"]),
        ("TRADE_CLOSED", "", vec!["payment_closed"]),
        ("TRADE_CLOSED", paid_out, vec!["payment_succeeded", "refund_succeeded"]),
    ] {
        assert_eq!(kinds(&said(status, more)), expected, "{status}{more}");
    }
    let paid = said("TRADE_SUCCESS", paid_out);
    assert_eq!(paid_amount(&paid[0]).as_deref(), Some("88.80"));
    assert_eq!(paid[0].key_id, "1");
    let none =
        r#"{"code":"40004","msg":"Business Failed","sub_code":"ACQ.TRADE_NOT_EXIST","sub_msg":"交易不存在"}"#;
    assert_eq!(signed_by_alipay(ALIPAY_QUERY, none).query(&*provider), Ok(vec![]));
    let other = r#"{"code":"10000","out_trade_no":"P-000002","trade_no":"1","trade_status":"TRADE_SUCCESS","total_amount":"1"}"#;
    assert!(matches!(signed_by_alipay(ALIPAY_QUERY, other).query(&*provider), Err(ApiFault::Unreadable(_))));
}

#[test]
fn an_answer_of_alipays_that_is_not_signed_is_not_believed() {
    let provider = alipay_api();
    let response = format!(
        r#"{{"code":"10000","out_trade_no":"{PAYMENT_NO}","trade_no":"1","trade_status":"TRADE_SUCCESS","total_amount":"88.80"}}"#
    );
    let reason = |body: String| {
        let answered = Answered { status: 200, headers: Vec::new(), body: body.into_bytes() };
        match answered.query(&*provider) {
            Err(ApiFault::Unverified(rejection)) => rejection.reason,
            other => panic!("{other:?}"),
        }
    };
    let sign = RsaKey::First.sign(response.as_bytes());
    let by_another = RsaKey::Second.sign(response.as_bytes());
    let changed = response.replace("88.80", "88.81");
    let spaced = response.replace(':', ": ");
    assert_eq!(reason(format!(r#"{{"{ALIPAY_QUERY}":{response}}}"#)), Reason::MissingSignature);
    assert_eq!(reason(format!(r#"{{"{ALIPAY_QUERY}":{response},"sign":""}}"#)), Reason::BadSignature);
    assert_eq!(reason(format!(r#"{{"{ALIPAY_QUERY}":{response},"sign":"?"}}"#)), Reason::MissingSignature);
    assert_eq!(
        reason(format!(r#"{{"{ALIPAY_QUERY}":{response},"sign":"{by_another}"}}"#)),
        Reason::BadSignature
    );
    assert_eq!(reason(format!(r#"{{"{ALIPAY_QUERY}":{changed},"sign":"{sign}"}}"#)), Reason::BadSignature);
    assert_eq!(reason(format!(r#"{{"{ALIPAY_QUERY}":{spaced},"sign":"{sign}"}}"#)), Reason::BadSignature);
    let unsigned_error = r#"{"error_response":{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}}"#.to_owned();
    assert_eq!(reason(unsigned_error), Reason::MissingSignature, "nor is an error");
    let twice = format!(r#"{{"{ALIPAY_QUERY}":{response},"{ALIPAY_QUERY}":{changed},"sign":"{sign}"}}"#);
    let answered = Answered { status: 200, headers: Vec::new(), body: twice.into_bytes() };
    assert!(matches!(answered.query(&*provider), Err(ApiFault::Unreadable(_))));
}

#[test]
fn a_refund_at_alipay_is_done_when_it_says_so_and_asked_about_otherwise() {
    let provider = alipay_api();
    let (node, query) = ("alipay_trade_refund_response", "alipay_trade_fastpay_refund_query_response");
    let state = |more: &str| {
        let response = format!(r#"{{"code":"10000","trade_no":"pay_1","refund_fee":"10.00"{more}}}"#);
        signed_by_alipay(node, &response).refund(&*provider, &refund("CNY")).unwrap().state
    };
    assert_eq!(state(r#","fund_change":"Y""#), RefundState::Succeeded);
    assert_eq!(state(r#","fund_change":"N""#), RefundState::Processing);
    assert_eq!(state(""), RefundState::Processing);
    let fault =
        |response: &str| signed_by_alipay(node, response).refund(&*provider, &refund("CNY")).unwrap_err();
    assert!(matches!(
        fault(r#"{"code":"40004","sub_code":"ACQ.REFUND_AMT_NOT_EQUAL_TOTAL"}"#),
        ApiFault::Refused { .. }
    ));
    assert!(matches!(
        fault(r#"{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}"#),
        ApiFault::Refused { .. }
    ));
    assert!(matches!(
        fault(r#"{"code":"40004","sub_code":"ACQ.SYSTEM_ERROR"}"#),
        ApiFault::Unavailable { .. }
    ));
    assert!(matches!(
        fault(r#"{"code":"20000","sub_code":"aop.unknow-error"}"#),
        ApiFault::Unavailable { .. }
    ));
    assert!(matches!(
        fault(r#"{"code":"40002","sub_code":"isv.invalid-signature"}"#),
        ApiFault::Unauthorised { .. }
    ));
    assert!(matches!(
        fault(r#"{"code":"40006","sub_code":"isv.insufficient-isv-permissions"}"#),
        ApiFault::Unauthorised { .. }
    ));
    // Neither says that the refund was refused, which would be for ever.
    assert!(matches!(fault(r#"{"code":"40005"}"#), ApiFault::Unavailable { .. }));
    for sub_code in ["isv.invalid-timestamp", "isv.missing-method"] {
        let fault = fault(&format!(r#"{{"code":"40002","sub_code":"{sub_code}"}}"#));
        assert!(matches!(fault, ApiFault::Unauthorised { .. }), "{sub_code}: {fault:?}");
    }
    let found =
        |response: &str| signed_by_alipay(query, response).query_refund(&*provider, &refund("CNY")).unwrap();
    let done = found(
        r#"{"code":"10000","out_request_no":"R-000001","refund_status":"REFUND_SUCCESS","refund_amount":"10.00"}"#,
    );
    assert_eq!(done.state, RefundState::Succeeded);
    assert_eq!(
        done.amount.and_then(|amount| amount.exact()).map(|amount| amount.to_string()).as_deref(),
        Some("10.00")
    );
    assert_eq!(found(r#"{"code":"10000"}"#).state, RefundState::Unknown);
}

#[test]
fn what_wechat_pay_is_asked_is_signed_by_the_merchant() {
    let provider = wechatpay_api();
    let signature = |request: &ApiRequest| {
        let parts =
            header(request, "Authorization").unwrap().strip_prefix("WECHATPAY2-SHA256-RSA2048 ").unwrap();
        let parts = parts.split(',').map(|part| part.split_once('=').unwrap());
        parts
            .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let request = api(&*provider).query(&payment(), sending());
    let path = format!("/v3/pay/transactions/out-trade-no/{PAYMENT_NO}?mchid=1900000001");
    assert_eq!((request.method, request.url.clone()), ("GET", format!("{HERE}{path}")));
    let parts = signature(&request);
    assert_eq!(
        (parts["mchid"].as_str(), parts["serial_no"].as_str(), parts["nonce_str"].as_str()),
        ("1900000001", "3DE0", NONCE)
    );
    let content = format!("GET\n{path}\n{NOW}\n{NONCE}\n\n");
    assert!(is_signed_by_us(content.as_bytes(), &parts["signature"]));
    assert_eq!(header(&request, "Wechatpay-Serial"), Some("PUB_KEY_ID_0100000000002026112900000000000001"));

    let request = api(&*provider).refund(&refund("CNY"), sending()).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["amount"], json!({ "refund": 1000, "total": 8880, "currency": "CNY" }));
    assert_eq!((&body["transaction_id"], &body["out_refund_no"]), (&json!("pay_1"), &json!("R-000001")));
    let body = String::from_utf8(request.body.clone()).unwrap();
    let content = format!("POST\n/v3/refund/domestic/refunds\n{NOW}\n{NONCE}\n{body}\n");
    assert!(is_signed_by_us(content.as_bytes(), &signature(&request)["signature"]));
    assert!(api(&*provider).refund(&refund("USD"), sending()).is_err());
    let request = api(&*provider).query_refund(&refund("CNY"), sending());
    assert_eq!(request.url, format!("{HERE}/v3/refund/domestic/refunds/R-000001"));
}

fn transaction(trade_state: &str) -> Value {
    json!({ "mchid": "1900000001", "appid": "wx1", "out_trade_no": PAYMENT_NO, "transaction_id": "4200000001",
            "trade_state": trade_state, "amount": { "total": 8880, "currency": "CNY" } })
}

#[test]
fn wechat_pay_answers_with_what_happened_to_the_payment() {
    let provider = wechatpay_api();
    let said = |content: &Value| signed_by_wechatpay(200, content).query(&*provider);
    for (trade_state, expected) in [
        ("SUCCESS", "payment_succeeded"),
        ("REFUND", "payment_succeeded"),
        ("NOTPAY", "noted"),
        ("USERPAYING", "noted"),
        ("ACCEPT", "noted"),
        ("CLOSED", "payment_closed"),
        ("REVOKED", "payment_closed"),
        ("PAYERROR", "payment_failed"),
    ] {
        assert_eq!(kinds(&said(&transaction(trade_state)).unwrap()), [expected], "{trade_state}");
    }
    let unpaid =
        json!({ "mchid": "1900000001", "appid": "wx1", "out_trade_no": PAYMENT_NO, "trade_state": "NOTPAY" });
    assert_eq!(kinds(&said(&unpaid).unwrap()), ["noted"]);
    let mut other = transaction("SUCCESS");
    other["mchid"] = json!("1900000002");
    assert_eq!(kinds(&said(&other).unwrap()), ["other_account"]);
    let mut other = transaction("SUCCESS");
    other["out_trade_no"] = json!("P-000002");
    assert!(matches!(said(&other), Err(ApiFault::Unreadable(_))));
    for code in ["ORDER_NOT_EXIST", "ORDERNOTEXIST"] {
        let missing = signed_by_wechatpay(404, &json!({ "code": code, "message": "订单不存在" }));
        assert_eq!(missing.query(&*provider), Ok(vec![]));
    }
}

#[test]
fn an_answer_of_wechat_pays_that_is_not_signed_is_not_believed() {
    let provider = wechatpay_api();
    let reason = |answered: &Answered| match answered.query(&*provider) {
        Err(ApiFault::Unverified(rejection)) => rejection.reason,
        other => panic!("{other:?}"),
    };
    let mut changed = signed_by_wechatpay(200, &transaction("SUCCESS"));
    changed.body = transaction("CLOSED").to_string().into_bytes();
    assert_eq!(reason(&changed), Reason::BadSignature);
    assert_eq!(reason(&unsigned(200, &transaction("SUCCESS"))), Reason::MissingHeader);
    let missing = json!({ "code": "ORDER_NOT_EXIST" });
    assert_eq!(
        reason(&unsigned(404, &missing)),
        Reason::MissingHeader,
        "that there is no payment is a statement too"
    );
    let body = transaction("SUCCESS").to_string().into_bytes();
    let stale = Answered { status: 200, headers: wechatpay::signed_at(NOW - 301, &body).headers, body };
    assert_eq!(reason(&stale), Reason::TimestampTooOld);
    let mut probe = signed_by_wechatpay(200, &transaction("SUCCESS"));
    let signature = probe.headers.iter_mut().find(|(name, _)| name == "Wechatpay-Signature").unwrap();
    signature.1.replace_range(..19, "WECHATPAY/SIGNTEST/");
    assert_eq!(reason(&probe), Reason::SignatureProbe);
    assert!(probe.query(&*provider).unwrap_err().is_transient());
    assert_eq!(unsigned(502, &json!({})).query(&*provider), Err(ApiFault::Unavailable { status: 502 }));
    assert!(matches!(unsigned(401, &json!({})).query(&*provider), Err(ApiFault::Unauthorised { .. })));
}

#[test]
fn a_refund_at_wechat_pay_is_as_far_as_it_says() {
    let provider = wechatpay_api();
    let object = |status: &str| {
        json!({ "refund_id": "50000001", "out_refund_no": "R-000001", "status": status,
                "amount": { "total": 8880, "refund": 1000, "currency": "CNY" } })
    };
    for (status, state) in [
        ("PROCESSING", RefundState::Processing),
        ("SUCCESS", RefundState::Succeeded),
        ("CLOSED", RefundState::Closed),
        ("ABNORMAL", RefundState::Abnormal),
    ] {
        let answer = signed_by_wechatpay(200, &object(status));
        assert_eq!(answer.refund(&*provider, &refund("CNY")).unwrap().state, state);
        let answer = answer.query_refund(&*provider, &refund("CNY")).unwrap();
        assert_eq!((answer.state, answer.refund_id.as_deref()), (state, Some("50000001")));
    }
    let missing = signed_by_wechatpay(404, &json!({ "code": "RESOURCE_NOT_EXISTS" }));
    assert_eq!(missing.query_refund(&*provider, &refund("CNY")).unwrap().state, RefundState::Unknown);
    let fault = |status, code| {
        signed_by_wechatpay(status, &json!({ "code": code })).refund(&*provider, &refund("CNY")).unwrap_err()
    };
    assert!(matches!(fault(400, "INVALID_REQUEST"), ApiFault::Refused { code } if code == "INVALID_REQUEST"));
    assert!(matches!(fault(403, "NOT_ENOUGH"), ApiFault::Refused { code } if code == "NOT_ENOUGH"));
    assert!(matches!(fault(403, "NO_AUTH"), ApiFault::Unauthorised { .. }));
    assert_eq!(fault(429, "FREQUENCY_LIMITED"), ApiFault::Unavailable { status: 429 });
    assert_eq!(fault(500, "SYSTEM_ERROR"), ApiFault::Unavailable { status: 500 });
    let another = RefundAsked { refund_no: "R-000002", ..refund("CNY") };
    assert!(signed_by_wechatpay(200, &object("SUCCESS")).refund(&*provider, &another).is_err());
}

#[test]
fn a_standard_provider_is_asked_by_our_number_and_refunds_once_for_each_reference() {
    let provider = standard_api();
    let request = api(&*provider).query(&payment(), sending());
    assert_eq!(request.url, format!("http://127.0.0.1:1/standard/payments?order_id={PAYMENT_NO}"));
    assert_eq!(header(&request, "Authorization"), Some("Bearer key-1"));
    let said = |status: &str, refunded: &str| {
        let one = json!({ "payment_id": "pay_1", "order_id": PAYMENT_NO, "amount": "88.80", "currency": "CNY",
                          "status": status, "refunded_amount": refunded });
        let list = unsigned(200, &json!({ "data": [one] })).query(&*provider).unwrap();
        assert_eq!(unsigned(200, &one).query(&*provider).unwrap(), list);
        list
    };
    assert_eq!(kinds(&said("pending", "0.00")), ["noted"]);
    assert_eq!(kinds(&said("paid", "0.00")), ["payment_succeeded"]);
    assert_eq!(kinds(&said("failed", "0.00")), ["payment_failed"]);
    assert_eq!(kinds(&said("closed", "0.00")), ["payment_closed"]);
    // Its refunds are told one by one.
    assert_eq!(kinds(&said("paid", "10.00")), ["payment_succeeded"]);
    assert_eq!(unsigned(200, &json!({ "data": [] })).query(&*provider), Ok(vec![]));
    assert_eq!(unsigned(404, &json!({ "error": { "code": "not_found" } })).query(&*provider), Ok(vec![]));

    let request = api(&*provider).refund(&refund("CNY"), sending()).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body, json!({ "payment_id": "pay_1", "reference": "R-000001", "amount": "10.00" }));
    let object = |status: &str| {
        json!({ "refund_id": "re_1", "reference": "R-000001", "payment_id": "pay_1", "order_id": PAYMENT_NO,
                "amount": "10.00", "currency": "CNY", "status": status })
    };
    for (status, state) in [
        ("processing", RefundState::Processing),
        ("succeeded", RefundState::Succeeded),
        ("closed", RefundState::Closed),
        ("abnormal", RefundState::Abnormal),
    ] {
        assert_eq!(unsigned(201, &object(status)).refund(&*provider, &refund("CNY")).unwrap().state, state);
        assert_eq!(
            unsigned(200, &object(status)).query_refund(&*provider, &refund("CNY")).unwrap().state,
            state
        );
    }
    let missing = unsigned(404, &json!({ "error": { "code": "not_found" } }));
    assert_eq!(missing.query_refund(&*provider, &refund("CNY")).unwrap().state, RefundState::Unknown);
    assert!(matches!(missing.refund(&*provider, &refund("CNY")), Err(ApiFault::Refused { .. })));
    let conflict = unsigned(409, &json!({ "error": { "code": "reference_reused" } }));
    assert!(matches!(conflict.refund(&*provider, &refund("CNY")), Err(ApiFault::Refused { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_makes_a_reader_panic(status in 100..600_u16, body in prop_oneof![
        "\\PC*".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..200),
        Just(br#"{"data":[{"object":"refund"}],"error":{"code":1}}"#.to_vec()),
        Just(br#"{"alipay_trade_query_response":{},"sign":"AAAA"}"#.to_vec()),
        Just(br#"{"object":"payment_intent","status":"succeeded","latest_charge":{"amount_refunded":-1}}"#.to_vec()),
    ]) {
        let answered = Answered { status, headers: Vec::new(), body };
        for (provider, is_signed) in [(stripe_api(), false), (alipay_api(), true), (wechatpay_api(), true), (standard_api(), false)] {
            let query = answered.query(&*provider);
            let refunded = answered.refund(&*provider, &refund("CNY"));
            let found = answered.query_refund(&*provider, &refund("CNY"));
            if is_signed {
                prop_assert!(query.is_err() && refunded.is_err() && found.is_err(), "nobody has signed this");
            }
        }
    }
}
