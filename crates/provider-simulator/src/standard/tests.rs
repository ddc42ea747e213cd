use serde_json::{Value, json};

use super::*;
use crate::event::samples::{at, event, refunded};

fn body(what: What) -> Value {
    let message = Standard::demo(Signing::Secret).message(&event("CNY", what), at()).unwrap();
    serde_json::from_slice(&message.body).unwrap()
}

/// The vector of the official libraries' own test of `sign`.
#[test]
fn a_v1_signature_is_that_of_the_official_libraries() {
    let signed = br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
    assert_eq!(
        secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").sign(signed),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    );
}

/// Made with another library (Python's cryptography).
#[test]
fn a_v1a_signature_is_that_of_another_library() {
    assert_eq!(
        private_key(demo::PRIVATE_KEY).sign(b"msg_1.1795910398.{}"),
        "v1a,WTd6591rQzPSW/H5Q9M1pQFEyD6f12JNAfOB/p6OOy8diV0+3DfbFqCmPh3m7a1pcT/aKznhPI8/Mw0MxcGOBQ=="
    );
}

#[test]
fn during_a_rotation_both_secrets_sign() {
    let message = Standard::demo(Signing::BothSecrets).message(&event("CNY", What::Succeeded), at()).unwrap();
    let signatures: Vec<&str> = message.header("webhook-signature").unwrap().split(' ').collect();
    assert_eq!(signatures.len(), 2);
    assert!(signatures[0] != signatures[1] && signatures.iter().all(|one| one.starts_with("v1,")));
}

#[test]
fn every_attempt_keeps_the_id_and_has_its_own_time() {
    let (standard, event) = (Standard::demo(Signing::Secret), event("CNY", What::Succeeded));
    let later = standard.message(&event, at() + chrono::TimeDelta::minutes(5)).unwrap();
    assert_eq!(
        (later.header("webhook-id"), later.header("webhook-timestamp")),
        (Some("event-1"), Some("1795910698"))
    );
}

#[test]
fn amounts_are_texts_and_a_refund_has_its_own() {
    assert_eq!(
        body(What::Succeeded),
        json!({
            "type": "payment.succeeded",
            "timestamp": "2026-11-28T23:59:58Z",
            "data": { "order_id": "P-1", "payment_id": "pi_1", "amount": "88.80", "currency": "CNY" }
        })
    );
    let refund = body(refunded(Outcome::Done));
    assert_eq!(refund["type"], "payment.refunded");
    assert_eq!(
        (&refund["data"]["refund_id"], &refund["data"]["refund_amount"]),
        (&json!("re_2"), &json!("15.00"))
    );
}

#[test]
fn there_is_no_message_about_a_closed_payment() {
    let silent = Standard::demo(Signing::Secret).message(&event("CNY", What::Closed), at());
    assert!(matches!(silent, Err(Unsayable::Silent { .. })));
}

#[test]
fn an_amount_that_its_currency_cannot_have_is_refused() {
    let inexact = Standard::demo(Signing::Secret).message(&event("JPY", What::Succeeded), at());
    assert!(matches!(inexact, Err(Unsayable::Inexact { .. })));
}
