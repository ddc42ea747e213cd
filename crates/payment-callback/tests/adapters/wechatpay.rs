//! WeChat Pay.

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use chrono::DateTime;
use payment_callback::{Decision, Event, Provider, Reason, RefundOutcome, RefundSum};
use serde_json::{Value, json};

use crate::endpoint::{
    FIRST_PUBLIC_KEY, NOW, PAYMENT_NO, RsaKey, SECOND_CERTIFICATE, Sent, base64, decision, endpoint, read,
    reason, verify_at,
};

const API_V3_KEY: &str = "of-these-tests-with-32-bytes-all";
const PUBLIC_KEY_ID: &str = "PUB_KEY_ID_0100000000002026112900000000000001";
const CERTIFICATE_SERIAL: &str = "8A00000000000000000000000000000000000001";
/// Within the 30 days of the certificate; NOW is before them.
const WHILE_CERTIFIED: i64 = NOW + 10 * 86_400;

pub fn settings() -> Value {
    json!({
        "appid": "wx1",
        "mchid": "1900000001",
        "api_v3_key": API_V3_KEY,
        "keys": [
            { "kind": "public_key", "id": PUBLIC_KEY_ID, "public_key_pem": FIRST_PUBLIC_KEY },
            { "kind": "platform_cert", "id": CERTIFICATE_SERIAL, "certificate_pem": SECOND_CERTIFICATE },
        ],
    })
}

pub fn ours() -> Box<dyn Provider> {
    endpoint("wechatpay", settings())
}

fn encrypted(key: &str, content: &[u8], associated_data: &str) -> Value {
    let cipher = Aes256Gcm::new_from_slice(key.as_bytes()).unwrap();
    let nonce = Nonce::try_from(b"0123456789ab".as_slice()).unwrap();
    let ciphertext =
        cipher.encrypt(&nonce, Payload { msg: content, aad: associated_data.as_bytes() }).unwrap();
    json!({ "original_type": "transaction", "algorithm": "AEAD_AES_256_GCM", "ciphertext": base64(&ciphertext),
            "associated_data": associated_data, "nonce": "0123456789ab" })
}

fn envelope(event_type: &str, resource: Value) -> Value {
    json!({ "id": "delivery-1", "create_time": "2026-11-29T08:00:00+08:00", "resource_type": "encrypt-resource",
            "event_type": event_type, "summary": "支付成功", "resource": resource })
}

pub fn signed_at(timestamp: i64, body: &[u8]) -> Sent {
    signed_by(RsaKey::First, PUBLIC_KEY_ID, timestamp, body)
}

fn signed_by(key: RsaKey, serial: &str, timestamp: i64, body: &[u8]) -> Sent {
    let nonce = "EcZ9Cmy4Xyx1i6RlJQzLcCyEqDa26NBz";
    let signed = [timestamp.to_string().as_bytes(), b"\n", nonce.as_bytes(), b"\n", body, b"\n"].concat();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Sent {
        headers: vec![
            header("Wechatpay-Serial", serial),
            header("Wechatpay-Timestamp", &timestamp.to_string()),
            header("Wechatpay-Nonce", nonce),
            header("Wechatpay-Signature", &key.sign(&signed)),
            header("Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048"),
        ],
        body: body.to_vec(),
    }
}

fn sent(event_type: &str, content: &Value) -> Sent {
    let resource = encrypted(API_V3_KEY, content.to_string().as_bytes(), "transaction");
    signed_at(NOW, envelope(event_type, resource).to_string().as_bytes())
}

fn transaction() -> Value {
    json!({ "mchid": "1900000001", "appid": "wx1", "out_trade_no": PAYMENT_NO, "transaction_id": "4200000001",
            "trade_state": "SUCCESS", "amount": { "total": 8880, "payer_total": 8880, "currency": "CNY" } })
}

pub fn paid(total: Value) -> Sent {
    let mut content = transaction();
    content["amount"]["total"] = total;
    sent("TRANSACTION.SUCCESS", &content)
}

