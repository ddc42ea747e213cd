//! Standard Webhooks.

use ed25519_dalek::{Signer as _, SigningKey};
use payment_callback::{Decision, Event, Provider, Reason, RefundSum};
use serde_json::{Value, json};

use crate::endpoint::{NOW, PAYMENT_NO, Sent, base64, decision, endpoint, hmac, read, reason, verify_at};

const SECRET: &[u8] = b"of these tests, with 32 bytes...";
const NEXT_SECRET: &[u8] = b"of these tests, after a rotation";

fn whsec(secret: &[u8]) -> String {
    format!("whsec_{}", base64(secret))
}

pub fn whsec_of_ours() -> String {
    whsec(SECRET)
}

pub fn ours() -> Box<dyn Provider> {
    endpoint("standard", json!({ "secrets": [whsec(SECRET)] }))
}

fn signing_key() -> SigningKey {
    SigningKey::from_bytes(SECRET.try_into().unwrap())
}

pub fn whpk() -> String {
    format!("whpk_{}", base64(signing_key().verifying_key().as_bytes()))
}

fn content(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}

fn v1(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    format!("v1,{}", base64(&hmac(secret, &content(id, timestamp, body))))
}

fn with_headers(id: &str, timestamp: &str, signature: &str, body: &[u8]) -> Sent {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Sent {
        headers: vec![
            header("webhook-id", id),
            header("webhook-timestamp", timestamp),
            header("webhook-signature", signature),
        ],
        body: body.to_vec(),
    }
}

pub fn signed_at(timestamp: i64, body: &[u8]) -> Sent {
    let timestamp = timestamp.to_string();
    with_headers("msg_1", &timestamp, &v1(SECRET, "msg_1", &timestamp, body), body)
}

fn event(event_type: &str, data: Value) -> Value {
    json!({ "type": event_type, "timestamp": "2026-11-29T00:00:00Z", "data": data })
}

fn payment(amount: Value, currency: &str) -> Value {
    json!({ "order_id": PAYMENT_NO, "payment_id": "pay_1", "amount": amount, "currency": currency })
}

pub fn paid(amount: Value, currency: &str) -> Sent {
    signed_at(NOW, event("payment.succeeded", payment(amount, currency)).to_string().as_bytes())
}

fn judged(event: &Value) -> Decision {
    decision(&*ours(), &signed_at(NOW, event.to_string().as_bytes()), "88.80", "CNY")
}

#[test]
fn every_header_is_there_once_and_well_formed() {
    let good = paid(json!("88.80"), "CNY");
    assert_eq!(reason(&*ours(), &good), None);
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        assert_eq!(reason(&*ours(), &good.clone().without(name)), Some(Reason::MissingHeader), "{name}");
        assert_eq!(reason(&*ours(), &good.clone().twice(name)), Some(Reason::MalformedHeader), "{name}");
        let mut empty = good.clone();
        empty.header(name).clear();
        assert_eq!(reason(&*ours(), &empty), Some(Reason::MalformedHeader), "{name}");
    }
    let long = "m".repeat(256);
    for (name, value) in [
        ("webhook-id", "msg_1.2"),
        ("webhook-id", "msg 1"),
        ("webhook-id", long.as_str()),
        ("webhook-timestamp", "1795910400.5"),
        ("webhook-timestamp", "1795910400000"),
        ("webhook-timestamp", "-1"),
        ("webhook-timestamp", "now"),
        ("webhook-signature", "garbage"),
        ("webhook-signature", "v1 v1"),
    ] {
        let mut changed = good.clone();
        *changed.header(name) = value.to_owned();
        assert_eq!(reason(&*ours(), &changed), Some(Reason::MalformedHeader), "{name}: {value}");
    }
}

#[test]
fn bytes_cannot_be_moved_between_id_time_and_body() {
    let body = event("payment.succeeded", payment(json!("88.80"), "CNY")).to_string();
    let signature = v1(SECRET, "msg_1", &NOW.to_string(), format!("{NOW}.{body}").as_bytes());
    let moved = with_headers(&format!("msg_1.{NOW}"), &NOW.to_string(), &signature, body.as_bytes());
    assert_eq!(reason(&*ours(), &moved), Some(Reason::MalformedHeader));
}

#[test]
fn a_signature_is_complete_and_of_the_keys_own_algorithm() {
    let timestamp = NOW.to_string();
    let good = v1(SECRET, "msg_1", &timestamp, b"{}");
    let code = hmac(SECRET, &content("msg_1", &timestamp, b"{}"));
    for signature in [
        "v2,AAAA".to_owned(),
        "v1,".to_owned(),
        "v1,not base64".to_owned(),
        good.trim_end_matches('=').to_owned(),
        good.replace("v1,", "v1a,"),
        good.replace("v1,", "V1,"),
        format!("v1,{}", base64(&code[..16])),
        format!("v1,{}", base64(&[code.as_slice(), b"0"].concat())),
        v1(NEXT_SECRET, "msg_1", &timestamp, b"{}"),
        v1(whsec(SECRET).as_bytes(), "msg_1", &timestamp, b"{}"),
        v1(SECRET, "msg_2", &timestamp, b"{}"),
    ] {
        let sent = with_headers("msg_1", &timestamp, &signature, b"{}");
        assert_eq!(reason(&*ours(), &sent), Some(Reason::BadSignature), "{signature}");
    }
}

