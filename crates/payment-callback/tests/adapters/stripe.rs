//! Stripe.

use payment_callback::{Decision, Event, Provider, Reason, RefundOutcome, RefundSum};
use serde_json::{Value, json};

use crate::endpoint::{NOW, PAYMENT_NO, Sent, decision, endpoint, hex, hmac, read, reason, verify_at};

pub const SECRET: &str = "whsec_of_these_tests_first";
const NEXT_SECRET: &str = "whsec_of_these_tests_second";

pub fn ours() -> Box<dyn Provider> {
    endpoint("stripe", json!({ "secrets": [{ "id": "first", "secret": SECRET }], "livemode": true }))
}

fn code(secret: &str, timestamp: &str, body: &[u8]) -> String {
    hex(&hmac(secret.as_bytes(), &[timestamp.as_bytes(), b".", body].concat()))
}

pub fn signed_at(timestamp: i64, body: &[u8]) -> Sent {
    let timestamp = timestamp.to_string();
    with_header(&format!("t={timestamp},v1={}", code(SECRET, &timestamp, body)), body)
}

fn with_header(value: &str, body: &[u8]) -> Sent {
    Sent { headers: vec![("Stripe-Signature".to_owned(), value.to_owned())], body: body.to_vec() }
}

fn event(event_type: &str, object: Value) -> Value {
    json!({ "id": "evt_1", "object": "event", "type": event_type, "livemode": true, "data": { "object": object } })
}

pub fn sent(event: &Value) -> Sent {
    signed_at(NOW, event.to_string().as_bytes())
}

pub fn intent(amount: Value, currency: &str) -> Value {
    json!({ "id": "pi_1", "object": "payment_intent", "amount_received": amount, "currency": currency,
            "metadata": { "order_id": PAYMENT_NO } })
}

pub fn paid(amount: Value, currency: &str) -> Sent {
    sent(&event("payment_intent.succeeded", intent(amount, currency)))
}

fn judged(event: &Value) -> Decision {
    decision(&*ours(), &sent(event), "88.80", "USD")
}

fn reason_of_header(value: &str) -> Option<Reason> {
    reason(&*ours(), &with_header(value, b"{}"))
}

#[test]
fn the_header_is_there_once_and_well_formed() {
    let good = paid(json!(8880), "usd");
    assert_eq!(reason(&*ours(), &good), None);
    assert_eq!(reason(&*ours(), &good.clone().without("stripe-signature")), Some(Reason::MissingHeader));
    assert_eq!(reason(&*ours(), &good.twice("Stripe-Signature")), Some(Reason::MalformedHeader));
    let v1 = code(SECRET, &NOW.to_string(), b"{}");
    for value in [
        String::new(),
        "garbage".to_owned(),
        format!("v1={v1}"),
        format!("t={NOW}"),
        format!("t={NOW},v0={v1}"),
        format!("t={NOW},t={NOW},v1={v1}"),
        format!("t={NOW}.5,v1={v1}"),
        format!("t=-1,v1={v1}"),
        format!("t=+{NOW},v1={v1}"),
        format!("t=,v1={v1}"),
        format!("t={NOW}000,v1={v1}"),
        format!("t={NOW},v1={v1},"),
        format!("t={NOW}, v1={v1}"),
        format!("t={NOW},v1={v1},é=1"),
    ] {
        assert_eq!(reason_of_header(&value), Some(Reason::MalformedHeader), "{value}");
    }
}

#[test]
fn a_signature_is_complete_and_in_lower_case() {
    let v1 = code(SECRET, &NOW.to_string(), b"{}");
    for value in [
        format!("t={NOW},v1={}", v1.to_uppercase()),
        format!("t={NOW},v1={}", &v1[..32]),
        format!("t={NOW},v1={v1}00"),
        format!("t={NOW},v1="),
        format!("t={NOW},v1=zz"),
        format!("t={NOW},v1={}", code("whsec_of_somebody_else", &NOW.to_string(), b"{}")),
        format!("t={NOW},v1={}", code(&SECRET["whsec_".len()..], &NOW.to_string(), b"{}")),
    ] {
        assert_eq!(reason_of_header(&value), Some(Reason::BadSignature), "{value}");
    }
}