fn refund(status: &str) -> Value {
    json!({ "mchid": "1900000001", "out_trade_no": PAYMENT_NO, "transaction_id": "4200000001",
            "out_refund_no": "R-000001", "refund_id": "5000000001", "refund_status": status,
            "amount": { "total": 8880, "refund": 1000, "payer_total": 8880, "payer_refund": 1000 } })
}

fn judged(event_type: &str, content: &Value) -> Decision {
    decision(&*ours(), &sent(event_type, content), "88.80", "CNY")
}

#[test]
fn while_the_api_v3_key_is_changed_content_of_either_is_read() {
    let mut settings = settings();
    settings["api_v3_key"] = json!(["of-these-tests-after-the-change!", API_V3_KEY]);
    let either = endpoint("wechatpay", settings);
    for key in [API_V3_KEY, "of-these-tests-after-the-change!"] {
        let resource = encrypted(key, transaction().to_string().as_bytes(), "transaction");
        let sent = signed_at(NOW, envelope("TRANSACTION.SUCCESS", resource).to_string().as_bytes());
        assert_eq!(decision(&*either, &sent, "88.80", "CNY"), Decision::ApplyPayment);
    }
    let resource =
        encrypted("of-these-tests-and-of-nobody-at!", transaction().to_string().as_bytes(), "transaction");
    let sent = signed_at(NOW, envelope("TRANSACTION.SUCCESS", resource).to_string().as_bytes());
    assert_eq!(reason(&*either, &sent), Some(Reason::DecryptFailed));
}

#[test]
fn every_header_is_there_once_and_well_formed() {
    let good = paid(json!(8880));
    assert_eq!(reason(&*ours(), &good), None);
    for name in ["Wechatpay-Serial", "Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Signature"] {
        assert_eq!(reason(&*ours(), &good.clone().without(name)), Some(Reason::MissingHeader), "{name}");
        assert_eq!(reason(&*ours(), &good.clone().twice(name)), Some(Reason::MalformedHeader), "{name}");
        let mut empty = good.clone();
        empty.header(name).clear();
        assert_eq!(reason(&*ours(), &empty), Some(Reason::MalformedHeader), "{name}");
    }
    assert_eq!(reason(&*ours(), &good.clone().without("Wechatpay-Signature-Type")), None);
    for (name, value, why) in [
        ("Wechatpay-Timestamp", "x", Reason::MalformedHeader),
        ("Wechatpay-Timestamp", "1795910400.0", Reason::MalformedHeader),
        ("Wechatpay-Timestamp", "1795910400000", Reason::MalformedHeader),
        ("Wechatpay-Nonce", "a\nb", Reason::MalformedHeader),
        ("Wechatpay-Nonce", "a b", Reason::MalformedHeader),
        ("Wechatpay-Signature", "not base64", Reason::MalformedSignature),
        ("Wechatpay-Signature", "AAAA", Reason::BadSignature),
        ("Wechatpay-Signature-Type", "WECHATPAY2-SM2-WITH-SM3", Reason::UnsupportedAlgorithm),
        ("Wechatpay-Serial", "PUB_KEY_ID_0100000000002026112900000000000002", Reason::UnknownKey),
        ("Wechatpay-Serial", "pub_key_id_0100000000002026112900000000000001", Reason::UnknownKey),
        ("Wechatpay-Timestamp", "1795910401", Reason::BadSignature),
        ("Wechatpay-Nonce", "another", Reason::BadSignature),
    ] {
        let mut changed = good.clone();
        *changed.header(name) = value.to_owned();
        assert_eq!(reason(&*ours(), &changed), Some(why), "{name}: {value}");
    }
}

#[test]
fn a_probe_is_told_from_a_forgery_whatever_its_serial() {
    let mut probe = paid(json!(8880));
    let signature = format!("WECHATPAY/SIGNTEST/{}", &probe.header("Wechatpay-Signature")[19..]);
    *probe.header("Wechatpay-Signature") = signature;
    assert_eq!(reason(&*ours(), &probe), Some(Reason::SignatureProbe));
    *probe.header("Wechatpay-Serial") = "5157F09EFDC096DE15EBE81A47057A7200000001".to_owned();
    assert_eq!(reason(&*ours(), &probe), Some(Reason::SignatureProbe));
}

