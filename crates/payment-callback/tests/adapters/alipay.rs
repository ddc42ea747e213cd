//! Alipay.

use payment_callback::{Decision, Event, Provider, Reason, RefundSum};
use serde_json::{Value, json};

use crate::endpoint::{
    FIRST_PUBLIC_KEY, NOW, PAYMENT_NO, RsaKey, SECOND_PUBLIC_KEY, Sent, decision, endpoint, read, reason,
    verify_at,
};

const APP_ID: &str = "2021000000000000";
const SELLER_ID: &str = "2088000000000000";

pub fn settings() -> Value {
    json!({ "app_id": APP_ID, "seller_id": SELLER_ID, "sign_type": "RSA2", "alipay_public_keys": [FIRST_PUBLIC_KEY] })
}

pub fn ours() -> Box<dyn Provider> {
    endpoint("alipay", settings())
}

fn with_setting(name: &str, value: Value) -> Box<dyn Provider> {
    let mut settings = settings();
    settings[name] = value;
    endpoint("alipay", settings)
}

/// Fields of a notification, as bytes in its charset.
#[derive(Clone)]
pub struct Fields(Vec<(String, Vec<u8>)>);

pub fn paid(total_amount: &str) -> Fields {
    Fields(Vec::new())
        .with("notify_type", "trade_status_sync")
        .with("notify_id", "2026112900222075959000000000000001")
        .with("notify_time", "2026-11-29 07:59:59")
        .with("charset", "utf-8")
        .with("app_id", APP_ID)
        .with("auth_app_id", APP_ID)
        .with("seller_id", SELLER_ID)
        .with("out_trade_no", PAYMENT_NO)
        .with("trade_no", "2026112900000000000000000001")
        .with("trade_status", "TRADE_SUCCESS")
        .with("total_amount", total_amount)
        .with("subject", "A&B=C+D 100% 测试")
        .with("fund_bill_list", r#"[{"amount":"88.80","fundChannel":"ALIPAYACCOUNT"}]"#)
        .with("ZZ", "sorted before app_id")
}

impl Fields {
    pub fn with(self, name: &str, value: &str) -> Fields {
        self.with_bytes(name, value.as_bytes())
    }

    fn with_bytes(mut self, name: &str, value: &[u8]) -> Fields {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value.to_vec()));
        self
    }

    fn without(mut self, name: &str) -> Fields {
        self.0.retain(|(other, _)| other != name);
        self
    }

    /// What Alipay signs.
    fn content(&self) -> Vec<u8> {
        let mut sorted = self.0.clone();
        sorted.sort();
        let pairs: Vec<_> =
            sorted.iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat()).collect();
        pairs.join(&b'&')
    }

    pub fn signed(self) -> Sent {
        self.signed_by(RsaKey::First)
    }

    fn signed_by(self, key: RsaKey) -> Sent {
        let sign = key.sign(&self.content());
        self.with("sign_type", "RSA2").with("sign", &sign).sent()
    }

    fn sent(self) -> Sent {
        let pairs: Vec<_> = self.0.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        Sent { headers: Vec::new(), body: pairs.join("&").into_bytes() }
    }
}