#[test]
fn any_of_several_signatures_by_any_of_several_secrets_is_accepted() {
    let body = event("payment_intent.succeeded", intent(json!(8880), "usd")).to_string();
    let (old, new) = (
        code(SECRET, &NOW.to_string(), body.as_bytes()),
        code(NEXT_SECRET, &NOW.to_string(), body.as_bytes()),
    );
    let both = endpoint("stripe", json!({ "secrets": [SECRET, { "id": "next", "secret": NEXT_SECRET }] }));
    let only_new = endpoint("stripe", json!({ "secrets": [{ "id": "next", "secret": NEXT_SECRET }] }));
    for value in [format!("t={NOW},v1={old},v1={new}"), format!("t={NOW},v1={new},v1={old},v0=x")] {
        let sent = with_header(&value, body.as_bytes());
        assert_eq!(read(&*both, &sent).key_id, "1");
        assert_eq!(read(&*only_new, &sent).key_id, "next");
    }
    let by_the_old = with_header(&format!("t={NOW},v1={old}"), body.as_bytes());
    assert_eq!(reason(&*only_new, &by_the_old), Some(Reason::BadSignature));
}

#[test]
fn what_is_signed_five_minutes_ago_or_ahead_is_fresh_and_a_stale_forgery_is_a_forgery() {
    let body = event("payment_intent.succeeded", intent(json!(8880), "usd")).to_string();
    for (age, verdict) in [
        (0, None),
        (300, None),
        (301, Some(Reason::TimestampTooOld)),
        (-300, None),
        (-301, Some(Reason::TimestampInFuture)),
    ] {
        assert_eq!(reason(&*ours(), &signed_at(NOW - age, body.as_bytes())), verdict, "{age}");
    }
    let mut stale_forgery = signed_at(NOW - 301, body.as_bytes());
    stale_forgery.body.push(b' ');
    assert_eq!(reason(&*ours(), &stale_forgery), Some(Reason::BadSignature));
}

#[test]
fn a_body_that_is_no_event_is_malformed() {
    let repeated = r#"{"id":"evt_1","object":"event","type":"x","livemode":true,"livemode":true,"data":{}}"#;
    for body in [
        "",
        "[]",
        "null",
        "x",
        "{}",
        "\u{feff}{}",
        r#"{"id":"evt_1"}"#,
        r#"{"id":"evt_1","type":"x","livemode":true}"#,
        r#"{"id":"evt_1","type":"x","object":"list","livemode":true}"#,
        r#"{"object":"event","type":"x","livemode":true,"data":{"object":{}}}"#,
        r#"{"id":"evt_1","object":"event","type":"payment_intent.succeeded","livemode":true}"#,
        r#"{"id":"evt_1","object":"event","type":"payment_intent.succeeded","livemode":true,"data":{"object":{}}}"#,
        repeated,
    ] {
        assert_eq!(reason(&*ours(), &signed_at(NOW, body.as_bytes())), Some(Reason::MalformedBody), "{body}");
    }
}

