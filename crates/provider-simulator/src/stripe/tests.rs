use serde_json::{Value, json};

use super::*;
use crate::event::samples::{amount, at, event, refunded, refunded_in_full};

fn body(currency: &str, what: What) -> Value {
    let message = Stripe::demo(false).message(&event(currency, what), at()).unwrap();
    serde_json::from_slice(&message.body).unwrap()
}

/// The digits are those of `openssl dgst -sha256 -hmac SECRET` over `1795910398.{}`.
#[test]
fn a_signature_is_the_mac_of_the_time_a_point_and_the_body() {
    let old = "075c1238c04206137e9a4c2e61916c11f34ea03f266dd772ea2e8e18878be466";
    let new = "a82f19712f81eadad13bf92f7beea1218a85025b0e34d175fbd8fda3dce89ee1";
    assert_eq!(Stripe::demo(false).signature(1_795_910_398, b"{}"), format!("t=1795910398,v1={old}"));
    assert_eq!(
        Stripe::demo(true).signature(1_795_910_398, b"{}"),
        format!("t=1795910398,v1={old},v1={new}"),
        "a secret that is being rolled"
    );
}

#[test]
fn each_attempt_is_signed_for_its_own_moment_and_carries_the_same_event() {
    let (stripe, event) = (Stripe::demo(false), event("USD", What::Succeeded));
    let first = stripe.message(&event, at()).unwrap();
    let later = stripe.message(&event, at() + chrono::TimeDelta::minutes(30)).unwrap();
    assert_eq!(first.body, later.body);
    assert_ne!(first.header("Stripe-Signature"), later.header("Stripe-Signature"));
}

#[test]
fn a_payment_is_told_by_its_intent() {
    let event = body("USD", What::Succeeded);
    assert_eq!((&event["id"], &event["type"]), (&json!("event-1"), &json!("payment_intent.succeeded")));
    let object = &event["data"]["object"];
    assert_eq!((&object["amount_received"], &object["currency"]), (&json!(8880), &json!("usd")));
    assert_eq!((&object["id"], &object["metadata"]["order_id"]), (&json!("pi_1"), &json!("P-1")));

    let failed = body("USD", What::Failed);
    assert_eq!(failed["type"], "payment_intent.payment_failed");
    assert_eq!(failed["data"]["object"]["amount_received"], 0);
    assert_eq!(body("USD", What::Closed)["data"]["object"]["status"], "canceled");
}

#[test]
fn a_refund_is_told_by_its_charge_with_the_total_so_far() {
    let part = body("USD", refunded(Outcome::Done));
    let charge = &part["data"]["object"];
    assert_eq!((&part["type"], &charge["object"]), (&json!("charge.refunded"), &json!("charge")));
    assert_eq!((&charge["amount_refunded"], &charge["refunded"]), (&json!(2500), &json!(false)));
    assert_eq!(charge["payment_intent"], "pi_1");
    assert_eq!(body("USD", refunded_in_full())["data"]["object"]["refunded"], true);
}

#[test]
fn it_is_silent_about_a_refund_that_did_not_go_through() {
    for outcome in [Outcome::Abnormal, Outcome::Closed] {
        let silent = Stripe::demo(false).message(&event("USD", refunded(outcome)), at());
        assert!(matches!(silent, Err(Unsayable::Silent { provider: Provider::Stripe, .. })));
    }
}

#[test]
fn amounts_are_counted_in_its_own_units() {
    for (text, currency, expected) in [
        ("88.80", "USD", Some(8880)),
        ("500", "JPY", Some(500)),
        ("0.5", "JPY", None),
        ("5", "ISK", Some(500)),
        ("5.1", "ISK", None),
        ("0.010", "BHD", Some(10)),
        ("5.124", "KWD", None),
        ("10.45", "HUF", Some(1045)),
        ("7", "MGA", Some(7)),
        ("7", "UGX", None),
    ] {
        assert_eq!(units(amount(text), currency).ok(), expected, "{text} {currency}");
    }
}
