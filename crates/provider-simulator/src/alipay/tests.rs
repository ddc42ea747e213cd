use std::collections::BTreeMap;

use percent_encoding::percent_decode;

use super::*;
use crate::event::samples::{at, event, refunded, refunded_in_full};
use crate::rsa::VerifyingKey;

/// The parameters as a receiver reads them: bytes, decoded once.
fn parameters(charset: Charset, what: What) -> BTreeMap<String, Vec<u8>> {
    let message = Alipay::demo(charset).message(&event("CNY", what), at()).unwrap();
    let body = String::from_utf8(message.body).unwrap();
    let decoded = |text: &str| percent_decode(text.replace('+', " ").as_bytes()).collect::<Vec<u8>>();
    body.split('&')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

fn text(parameters: &BTreeMap<String, Vec<u8>>, name: &str) -> String {
    parameters.get(name).map_or_else(String::new, |value| String::from_utf8(value.clone()).unwrap())
}

/// The signature is that of `openssl dgst -sha256 -sign` over `a=1&b=测试 &=+`.
#[test]
fn the_signature_is_over_the_sorted_and_decoded_parameters() {
    let parameters = [("b", "测试 &=+".as_bytes().to_vec()), ("a", b"1".to_vec())];
    let sign = Alipay::demo(Charset::Utf8).key.sign(&signed(&parameters));
    assert_eq!(
        sign,
        "lS8SsZADrp045ORcTYY1gDKMa1VURwle059h6N4VMUo5CT1fGCALDGTM3JEmsqXqqr0q0cyxz9YJIWtS3J0OakZX1c10QNec1+WVpO1V\
         24EV/AlWbAhWxv6jPnpVXXHFBwElys73laSk5sR6lc/ta7gZge0EQ9unJrvhWJnl1F9KGg4ozIsousMmqgFgRVdWNK4iwfZQhTVEzW96\
         WQQ+87AglMSFZX8o3v13t1xW++BXDjzB5Q8bCvM6ZgiakrihrxFKWDmssMD4NTmgK5FXu4JCZsXh+OrRQVhlDXme67MvXVIRGAJ/adLb\
         9VG7SwHsCkjWpliWS0N6Ln3mQ1IjGQ=="
    );
}

#[test]
fn what_is_sent_is_what_was_signed_in_either_charset() {
    for (charset, subject) in
        [(Charset::Utf8, &b"\xe6\xb5\x8b"[..]), (Charset::Gbk, &b"\xb2\xe2\xca\xd4"[..])]
    {
        let parameters = parameters(charset, What::Succeeded);
        assert!(parameters["subject"].starts_with(subject), "{charset:?}");
        assert_eq!(text(&parameters, "charset"), charset.name());
        let content: Vec<Vec<u8>> = parameters
            .iter()
            .filter(|(name, _)| !["sign", "sign_type"].contains(&name.as_str()))
            .map(|(name, value)| [name.as_bytes(), b"=", value].concat())
            .collect();
        let key = VerifyingKey::from_pem(demo::PLATFORM_PUBLIC_KEY).unwrap();
        assert!(key.verifies(&content.join(&b"&"[..]), &text(&parameters, "sign")), "{charset:?}");
    }
}

#[test]
fn a_payment_names_order_seller_app_and_sum() {
    let parameters = parameters(Charset::Utf8, What::Succeeded);
    for (name, value) in [
        ("trade_status", "TRADE_SUCCESS"),
        ("total_amount", "88.80"),
        ("out_trade_no", "P-1"),
        ("trade_no", "pi_1"),
        ("notify_id", "event-1"),
        ("app_id", demo::APP_ID),
        ("seller_id", demo::SELLER_ID),
        ("gmt_payment", "2026-11-29 07:59:58"),
        ("sign_type", "RSA2"),
    ] {
        assert_eq!(text(&parameters, name), value, "{name}");
    }
    assert!(!parameters.contains_key("refund_fee"));
}

#[test]
fn a_retry_keeps_its_id_and_tells_its_own_time() {
    let (alipay, event) = (Alipay::demo(Charset::Utf8), event("CNY", What::Succeeded));
    let sent = |at| String::from_utf8(alipay.message(&event, at).unwrap().body).unwrap();
    let (first, later) = (sent(at()), sent(at() + chrono::TimeDelta::minutes(4)));
    assert!(first.contains("notify_time=2026-11-29+07%3A59%3A58") && first.contains("notify_id=event-1&"));
    assert!(later.contains("notify_time=2026-11-29+08%3A03%3A58") && later.contains("notify_id=event-1&"));
}

#[test]
fn a_refund_is_told_by_its_payment_with_the_total_so_far() {
    let part = parameters(Charset::Utf8, refunded(Outcome::Done));
    assert_eq!(
        (text(&part, "trade_status"), text(&part, "refund_fee")),
        ("TRADE_SUCCESS".to_owned(), "25.00".to_owned())
    );
    assert_eq!((text(&part, "out_biz_no"), text(&part, "trade_no")), ("R-2".to_owned(), "pi_1".to_owned()));
    let whole = parameters(Charset::Utf8, refunded_in_full());
    assert_eq!(
        (text(&whole, "trade_status"), text(&whole, "refund_fee")),
        ("TRADE_CLOSED".to_owned(), "88.80".to_owned())
    );
}

#[test]
fn a_closed_payment_has_no_refund() {
    let closed = parameters(Charset::Utf8, What::Closed);
    assert_eq!(text(&closed, "trade_status"), "TRADE_CLOSED");
    assert!(!closed.contains_key("refund_fee") && !closed.contains_key("gmt_payment"));
}

#[test]
fn what_it_cannot_say_is_refused() {
    let refused =
        |currency, what| Alipay::demo(Charset::Utf8).message(&event(currency, what), at()).unwrap_err();
    assert!(matches!(refused("CNY", What::Failed), Unsayable::Silent { .. }));
    assert!(matches!(refused("USD", What::Succeeded), Unsayable::Currency { .. }));
}