#[test]
fn each_kind_of_event_asks_for_what_it_means() {
    let session = |status: &str| {
        json!({ "id": "cs_1", "object": "checkout.session", "amount_total": 8880, "currency": "usd",
                "payment_status": status, "payment_intent": "pi_1", "client_reference_id": PAYMENT_NO })
    };
    let charge = |refunded: Value| {
        json!({ "id": "ch_1", "object": "charge", "amount": 8880, "amount_refunded": refunded, "currency": "usd",
                "payment_intent": "pi_1", "metadata": { "order_id": PAYMENT_NO } })
    };
    let refund = |status: &str| {
        json!({ "id": "re_1", "object": "refund", "amount": 1000, "currency": "usd", "status": status,
                "payment_intent": "pi_1", "metadata": { "order_id": PAYMENT_NO } })
    };
    let of_ours = {
        let mut refund = refund("succeeded");
        refund["metadata"]["refund_no"] = json!("0193e1c57d3a7b528a345f1d2c9b7e66");
        refund
    };
    let intent = || intent(json!(8880), "usd");
    for (event_type, object, decision) in [
        ("payment_intent.succeeded", intent(), Decision::ApplyPayment),
        ("payment_intent.payment_failed", intent(), Decision::MarkFailed),
        ("payment_intent.canceled", intent(), Decision::MarkClosed),
        ("payment_intent.created", intent(), Decision::IgnoreEventType),
        ("checkout.session.completed", session("paid"), Decision::ApplyPayment),
        ("checkout.session.completed", session("unpaid"), Decision::RecordOnly),
        ("checkout.session.completed", session("no_payment_required"), Decision::RecordOnly),
        ("checkout.session.async_payment_succeeded", session("paid"), Decision::ApplyPayment),
        ("checkout.session.async_payment_failed", session("unpaid"), Decision::MarkFailed),
        ("checkout.session.expired", session("unpaid"), Decision::RecordOnly),
        ("charge.refunded", charge(json!(1000)), Decision::ApplyRefund),
        ("charge.refunded", charge(json!(8880)), Decision::ApplyRefund),
        ("charge.refunded", charge(json!(8881)), Decision::HoldAmountMismatch),
        ("charge.refunded", charge(json!(0)), Decision::RecordOnly),
        ("charge.refunded", charge(json!("1000")), Decision::HoldMalformedAmount),
        ("charge.refunded", charge(json!(null)), Decision::HoldMalformedAmount),
        ("refund.failed", refund("failed"), Decision::RefundFailed),
        ("refund.updated", refund("canceled"), Decision::RefundFailed),
        ("charge.refund.updated", refund("succeeded"), Decision::RecordOnly),
        ("refund.created", refund("pending"), Decision::RecordOnly),
        ("refund.created", of_ours, Decision::ApplyRefund),
        ("charge.dispute.created", json!({ "id": "dp_1", "payment_intent": "pi_1" }), Decision::RecordOnly),
        ("charge.dispute.closed", json!({ "id": "dp_1", "charge": "ch_1" }), Decision::RecordOnly),
        ("customer.created", json!({ "id": "cus_1" }), Decision::IgnoreEventType),
    ] {
        assert_eq!(judged(&event(event_type, object.clone())), decision, "{event_type} {object}");
    }
}

#[test]
fn a_payment_is_the_same_money_whichever_event_tells_of_it() {
    let session = json!({ "id": "cs_1", "amount_total": 8880, "currency": "usd", "payment_status": "paid",
                          "payment_intent": { "id": "pi_1", "object": "payment_intent" },
                          "metadata": { "order_id": PAYMENT_NO } });
    let of_session = read(&*ours(), &sent(&event("checkout.session.completed", session)));
    let of_intent = read(&*ours(), &paid(json!(8880), "usd"));
    assert_eq!(of_session.event, of_intent.event);
    assert_eq!(of_intent.event.payment_id(), Some("pi_1"));
    let charge = json!({ "id": "ch_1", "amount_refunded": 1000, "currency": "usd", "payment_intent": "pi_1",
                         "metadata": { "order_id": PAYMENT_NO } });
    let Event::Refunded(refund) = read(&*ours(), &sent(&event("charge.refunded", charge))).event else {
        panic!("a refund was read as something else");
    };
    assert_eq!((refund.payment_id.as_str(), refund.outcome), ("pi_1", RefundOutcome::Succeeded));
    assert!(matches!(refund.sum, RefundSum::RunningTotal(_)));
}

#[test]
fn only_the_amount_that_was_asked_for_is_applied() {
    for (amount, currency, decision) in [
        (json!(8880), "usd", Decision::ApplyPayment),
        (json!(8880), "USD", Decision::ApplyPayment),
        (json!(8879), "usd", Decision::HoldAmountMismatch),
        (json!(8881), "usd", Decision::HoldAmountMismatch),
        (json!(888_000), "usd", Decision::HoldAmountMismatch),
        (json!(0), "usd", Decision::HoldAmountMismatch),
        (json!(-8880), "usd", Decision::HoldMalformedAmount),
        (json!("8880"), "usd", Decision::HoldMalformedAmount),
        (json!(8880.0), "usd", Decision::HoldMalformedAmount),
        (json!(88.8), "usd", Decision::HoldMalformedAmount),
        (json!(null), "usd", Decision::HoldMalformedAmount),
        (json!(true), "usd", Decision::HoldMalformedAmount),
        (json!(8880), "eur", Decision::HoldCurrencyMismatch),
        (json!(8880), "jpy", Decision::HoldCurrencyMismatch),
        (json!(8880), "xyz", Decision::HoldCurrencyMismatch),
    ] {
        assert_eq!(
            super::endpoint::decision(&*ours(), &paid(amount.clone(), currency), "88.80", "USD"),
            decision,
            "{amount} {currency}"
        );
    }
    let ugx = decision(&*ours(), &paid(json!(500), "ugx"), "500", "UGX");
    assert_eq!(ugx, Decision::HoldMalformedAmount, "nobody knows what Stripe means by an amount of UGX");
}