#[test]
fn the_key_is_chosen_by_serial_and_a_certificate_has_its_time() {
    let resource = encrypted(API_V3_KEY, transaction().to_string().as_bytes(), "");
    let body = envelope("TRANSACTION.SUCCESS", resource).to_string();
    let by_certificate = |serial: &str, at: i64| {
        let sent = signed_by(RsaKey::Second, serial, at, body.as_bytes());
        verify_at(&*ours(), &sent, at).map(|notice| notice.key_id).map_err(|rejection| rejection.reason)
    };
    let lower_case = CERTIFICATE_SERIAL.to_lowercase();
    assert_eq!(by_certificate(CERTIFICATE_SERIAL, WHILE_CERTIFIED).as_deref(), Ok(CERTIFICATE_SERIAL));
    assert_eq!(by_certificate(&lower_case, WHILE_CERTIFIED).as_deref(), Ok(CERTIFICATE_SERIAL));
    assert_eq!(by_certificate(PUBLIC_KEY_ID, WHILE_CERTIFIED), Err(Reason::BadSignature));
    assert_eq!(by_certificate(CERTIFICATE_SERIAL, NOW), Err(Reason::UnknownKey), "it is not valid yet");
    let expired = WHILE_CERTIFIED + 30 * 86_400;
    assert_eq!(by_certificate(CERTIFICATE_SERIAL, expired), Err(Reason::UnknownKey));
    for (at, out_of_time) in [(NOW, true), (WHILE_CERTIFIED, false), (expired, true)] {
        let at = DateTime::from_timestamp(at, 0).unwrap();
        let named = if out_of_time { vec![CERTIFICATE_SERIAL.to_owned()] } else { Vec::new() };
        assert_eq!(ours().keys_out_of_time(at), named, "{at}: a public key has no end");
    }
}

