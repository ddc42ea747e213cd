//! What must hold of the adapters of payment providers, whatever bytes they are given. A function that returns has held.
//!
//! Bytes that nobody has signed must be refused. That is soon tried, and leaves most of the code out, so each target signs
//! the bytes too, as the provider would have, and looks at what is read from them.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::DateTime;
use payment_callback::capture::read_captures;
use payment_callback::{
    Delivery, Event, Notice, Provider, ProviderKind, Purpose, Reason, RefundSum, Rejection, ReportedAmount,
};
use provider_simulator::demo_keys::{
    alipay as alipay_keys, standard as standard_keys, stripe as stripe_keys, wechatpay as wechatpay_keys,
};
use provider_simulator::rsa::SigningKey;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use serde_json::{Value, json};

/// 2026-11-29T00:00:00Z.
const NOW: i64 = 1_795_910_400;

static STRIPE: LazyLock<Box<dyn Provider>> =
    LazyLock::new(|| endpoint("stripe", json!({ "secrets": stripe_keys::SECRETS, "livemode": false })));
static ALIPAY: LazyLock<Box<dyn Provider>> = LazyLock::new(|| {
    endpoint(
        "alipay",
        json!({ "app_id": alipay_keys::APP_ID, "seller_id": alipay_keys::SELLER_ID,
                "alipay_public_keys": [alipay_keys::PLATFORM_PUBLIC_KEY] }),
    )
});
static WECHATPAY: LazyLock<Box<dyn Provider>> = LazyLock::new(|| {
    endpoint(
        "wechatpay",
        json!({ "appid": wechatpay_keys::APPID, "mchid": wechatpay_keys::MCHID,
                "api_v3_key": wechatpay_keys::API_V3_KEY,
                "keys": [{ "kind": "public_key", "id": wechatpay_keys::PUBLIC_KEY_ID,
                           "public_key_pem": wechatpay_keys::PLATFORM_PUBLIC_KEY }] }),
    )
});
static STANDARD: LazyLock<Box<dyn Provider>> = LazyLock::new(|| {
    endpoint("standard", json!({ "secrets": [standard_keys::SECRET, standard_keys::PUBLIC_KEY] }))
});

fn endpoint(provider: &str, settings: Value) -> Box<dyn Provider> {
    let kind = ProviderKind::from_word(provider).expect("a provider");
    kind.build(settings, Purpose::Serving).expect("settings of the demo")
}

/// The body of an event of Stripe's.
pub fn stripe(bytes: &[u8]) {
    let code = code(stripe_keys::SECRET.as_bytes(), &[NOW.to_string().as_bytes(), b".", bytes].concat());
    let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    let header = format!("t={NOW},v1={hex}");
    readable_or_malformed(&**STRIPE, &[("Stripe-Signature", header.as_bytes())], bytes);
    let unsigned = hex.replace(|c| c != '0', "0");
    unsigned_is_refused(
        &**STRIPE,
        &[("Stripe-Signature", format!("t={NOW},v1={unsigned}").as_bytes())],
        bytes,
    );
}

/// The body of a webhook of the standard kind.
pub fn standard(bytes: &[u8]) {
    let secret = standard_keys::SECRET.strip_prefix("whsec_").expect("a secret");
    let secret = BASE64_STANDARD.decode(secret).expect("base64");
    let code = code(&secret, &[format!("msg_1.{NOW}.").as_bytes(), bytes].concat());
    let signature = format!("v1,{}", BASE64_STANDARD.encode(code));
    let timestamp = NOW.to_string();
    let headers = |signature: &'static str| -> Vec<(&str, Vec<u8>)> {
        vec![
            ("webhook-id", b"msg_1".to_vec()),
            ("webhook-timestamp", timestamp.clone().into_bytes()),
            ("webhook-signature", signature.into()),
        ]
    };
    let mut signed = headers("");
    signed[2].1 = signature.into_bytes();
    readable_or_malformed(&**STANDARD, &borrowed(&signed), bytes);
    let zeroes = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    unsigned_is_refused(&**STANDARD, &borrowed(&headers(zeroes)), bytes);
}