#[test]
fn what_names_no_payment_of_ours_is_held() {
    for metadata in [
        json!({}),
        json!(null),
        json!({ "order_id": "" }),
        json!({ "order_id": 1 }),
        json!({ "order_id": "P-000002" }),
        json!([PAYMENT_NO]),
    ] {
        let mut object = intent(json!(8880), "usd");
        object["metadata"] = metadata;
        let event = event("payment_intent.succeeded", object.clone());
        assert_eq!(judged(&event), Decision::HoldUnknownOrder, "{object}");
    }
}

#[test]
fn another_mode_or_account_is_for_somebody_else() {
    let connected = endpoint("stripe", json!({ "secrets": [SECRET], "account": "acct_1" }));
    let any_mode = endpoint("stripe", json!({ "secrets": [SECRET] }));
    let with = |member: &str, value: Value| {
        let mut event = event("payment_intent.succeeded", intent(json!(8880), "usd"));
        event[member] = value;
        sent(&event)
    };
    let judge = |provider: &dyn Provider, sent: &Sent| decision(provider, sent, "88.80", "USD");
    assert_eq!(judge(&*ours(), &with("livemode", json!(false))), Decision::IgnoreOtherAccount);
    assert_eq!(judge(&*ours(), &with("livemode", json!("true"))), Decision::IgnoreOtherAccount);
    assert_eq!(judge(&*any_mode, &with("livemode", json!(false))), Decision::ApplyPayment);
    assert_eq!(judge(&*ours(), &with("account", json!("acct_1"))), Decision::IgnoreOtherAccount);
    assert_eq!(judge(&*connected, &with("account", json!("acct_1"))), Decision::ApplyPayment);
    assert_eq!(judge(&*connected, &with("account", json!("acct_2"))), Decision::IgnoreOtherAccount);
    assert_eq!(judge(&*connected, &with("livemode", json!(true))), Decision::IgnoreOtherAccount);
}

#[test]
fn a_thin_event_is_fetched_and_told_by_its_object() {
    let thin = |object_type: &str| {
        json!({ "id": "evt_1", "object": "v2.core.event", "type": "payment_intent.succeeded", "livemode": true,
                "related_object": { "id": "pi_1", "type": object_type, "url": "/v1/payment_intents/pi_1" } })
    };
    assert_eq!(judged(&thin("payment_intent")), Decision::FetchObject);
    assert_eq!(judged(&thin("customer")), Decision::IgnoreEventType);
    let Event::ToBeFetched { object_id, object_type } = read(&*ours(), &sent(&thin("payment_intent"))).event
    else {
        panic!("a thin event was read as something else");
    };
    assert_eq!((object_id.as_str(), object_type.as_str()), ("pi_1", "payment_intent"));
    let mut elsewhere = thin("payment_intent");
    elsewhere["context"] = json!("acct_2");
    assert_eq!(judged(&elsewhere), Decision::IgnoreOtherAccount);
}

#[test]
fn a_delivery_that_is_repeated_means_the_same_and_one_with_another_content_does_not() {
    let first = read(&*ours(), &paid(json!(8880), "usd"));
    let body = event("payment_intent.succeeded", intent(json!(8880), "usd")).to_string();
    let later = verify_at(&*ours(), &signed_at(NOW + 1800, body.as_bytes()), NOW + 1801).unwrap();
    assert_eq!((first.delivery_key.as_str(), first.meaning()), ("evt_1", later.meaning()));
    assert_ne!(first.meaning(), read(&*ours(), &paid(json!(8881), "usd")).meaning());
}