#[test]
fn what_is_signed_five_minutes_ago_or_ahead_is_fresh() {
    let resource = encrypted(API_V3_KEY, transaction().to_string().as_bytes(), "");
    let body = envelope("TRANSACTION.SUCCESS", resource).to_string();
    for (age, verdict) in [
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
fn a_body_that_is_no_notification_is_malformed() {
    for body in [
        "",
        "[]",
        "x",
        "{}",
        r#"{"id":"1","event_type":"TRANSACTION.SUCCESS"}"#,
        r#"{"id":"1","resource":{}}"#,
        r#"{"event_type":"TRANSACTION.SUCCESS","resource":{}}"#,
        r#"{"id":"1","id":"2","event_type":"TRANSACTION.SUCCESS","resource":{}}"#,
    ] {
        assert_eq!(reason(&*ours(), &signed_at(NOW, body.as_bytes())), Some(Reason::MalformedBody), "{body}");
    }
}

#[test]
fn what_cannot_be_decrypted_is_told_from_what_is_not_signed() {
    let good = encrypted(API_V3_KEY, transaction().to_string().as_bytes(), "transaction");
    let with = |member: &str, value: Value| {
        let mut resource = good.clone();
        resource[member] = value;
        resource
    };
    let ciphertext = good["ciphertext"].as_str().unwrap();
    for resource in [
        json!({}),
        json!("x"),
        with("algorithm", json!("AEAD_SM4_GCM")),
        with("algorithm", json!(null)),
        with("nonce", json!("0123456789abcdef")),
        with("nonce", json!("0123456789a")),
        with("nonce", json!("")),
        with("nonce", json!(null)),
        with("associated_data", json!("")),
        with("associated_data", json!(null)),
        with("associated_data", json!(1)),
        with("ciphertext", json!("")),
        with("ciphertext", json!("AAAA")),
        with("ciphertext", json!(ciphertext[..ciphertext.len() - 4])),
        with("ciphertext", json!(format!("{ciphertext}=="))),
        with("ciphertext", json!("-_-_")),
        encrypted("another-key-of-these-tests-32-by", transaction().to_string().as_bytes(), "transaction"),
        encrypted(API_V3_KEY, b"not json", "transaction"),
        encrypted(API_V3_KEY, b"[]", "transaction"),
        encrypted(API_V3_KEY, br#"{"mchid":"1","mchid":"2"}"#, "transaction"),
    ] {
        let sent = signed_at(NOW, envelope("TRANSACTION.SUCCESS", resource.clone()).to_string().as_bytes());
        assert_eq!(reason(&*ours(), &sent), Some(Reason::DecryptFailed), "{resource}");
    }
    let mut absent = encrypted(API_V3_KEY, transaction().to_string().as_bytes(), "");
    absent.as_object_mut().unwrap().remove("associated_data");
    let sent = signed_at(NOW, envelope("TRANSACTION.SUCCESS", absent).to_string().as_bytes());
    assert_eq!(
        decision(&*ours(), &sent, "88.80", "CNY"),
        Decision::ApplyPayment,
        "no associated data is empty"
    );
}

#[test]
fn each_kind_of_notification_asks_for_what_it_means() {
    for (trade_state, decision) in [
        ("SUCCESS", Decision::ApplyPayment),
        ("REFUND", Decision::RecordOnly),
        ("NOTPAY", Decision::RecordOnly),
        ("CLOSED", Decision::RecordOnly),
        ("REVOKED", Decision::RecordOnly),
        ("USERPAYING", Decision::RecordOnly),
        ("PAYERROR", Decision::RecordOnly),
        ("ACCEPT", Decision::RecordOnly),
    ] {
        let mut content = transaction();
        content["trade_state"] = json!(trade_state);
        assert_eq!(judged("TRANSACTION.SUCCESS", &content), decision, "{trade_state}");
    }
    for (event_type, status, decision) in [
        ("REFUND.SUCCESS", "SUCCESS", Decision::ApplyRefund),
        ("REFUND.CLOSED", "CLOSED", Decision::RefundFailed),
        ("REFUND.ABNORMAL", "ABNORMAL", Decision::RefundNeedsAttention),
        ("REFUND.SUCCESS", "PROCESSING", Decision::RecordOnly),
        ("PAYSCORE.USER_OPEN_SERVICE", "", Decision::IgnoreEventType),
        ("SECURITY_ECHO.SUCCESS", "", Decision::IgnoreEventType),
    ] {
        assert_eq!(judged(event_type, &refund(status)), decision, "{event_type} {status}");
    }
    let Event::Refunded(read) = read(&*ours(), &sent("REFUND.SUCCESS", &refund("SUCCESS"))).event else {
        panic!("a refund was read as something else");
    };
    assert_eq!(read.outcome, RefundOutcome::Succeeded);
    assert_eq!(
        (read.refund_id.as_deref(), read.refund_no.as_deref()),
        (Some("5000000001"), Some("R-000001"))
    );
    let RefundSum::One(amount) = read.sum else { panic!("a refund at WeChat Pay is told one by one") };
    assert_eq!(amount.exact().map(|amount| amount.to_string()).as_deref(), Some("10.00"));
}

#[test]
fn only_the_amount_that_was_asked_for_is_applied() {
    for (total, currency, decision) in [
        (json!(8880), json!("CNY"), Decision::ApplyPayment),
        (json!(8879), json!("CNY"), Decision::HoldAmountMismatch),
        (json!(8881), json!("CNY"), Decision::HoldAmountMismatch),
        (json!(0), json!("CNY"), Decision::HoldAmountMismatch),
        (json!(-8880), json!("CNY"), Decision::HoldMalformedAmount),
        (json!("8880"), json!("CNY"), Decision::HoldMalformedAmount),
        (json!(88.8), json!("CNY"), Decision::HoldMalformedAmount),
        (json!(null), json!("CNY"), Decision::HoldMalformedAmount),
        (json!(8880), json!("HKD"), Decision::HoldCurrencyMismatch),
        (json!(8880), json!("RMB"), Decision::HoldCurrencyMismatch),
        (json!(8880), json!(null), Decision::HoldMalformedAmount),
    ] {
        let mut content = transaction();
        content["amount"]["total"] = total.clone();
        content["amount"]["currency"] = currency.clone();
        assert_eq!(judged("TRANSACTION.SUCCESS", &content), decision, "{total} {currency}");
    }
    let mut with_coupon = transaction();
    with_coupon["amount"]["payer_total"] = json!(8000);
    assert_eq!(judged("TRANSACTION.SUCCESS", &with_coupon), Decision::ApplyPayment);
    for (total, refunded, decision) in [
        (json!(8880), json!(8880), Decision::ApplyRefund),
        (json!(8880), json!(8881), Decision::HoldAmountMismatch),
        (json!(8881), json!(1000), Decision::HoldAmountMismatch),
        (json!(8880), json!("1000"), Decision::HoldMalformedAmount),
    ] {
        let mut content = refund("SUCCESS");
        content["amount"]["total"] = total.clone();
        content["amount"]["refund"] = refunded.clone();
        assert_eq!(judged("REFUND.SUCCESS", &content), decision, "{total} {refunded}");
    }
}

#[test]
fn another_merchant_or_app_is_for_somebody_else() {
    let with = |member: &str, value: Value| {
        let mut content = transaction();
        content[member] = value;
        content
    };
    let theirs = Decision::IgnoreOtherAccount;
    assert_eq!(judged("TRANSACTION.SUCCESS", &with("mchid", json!("1900000002"))), theirs);
    assert_eq!(judged("TRANSACTION.SUCCESS", &with("mchid", json!(null))), theirs);
    assert_eq!(judged("TRANSACTION.SUCCESS", &with("appid", json!("wx2"))), theirs);
    assert_eq!(judged("TRANSACTION.SUCCESS", &with("appid", json!(null))), theirs);
    assert_eq!(judged("TRANSACTION.SUCCESS", &with("sub_mchid", json!("1900000002"))), theirs);
    let mut of_another = refund("SUCCESS");
    of_another["mchid"] = json!("1900000002");
    assert_eq!(judged("REFUND.SUCCESS", &of_another), theirs);
}

#[test]
fn a_partner_answers_for_its_own_merchant_only() {
    let mut settings = settings();
    settings["sub_mchid"] = json!("1900000009");
    let partner = endpoint("wechatpay", settings);
    let content = |sub_mchid: &str| {
        json!({ "sp_mchid": "1900000001", "sp_appid": "wx1", "sub_mchid": sub_mchid, "out_trade_no": PAYMENT_NO,
                "transaction_id": "4200000001", "trade_state": "SUCCESS", "amount": { "total": 8880, "currency": "CNY" } })
    };
    let judged = |content: &Value| decision(&*partner, &sent("TRANSACTION.SUCCESS", content), "88.80", "CNY");
    assert_eq!(judged(&content("1900000009")), Decision::ApplyPayment);
    assert_eq!(judged(&content("1900000008")), Decision::IgnoreOtherAccount);
    assert_eq!(judged(&transaction()), Decision::IgnoreOtherAccount);
    let combined =
        json!({ "combine_out_trade_no": PAYMENT_NO, "combine_mchid": "1900000001", "sub_orders": [] });
    assert_eq!(judged(&combined), Decision::IgnoreEventType);
}

#[test]
fn what_names_no_money_is_malformed_and_what_names_no_payment_of_ours_is_held() {
    let mut content = transaction();
    content["transaction_id"] = json!(null);
    assert_eq!(reason(&*ours(), &sent("TRANSACTION.SUCCESS", &content)), Some(Reason::MalformedBody));
    let mut content = refund("SUCCESS");
    content["refund_id"] = json!(null);
    assert_eq!(reason(&*ours(), &sent("REFUND.SUCCESS", &content)), Some(Reason::MalformedBody));
    for out_trade_no in [json!("P-000002"), json!(""), json!(null), json!(1)] {
        let mut content = transaction();
        content["out_trade_no"] = out_trade_no;
        assert_eq!(judged("TRANSACTION.SUCCESS", &content), Decision::HoldUnknownOrder);
    }
}