fn encoded(value: &[u8]) -> String {
    value
        .iter()
        .map(|byte| match byte {
            b' ' => "+".to_owned(),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn judged(fields: Fields) -> Decision {
    decision(&*ours(), &fields.signed(), "88.80", "CNY")
}

#[test]
fn the_signature_is_there_and_of_the_one_algorithm() {
    let good = paid("88.80").signed();
    assert_eq!(reason(&*ours(), &good), None);
    let sign = RsaKey::First.sign(&paid("88.80").content());
    let with =
        |sign_type: &str, sign: &str| paid("88.80").with("sign_type", sign_type).with("sign", sign).sent();
    for (sent, why) in [
        (paid("88.80").with("sign_type", "RSA2").sent(), Reason::MissingSignature),
        (paid("88.80").with("sign", &sign).sent(), Reason::MissingSignature),
        (with("RSA2", ""), Reason::MissingSignature),
        (with("", &sign), Reason::MissingSignature),
        (with("RSA", &sign), Reason::UnsupportedAlgorithm),
        (with("rsa2", &sign), Reason::UnsupportedAlgorithm),
        (with("MD5", "d41d8cd98f00b204e9800998ecf8427e"), Reason::UnsupportedAlgorithm),
        (with("RSA2", "not base64!"), Reason::MalformedSignature),
        (with("RSA2", sign.trim_end_matches('=')), Reason::MalformedSignature),
        (with("RSA2", "AAAA"), Reason::BadSignature),
        (paid("88.80").signed_by(RsaKey::Second), Reason::BadSignature),
    ] {
        assert_eq!(reason(&*ours(), &sent), Some(why), "{}", String::from_utf8_lossy(&sent.body));
    }
}

#[test]
fn a_body_that_is_no_form_is_malformed() {
    let form = String::from_utf8(paid("88.80").signed().body).unwrap();
    for body in [
        String::new(),
        r#"{"sign":"x","sign_type":"RSA2"}"#.to_owned(),
        format!("{form}&total_amount=88.80"),
        format!("{form}&total%5famount=88.80"),
        format!("{form}&sign=x"),
        format!("{form}&"),
        format!("{form}&x"),
        format!("{form}&=x"),
        format!("{form}&x=%"),
        format!("{form}\n"),
    ] {
        let sent = Sent { headers: Vec::new(), body: body.into_bytes() };
        assert_eq!(reason(&*ours(), &sent), Some(Reason::MalformedBody));
    }
}

#[test]
fn every_field_is_signed_byte_by_byte() {
    let signed = paid("88.80");
    let sign = RsaKey::First.sign(&signed.content());
    let changed = |fields: Fields| fields.with("sign_type", "RSA2").with("sign", &sign).sent();
    assert_eq!(reason(&*ours(), &changed(signed.clone())), None);
    for fields in [
        signed.clone().with("total_amount", "0.01"),
        signed.clone().with("subject", "A&B=C+D 100% 测试 "),
        signed.clone().with("fund_bill_list", "[{&quot;amount&quot;:&quot;88.80&quot;}]"),
        signed.clone().with("new", "1"),
        signed.clone().without("ZZ"),
        signed.clone().with("refund_fee", "0.00"),
    ] {
        assert_eq!(reason(&*ours(), &changed(fields)), Some(Reason::BadSignature));
    }
    let with_sign_type = RsaKey::First.sign(&signed.clone().with("sign_type", "RSA2").content());
    let v2 = signed.with("sign_type", "RSA2").with("sign", &with_sign_type).sent();
    assert_eq!(reason(&*ours(), &v2), Some(Reason::BadSignature), "the style of messages that are no trades");
}

#[test]
fn an_empty_field_counts_as_absent_signed_or_not() {
    let with_empty = paid("88.80").with("refund_fee", "").with("body", "");
    assert_eq!(judged(with_empty.clone()), Decision::ApplyPayment);
    let sign = RsaKey::First.sign(&paid("88.80").content());
    let unsigned = with_empty.with("sign_type", "RSA2").with("sign", &sign).sent();
    assert_eq!(decision(&*ours(), &unsigned, "88.80", "CNY"), Decision::ApplyPayment);
    assert_eq!(judged(paid("88.80").with("out_trade_no", "")), Decision::HoldUnknownOrder);
    assert_eq!(judged(paid("")), Decision::HoldMalformedAmount);
}

#[test]
fn any_charset_is_verified_and_then_decoded() {
    let (gbk, _, _) = encoding_rs::GBK.encode("测试商品（国标）");
    let fields = paid("88.80").with("charset", "GBK").with_bytes("subject", &gbk);
    let notice = read(&*ours(), &fields.clone().signed());
    assert_eq!(notice.subject.as_deref(), Some("测试商品（国标）"));
    assert_eq!(judged(fields.clone().with("charset", "utf-8")), Decision::ApplyPayment, "a wrong charset");
    assert_eq!(judged(fields.with("charset", "x-nobody")), Decision::ApplyPayment);
}

#[test]
fn any_of_several_keys_is_accepted() {
    let both = with_setting(
        "alipay_public_keys",
        json!([{ "id": "old", "public_key": FIRST_PUBLIC_KEY }, { "id": "new", "public_key": SECOND_PUBLIC_KEY }]),
    );
    assert_eq!(read(&*both, &paid("88.80").signed_by(RsaKey::First)).key_id, "old");
    assert_eq!(read(&*both, &paid("88.80").signed_by(RsaKey::Second)).key_id, "new");
}

#[test]
fn a_key_is_taken_as_the_console_shows_it() {
    let lines: String = FIRST_PUBLIC_KEY.lines().filter(|line| !line.starts_with("---")).collect();
    let bare = with_setting("alipay_public_keys", json!([lines]));
    assert_eq!(reason(&*bare, &paid("88.80").signed()), None);
    let certificate = with_setting("alipay_public_keys", json!([crate::endpoint::SECOND_CERTIFICATE]));
    assert_eq!(reason(&*certificate, &paid("88.80").signed_by(RsaKey::Second)), None);
}

#[test]
fn each_status_asks_for_what_it_means() {
    let fields = |status: &str, refund_fee: Option<&str>| {
        let fields = paid("88.80").with("trade_status", status);
        match refund_fee {
            Some(refund_fee) => fields.with("refund_fee", refund_fee).with("out_biz_no", "R-000001"),
            None => fields,
        }
    };
    for (status, refund_fee, decision) in [
        ("WAIT_BUYER_PAY", None, Decision::RecordOnly),
        ("TRADE_SUCCESS", None, Decision::ApplyPayment),
        ("TRADE_SUCCESS", Some("0.00"), Decision::ApplyPayment),
        ("TRADE_SUCCESS", Some("0"), Decision::ApplyPayment),
        ("TRADE_SUCCESS", Some("10.00"), Decision::ApplyRefund),
        ("TRADE_SUCCESS", Some("88.81"), Decision::HoldAmountMismatch),
        ("TRADE_SUCCESS", Some("ten"), Decision::HoldMalformedAmount),
        ("TRADE_SUCCESS", Some("-10.00"), Decision::HoldMalformedAmount),
        ("TRADE_FINISHED", None, Decision::ApplyPayment),
        ("TRADE_FINISHED", Some("10.00"), Decision::ApplyRefund),
        ("TRADE_CLOSED", None, Decision::MarkClosed),
        ("TRADE_CLOSED", Some("0.00"), Decision::MarkClosed),
        ("TRADE_CLOSED", Some("88.80"), Decision::ApplyRefund),
        ("TRADE_PENDING", None, Decision::IgnoreEventType),
        ("trade_success", None, Decision::IgnoreEventType),
        ("", None, Decision::IgnoreEventType),
    ] {
        assert_eq!(judged(fields(status, refund_fee)), decision, "{status} {refund_fee:?}");
    }
    let Event::Refunded(refund) = read(&*ours(), &fields("TRADE_CLOSED", Some("88.80")).signed()).event
    else {
        panic!("a refund was read as something else");
    };
    assert!(matches!(refund.sum, RefundSum::RunningTotal(_)));
    assert_eq!(refund.refund_no.as_deref(), Some("R-000001"));
}

#[test]
fn only_the_total_that_was_asked_for_is_applied() {
    for (total, decision) in [
        ("88.80", Decision::ApplyPayment),
        ("88.8", Decision::ApplyPayment),
        ("88.79", Decision::HoldAmountMismatch),
        ("88.81", Decision::HoldAmountMismatch),
        ("0.00", Decision::HoldAmountMismatch),
        ("8880", Decision::HoldAmountMismatch),
        ("88.800", Decision::HoldMalformedAmount),
        ("-88.80", Decision::HoldMalformedAmount),
        ("88,80", Decision::HoldMalformedAmount),
        ("8.88e1", Decision::HoldMalformedAmount),
        (" 88.80", Decision::HoldMalformedAmount),
        ("８８.８０", Decision::HoldMalformedAmount),
    ] {
        assert_eq!(judged(paid(total)), decision, "{total}");
    }
    let with_coupon = paid("88.80").with("buyer_pay_amount", "80.00").with("receipt_amount", "88.80");
    assert_eq!(judged(with_coupon), Decision::ApplyPayment);
    assert_eq!(judged(paid("88.80").without("total_amount")), Decision::HoldMalformedAmount);
    let other_total = paid("99.00").with("refund_fee", "10.00");
    assert_eq!(judged(other_total), Decision::HoldAmountMismatch);
}

#[test]
fn another_app_or_seller_is_for_somebody_else() {
    let theirs = Decision::IgnoreOtherAccount;
    assert_eq!(judged(paid("88.80").with("app_id", "2021000000000001")), theirs);
    assert_eq!(judged(paid("88.80").without("app_id")), theirs);
    assert_eq!(judged(paid("88.80").with("seller_id", "2088000000000001")), theirs);
    assert_eq!(judged(paid("88.80").with("auth_app_id", "2021000000000001")), theirs);
    assert_eq!(judged(paid("88.80").without("auth_app_id")), Decision::ApplyPayment);
    let by_mail = paid("88.80").without("seller_id").with("seller_email", "seller@example.test");
    assert_eq!(judged(by_mail.clone()), theirs);
    assert_eq!(judged(by_mail.clone().without("seller_email")), theirs);
    let knows_mail = with_setting("seller_email", json!("seller@example.test"));
    assert_eq!(decision(&*knows_mail, &by_mail.signed(), "88.80", "CNY"), Decision::ApplyPayment);
    let isv = with_setting("auth_app_id", json!("2021000000000009"));
    let on_behalf = paid("88.80").with("auth_app_id", "2021000000000009");
    assert_eq!(decision(&*isv, &on_behalf.signed(), "88.80", "CNY"), Decision::ApplyPayment);
    assert_eq!(decision(&*isv, &paid("88.80").signed(), "88.80", "CNY"), theirs);
}

#[test]
fn what_is_no_trade_is_ignored_and_what_names_no_money_is_malformed() {
    assert_eq!(
        judged(paid("88.80").with("notify_type", "servicemarket_order_notify")),
        Decision::IgnoreEventType
    );
    assert_eq!(judged(paid("88.80").without("notify_type")), Decision::IgnoreEventType);
    assert_eq!(judged(paid("88.80").with("out_trade_no", "P-000002")), Decision::HoldUnknownOrder);
    assert_eq!(judged(paid("88.80").without("out_trade_no")), Decision::HoldUnknownOrder);
    for name in ["notify_id", "trade_no"] {
        assert_eq!(
            reason(&*ours(), &paid("88.80").without(name).signed()),
            Some(Reason::MalformedBody),
            "{name}"
        );
    }
}

#[test]
fn a_notification_does_not_grow_old_and_a_repeated_one_means_the_same() {
    let first = read(&*ours(), &paid("88.80").signed());
    let later = paid("88.80").with("notify_time", "2026-11-30 08:59:59").signed();
    let later = verify_at(&*ours(), &later, NOW + 90_000).unwrap();
    assert_eq!(
        (first.delivery_key.as_str(), first.meaning()),
        (later.delivery_key.as_str(), later.meaning())
    );
    assert_ne!(first.meaning(), read(&*ours(), &paid("88.81").signed()).meaning());
}