#[test]
fn any_of_several_signatures_by_any_of_several_keys_is_accepted() {
    let (timestamp, body) = (NOW.to_string(), br#"{"type":"x"}"#);
    let both = endpoint(
        "standard",
        json!({ "secrets": [whsec(SECRET), { "id": "next", "secret": whsec(NEXT_SECRET) }] }),
    );
    let only_new = endpoint("standard", json!({ "secrets": [whsec(NEXT_SECRET)] }));
    let old = v1(SECRET, "msg_1", &timestamp, body);
    let new = v1(NEXT_SECRET, "msg_1", &timestamp, body);
    for list in [format!("{old} {new}"), format!("garbage v2,AAAA  {new} {old}")] {
        let sent = with_headers("msg_1", &timestamp, &list, body);
        assert_eq!(read(&*both, &sent).key_id, "1");
        assert_eq!(reason(&*only_new, &sent), None);
    }
    assert_eq!(read(&*both, &with_headers("msg_1", &timestamp, &new, body)).key_id, "next");
    let of_a_forger = |count: usize| vec![old.as_str(); count].join(" ") + " " + &new;
    assert_eq!(reason(&*only_new, &with_headers("msg_1", &timestamp, &of_a_forger(15), body)), None);
    assert_eq!(
        reason(&*only_new, &with_headers("msg_1", &timestamp, &of_a_forger(16), body)),
        Some(Reason::MalformedHeader)
    );
    assert_eq!(
        reason(&*only_new, &with_headers("msg_1", &timestamp, &old, body)),
        Some(Reason::BadSignature)
    );
}

#[test]
fn an_ed25519_signature_is_verified_with_a_public_key_and_with_nothing_else() {
    let (timestamp, body) = (NOW.to_string(), br#"{"type":"x"}"#);
    let signature = signing_key().sign(&content("msg_1", &timestamp, body)).to_bytes();
    let by_public_key = endpoint("standard", json!({ "secrets": [whpk()] }));
    let both = endpoint(
        "standard",
        json!({ "secrets": [whsec(NEXT_SECRET), { "id": "ed", "public_key": whpk() }] }),
    );
    let v1a = with_headers("msg_1", &timestamp, &format!("v1a,{}", base64(&signature)), body);
    assert_eq!(reason(&*by_public_key, &v1a), None);
    let kept_apart =
        endpoint("standard", json!({ "secrets": [whsec(NEXT_SECRET)], "public_keys": [whpk()] }));
    assert_eq!(reason(&*kept_apart, &v1a), None);
    assert_eq!(read(&*both, &v1a).key_id, "ed");
    assert_eq!(reason(&*ours(), &v1a), Some(Reason::BadSignature));
    let as_v1 = with_headers("msg_1", &timestamp, &format!("v1,{}", base64(&signature)), body);
    assert_eq!(reason(&*by_public_key, &as_v1), Some(Reason::BadSignature));
    let with_public_key_as_secret = with_headers(
        "msg_1",
        &timestamp,
        &v1(signing_key().verifying_key().as_bytes(), "msg_1", &timestamp, body),
        body,
    );
    assert_eq!(reason(&*by_public_key, &with_public_key_as_secret), Some(Reason::BadSignature));
    let mut changed = v1a.clone();
    changed.body.push(b' ');
    assert_eq!(reason(&*by_public_key, &changed), Some(Reason::BadSignature));
}

#[test]
fn what_is_signed_five_minutes_ago_or_ahead_is_fresh() {
    for (age, verdict) in [
        (300, None),
        (301, Some(Reason::TimestampTooOld)),
        (-300, None),
        (-301, Some(Reason::TimestampInFuture)),
    ] {
        assert_eq!(reason(&*ours(), &signed_at(NOW - age, b"{}")), verdict, "{age}");
    }
    let mut stale_forgery = signed_at(NOW - 301, b"{}");
    stale_forgery.body.push(b' ');
    assert_eq!(reason(&*ours(), &stale_forgery), Some(Reason::BadSignature));
}

#[test]
fn a_body_that_is_no_event_is_malformed_and_one_of_another_kind_is_ignored() {
    for body in [
        "",
        "[]",
        "x",
        "null",
        r#"{"type":"payment.succeeded"}"#,
        r#"{"type":"payment.succeeded","data":{}}"#,
        r#"{"type":"x","type":"y"}"#,
    ] {
        assert_eq!(reason(&*ours(), &signed_at(NOW, body.as_bytes())), Some(Reason::MalformedBody), "{body}");
    }
    for event in [json!({}), json!({ "test": 1 }), event("order.created", json!({})), json!({ "type": 1 })] {
        assert_eq!(judged(&event), Decision::IgnoreEventType, "{event}");
    }
}

#[test]
fn each_kind_of_event_asks_for_what_it_means() {
    let refund = |more: Value| {
        let mut data = payment(json!("88.80"), "CNY");
        data["refund_id"] = json!("re_1");
        for (name, value) in more.as_object().unwrap() {
            data[name] = value.clone();
        }
        data
    };
    for (event_type, data, decision) in [
        ("payment.succeeded", payment(json!("88.80"), "CNY"), Decision::ApplyPayment),
        ("payment.failed", payment(json!("88.80"), "CNY"), Decision::MarkFailed),
        ("payment.closed", payment(json!("88.80"), "CNY"), Decision::MarkClosed),
        ("payment.refunded", refund(json!({})), Decision::ApplyRefund),
        ("payment.refunded", refund(json!({ "refund_amount": "10.00" })), Decision::ApplyRefund),
        ("payment.refunded", refund(json!({ "refund_amount": "88.81" })), Decision::HoldAmountMismatch),
        ("payment.refunded", refund(json!({ "refund_amount": 10 })), Decision::HoldMalformedAmount),
        (
            "payment.refunded",
            refund(json!({ "amount": "99.00", "refund_amount": "10.00" })),
            Decision::HoldAmountMismatch,
        ),
        ("payment.refunded", refund(json!({ "refund_status": "closed" })), Decision::RefundFailed),
        ("payment.refunded", refund(json!({ "refund_status": "abnormal" })), Decision::RefundNeedsAttention),
        ("payment.refunded", refund(json!({ "refund_status": "processing" })), Decision::RecordOnly),
        (
            "payment.succeeded",
            json!({ "order_id": "P-000002", "payment_id": "pay_1", "amount": "88.80", "currency": "CNY" }),
            Decision::HoldUnknownOrder,
        ),
        (
            "payment.failed",
            json!({ "order_id": "", "amount": "88.80", "currency": "CNY" }),
            Decision::HoldUnknownOrder,
        ),
    ] {
        assert_eq!(judged(&event(event_type, data.clone())), decision, "{event_type} {data}");
    }
    let sent = signed_at(
        NOW,
        event("payment.refunded", refund(json!({ "refund_amount": "10.00" }))).to_string().as_bytes(),
    );
    let Event::Refunded(refund) = read(&*ours(), &sent).event else {
        panic!("a refund was read as something else")
    };
    let RefundSum::One(amount) = refund.sum else { panic!("a refund is told one by one") };
    assert_eq!(amount.exact().map(|amount| amount.to_string()).as_deref(), Some("10.00"));
    assert_eq!(refund.refund_id.as_deref(), Some("re_1"));
}

#[test]
fn only_the_amount_that_was_asked_for_is_applied() {
    for (amount, currency, decision) in [
        (json!("88.80"), "CNY", Decision::ApplyPayment),
        (json!("88.8"), "CNY", Decision::ApplyPayment),
        (json!("88.79"), "CNY", Decision::HoldAmountMismatch),
        (json!("88.81"), "CNY", Decision::HoldAmountMismatch),
        (json!("0.00"), "CNY", Decision::HoldAmountMismatch),
        (json!(88.8), "CNY", Decision::HoldMalformedAmount),
        (json!(8880), "CNY", Decision::HoldMalformedAmount),
        (json!("88.800"), "CNY", Decision::HoldMalformedAmount),
        (json!("-88.80"), "CNY", Decision::HoldMalformedAmount),
        (json!("+88.80"), "CNY", Decision::HoldMalformedAmount),
        (json!("8.88e1"), "CNY", Decision::HoldMalformedAmount),
        (json!(""), "CNY", Decision::HoldMalformedAmount),
        (json!(null), "CNY", Decision::HoldMalformedAmount),
        (json!("88.80"), "USD", Decision::HoldCurrencyMismatch),
        (json!("88.80"), "RMB", Decision::HoldCurrencyMismatch),
        (json!("88.80"), "cny", Decision::HoldCurrencyMismatch),
    ] {
        assert_eq!(
            super::endpoint::decision(&*ours(), &paid(amount.clone(), currency), "88.80", "CNY"),
            decision,
            "{amount} {currency}"
        );
    }
}

#[test]
fn a_delivery_that_is_repeated_means_the_same() {
    let body = event("payment.succeeded", payment(json!("88.80"), "CNY")).to_string();
    let first = read(&*ours(), &signed_at(NOW, body.as_bytes()));
    let later = verify_at(&*ours(), &signed_at(NOW + 305, body.as_bytes()), NOW + 307).unwrap();
    assert_eq!((first.delivery_key.as_str(), first.meaning()), ("msg_1", later.meaning()));
}