/// The fields of a notification of Alipay's, one `name=value` on each line; and the body as it comes.
pub fn alipay(bytes: &[u8]) {
    unsigned_is_refused(&**ALIPAY, &[], bytes);
    let mut fields: Vec<(&[u8], &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            line.iter().position(|byte| *byte == b'=').map(|at| (&line[..at], &line[at + 1..]))
        })
        .filter(|(name, _)| !name.is_empty() && *name != b"sign" && *name != b"sign_type")
        .collect();
    fields.sort_unstable();
    fields.dedup_by_key(|(name, _)| *name);
    let pairs: Vec<Vec<u8>> = fields.iter().map(|(name, value)| [*name, b"=", *value].concat()).collect();
    static KEY: LazyLock<SigningKey> =
        LazyLock::new(|| SigningKey::from_pem(alipay_keys::PLATFORM_PRIVATE_KEY).expect("a key"));
    let sign = KEY.sign(&pairs.join(&b'&'));
    fields.extend([(b"sign".as_slice(), sign.as_bytes()), (b"sign_type", b"RSA2")]);
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    readable_or_malformed(&**ALIPAY, &[], pairs.join("&").as_bytes());
}

/// What a notification of WeChat Pay carries, with its kind on the first line; and the notification itself.
pub fn wechatpay(bytes: &[u8]) {
    signed_by_wechatpay(bytes, |rejection| {
        assert!(matches!(rejection.reason, Reason::MalformedBody | Reason::DecryptFailed), "{rejection}");
    });
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (event_type, content) = (String::from_utf8_lossy(&bytes[..at]), &bytes[bytes.len().min(at + 1)..]);
    let mut ciphertext = content.to_vec();
    let key = UnboundKey::new(&AES_256_GCM, wechatpay_keys::API_V3_KEY.as_bytes()).expect("32 bytes");
    let nonce = Nonce::assume_unique_for_key(*b"0123456789ab");
    LessSafeKey::new(key)
        .seal_in_place_append_tag(nonce, Aad::from(b"x"), &mut ciphertext)
        .expect("a short text");
    let envelope = json!({
        "id": "delivery-1", "event_type": event_type,
        "resource": { "algorithm": "AEAD_AES_256_GCM", "ciphertext": BASE64_STANDARD.encode(ciphertext),
                      "associated_data": "x", "nonce": "0123456789ab" },
    });
    signed_by_wechatpay(envelope.to_string().as_bytes(), |rejection| match rejection.reason {
        // An object may still say too little.
        Reason::MalformedBody => {}
        // What was decrypted is no object, or one that repeats a name or nests too deeply.
        Reason::DecryptFailed => assert_ne!(content, b"{}"),
        _ => panic!("{rejection}"),
    });
}

fn signed_by_wechatpay(body: &[u8], rejected: impl FnOnce(&Rejection)) {
    static KEY: LazyLock<SigningKey> =
        LazyLock::new(|| SigningKey::from_pem(wechatpay_keys::PLATFORM_PRIVATE_KEY).expect("a key"));
    let signature = KEY.sign(&[format!("{NOW}\nnonce\n").as_bytes(), body, b"\n"].concat());
    let timestamp = NOW.to_string();
    let headers = [
        ("Wechatpay-Serial", wechatpay_keys::PUBLIC_KEY_ID.as_bytes()),
        ("Wechatpay-Timestamp", timestamp.as_bytes()),
        ("Wechatpay-Nonce", b"nonce"),
        ("Wechatpay-Signature", signature.as_bytes()),
    ];
    match verified(&**WECHATPAY, &headers, body) {
        Ok(notice) => is_short_and_visible(&notice),
        Err(rejection) => rejected(&rejection),
    }
}

/// One header of a signature, with all others right: it is the one that was signed, or is refused.
pub fn signature_headers(bytes: &[u8]) {
    let body = br#"{"type":"x"}"#;
    let secret = BASE64_STANDARD.decode(&standard_keys::SECRET["whsec_".len()..]).expect("base64");
    let signature =
        BASE64_STANDARD.encode(code(&secret, &[format!("msg_1.{NOW}.").as_bytes(), body].concat()));
    let timestamp = NOW.to_string();
    let right = [
        ("webhook-id", b"msg_1".to_vec()),
        ("webhook-timestamp", timestamp.clone().into_bytes()),
        ("webhook-signature", format!("v1,{signature}").into_bytes()),
    ];
    for index in 0..right.len() {
        let mut headers = right.to_vec();
        headers[index].1 = bytes.to_vec();
        let is_right = match index {
            2 => String::from_utf8_lossy(bytes).split(' ').any(|entry| entry == format!("v1,{signature}")),
            _ => bytes == right[index].1,
        };
        let taken = verified(&**STANDARD, &borrowed(&headers), body).is_ok();
        assert!(!taken || is_right, "{} of {}", String::from_utf8_lossy(bytes), headers[index].0);
    }
    let stripe = code(stripe_keys::SECRET.as_bytes(), &[timestamp.as_bytes(), b".", body].concat());
    let v1: String = stripe.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Err(rejection) = verified(&**STRIPE, &[("Stripe-Signature", bytes)], body) {
        let is_of_the_header = matches!(
            rejection.reason,
            Reason::MalformedHeader
                | Reason::BadSignature
                | Reason::TimestampTooOld
                | Reason::TimestampInFuture
        );
        // The body is no event of Stripe's: whoever gets as far as that had the signature.
        assert!(is_of_the_header || String::from_utf8_lossy(bytes).contains(&v1), "{rejection}");
    }
}

