use serde_json::{Value, json};

use super::*;
use crate::event::samples::{at, event, refunded};
use crate::rsa::VerifyingKey;

/// The resource as a receiver decrypts it.
fn resource(body: &[u8]) -> Value {
    let envelope: Value = serde_json::from_slice(body).unwrap();
    let part = |name: &str| envelope["resource"][name].as_str().unwrap().to_owned();
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, demo::API_V3_KEY.as_bytes()).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(part("nonce").as_bytes()).unwrap();
    let mut bytes = BASE64_STANDARD.decode(part("ciphertext")).unwrap();
    let plain = key.open_in_place(nonce, Aad::from(part("associated_data")), &mut bytes).unwrap();
    serde_json::from_slice(plain).unwrap()
}

fn message(what: What) -> Message {
    WechatPay::demo(PlatformKey::PublicKey).message(&event("CNY", what), at()).unwrap()
}

/// The signature is that of `openssl dgst -sha256 -sign` over the same three lines.
#[test]
fn signed_are_three_lines_the_last_newline_included() {
    let key = SigningKey::from_pem(demo::PLATFORM_PRIVATE_KEY).unwrap();
    assert_eq!(
        key.sign(&signed(1_795_910_398, "nonce", b"{}")),
        "dKndtYbv7P/sk+VYvTeaQyWCdLfGHMleaFEV+cZBI2Sq6cLi4nw8IA8R2Uia5YtvzHBVgeXoOJ6nGvjiHoZqc7WHj2Z2SNdsinXlEt/v\
         SMFOoJjjDTYqiNQwfO0TvVgV04wB8ziozJmkU+Suh/Wu0MAObFD8fJEvwfL4lYnjUYW3D5QC+5SVjWeOdJ0Ti4KyrMnQNKfxXGHOz24g\
         9CyeBDlIGalYhOCT76u5l98Di1bBZYCWG1OuZQM7Ijwm2CAOtev5TCCsnw7tCjrowxosnVvaj2LMqHlUGS6J9dXdi+V72+5IKac2j3Gj\
         SM7xHU81COvbt6BJVkJBF/Ve2ntpiA=="
    );
}

#[test]
fn the_headers_sign_the_body_and_name_the_key() {
    let message = message(What::Succeeded);
    let header = |name: &str| message.header(name).unwrap();
    assert_eq!(header("Wechatpay-Serial"), demo::PUBLIC_KEY_ID);
    let content = signed(at().timestamp(), header("Wechatpay-Nonce"), &message.body);
    let key = VerifyingKey::from_pem(demo::PLATFORM_PUBLIC_KEY).unwrap();
    assert!(key.verifies(&content, header("Wechatpay-Signature")));

    let certificate = WechatPay::demo(PlatformKey::Certificate);
    let message = certificate.message(&event("CNY", What::Succeeded), at()).unwrap();
    assert_eq!(message.header("Wechatpay-Serial"), Some(demo::PLATFORM_CERTIFICATE_SERIAL));
    let content = signed(at().timestamp(), message.header("Wechatpay-Nonce").unwrap(), &message.body);
    assert!(
        !key.verifies(&content, message.header("Wechatpay-Signature").unwrap()),
        "another key has signed"
    );
}

#[test]
fn a_retry_has_the_same_body_and_a_signature_of_its_own() {
    let (first, later) = (message(What::Succeeded), message(What::Succeeded));
    assert_eq!(first.body, later.body);
    assert_ne!(first.header("Wechatpay-Nonce"), later.header("Wechatpay-Nonce"));
    assert_ne!(first.header("Wechatpay-Signature"), later.header("Wechatpay-Signature"));
}

#[test]
fn a_payment_names_merchant_app_order_and_fen() {
    let message = message(What::Succeeded);
    let envelope: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(
        (&envelope["id"], &envelope["event_type"]),
        (&json!("event-1"), &json!("TRANSACTION.SUCCESS"))
    );
    let paid = resource(&message.body);
    assert_eq!((&paid["mchid"], &paid["appid"]), (&json!(demo::MCHID), &json!(demo::APPID)));
    assert_eq!((&paid["out_trade_no"], &paid["transaction_id"]), (&json!("P-1"), &json!("pi_1")));
    assert_eq!((&paid["trade_state"], &paid["amount"]["total"]), (&json!("SUCCESS"), &json!(8880)));
    assert_eq!(paid["success_time"], "2026-11-29T07:59:58+08:00");
}

#[test]
fn a_refund_is_told_by_itself_whatever_became_of_it() {
    for (outcome, event_type, status) in [
        (Outcome::Done, "REFUND.SUCCESS", "SUCCESS"),
        (Outcome::Abnormal, "REFUND.ABNORMAL", "ABNORMAL"),
        (Outcome::Closed, "REFUND.CLOSED", "CLOSED"),
    ] {
        let message = message(refunded(outcome));
        let envelope: Value = serde_json::from_slice(&message.body).unwrap();
        assert_eq!(envelope["event_type"], event_type);
        let refund = resource(&message.body);
        assert_eq!((&refund["refund_status"], &refund["amount"]["refund"]), (&json!(status), &json!(1500)));
        assert_eq!(refund.get("success_time").is_some(), outcome == Outcome::Done);
        assert_eq!(refund.get("appid"), None);
    }
}

#[test]
fn it_is_silent_about_failed_and_closed_payments() {
    for what in [What::Failed, What::Closed] {
        let silent = WechatPay::demo(PlatformKey::PublicKey).message(&event("CNY", what), at());
        assert!(matches!(silent, Err(Unsayable::Silent { .. })));
    }
}