/// A file for `callback check`: captures, or a sentence that says why not. One that is read can be checked.
pub fn captures(bytes: &[u8]) {
    match read_captures(bytes) {
        Ok(captures) => {
            assert!(!captures.is_empty());
            for capture in captures {
                let capture = match capture {
                    Ok(capture) => capture,
                    Err(fault) => {
                        assert!(!fault.to_string().is_empty());
                        continue;
                    }
                };
                let outcome = capture.check();
                assert_eq!(outcome.verify == "ok", outcome.decision.is_some());
                assert_eq!(outcome.verify == "ok", outcome.reason.is_none());
                let itself = serde_json::to_value(&outcome).expect("JSON");
                let differences = outcome.differences(itself.as_object().expect("an object"));
                assert!(differences.is_empty(), "{differences:?}");
            }
        }
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}

fn readable_or_malformed(provider: &dyn Provider, headers: &[(&str, &[u8])], body: &[u8]) {
    match verified(provider, headers, body) {
        Ok(notice) => is_short_and_visible(&notice),
        Err(rejection) => {
            assert_eq!(rejection.reason, Reason::MalformedBody, "what is signed is at least believed")
        }
    }
}

fn unsigned_is_refused(provider: &dyn Provider, headers: &[(&str, &[u8])], body: &[u8]) {
    assert!(verified(provider, headers, body).is_err(), "nobody has signed this");
}

fn verified(provider: &dyn Provider, headers: &[(&str, &[u8])], body: &[u8]) -> Result<Notice, Rejection> {
    let now = DateTime::from_timestamp(NOW, 0).expect("a time");
    let verified = provider.verify(&Delivery { headers, body }, now);
    assert_eq!(provider.verify(&Delivery { headers, body }, now), verified, "an adapter keeps no state");
    verified
}

/// The longest id of anything at a provider: what Stripe promises of its own.
const ID_CHARS_MAX: usize = 255;

/// What is stored of a delivery has its limits, and no character that a database or a terminal chokes on.
fn is_short_and_visible(notice: &Notice) {
    let visible =
        |text: &str, most: usize| text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(visible(&notice.delivery_key, ID_CHARS_MAX) && !notice.delivery_key.is_empty());
    assert!(visible(&notice.event_type, 64));
    assert!(notice.event.payment_no().is_none_or(|id| visible(id, 64) && !id.is_empty()));
    assert!(notice.event.payment_id().is_none_or(|id| visible(id, ID_CHARS_MAX) && !id.is_empty()));
    assert!(notice.subject.as_ref().is_none_or(|text| text.chars().count() <= 256 && !text.contains('\0')));
    match &notice.event {
        Event::PaymentSucceeded { amount, .. } => is_exact_or_short(amount),
        Event::Refunded(refund) => {
            let (RefundSum::RunningTotal(sum) | RefundSum::One(sum) | RefundSum::OneOfTotal { one: sum, .. }) =
                &refund.sum;
            is_exact_or_short(sum);
            assert!(refund.refund_id.as_ref().is_none_or(|id| visible(id, ID_CHARS_MAX)));
            assert!(refund.refund_no.as_ref().is_none_or(|id| visible(id, 64)));
        }
        _ => {}
    }
}

fn is_exact_or_short(amount: &ReportedAmount) {
    match amount {
        ReportedAmount::Exact(_) => {}
        ReportedAmount::Malformed { written, .. } => assert!(written.chars().count() <= 64),
        ReportedAmount::UnknownCurrency { code, written } => {
            assert!(code.chars().count() <= 64 && written.chars().count() <= 64);
        }
    }
}

fn code(key: &[u8], content: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), content).as_ref().to_vec()
}

fn borrowed<'a>(headers: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    headers.iter().map(|(name, value)| (*name, value.as_slice())).collect()
}

fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}
