//! Configurations with which a server must not start.

use payment_callback::{ProviderKind, Purpose};
use serde_json::{Value, json};

use crate::{alipay, wechatpay};

const SHORT_PUBLIC_KEY: &str = include_str!("../keys/short.public.pem");
const ELLIPTIC_PUBLIC_KEY: &str = include_str!("../keys/elliptic.public.pem");
const PRIVATE_KEY: &str = include_str!("../keys/first.private.pem");
const STRIPE_SECRET: &str = "whsec_of_these_tests_first";

/// Why the settings are refused; the reason must say `word`, and must not repeat a key.
fn refused(provider: &str, settings: Value, word: &str) {
    let kind = ProviderKind::from_word(provider).unwrap();
    let fault = match kind.build(settings.clone(), Purpose::Serving) {
        Ok(_) => panic!("{provider} takes {settings}"),
        Err(fault) => fault.to_string(),
    };
    assert!(fault.contains(word), "{provider} {settings}: {fault}");
    assert!(!fault.contains("tests_first") && !fault.contains("MII"), "a key is told: {fault}");
}

fn with(mut settings: Value, name: &str, value: Value) -> Value {
    settings[name] = value;
    settings
}

#[test]
fn a_stripe_endpoint_needs_real_secrets() {
    for (secrets, word) in [
        (json!([]), "empty"),
        (json!([""]), "whsec_"),
        (json!(["whsec_"]), "whsec_"),
        (json!(["whsec_short"]), "whsec_"),
        (json!(["sk_test_of_these_tests_first"]), "whsec_"),
        (json!([STRIPE_SECRET, "whsec_"]), "whsec_"),
        (
            json!([{ "id": "a", "secret": STRIPE_SECRET }, { "id": "a", "secret": "whsec_of_these_tests_next" }]),
            "called a",
        ),
        (json!([{ "id": "a" }]), ""),
        (json!(STRIPE_SECRET), ""),
    ] {
        refused("stripe", json!({ "secrets": secrets }), word);
    }
    let good = json!({ "secrets": [STRIPE_SECRET] });
    refused("stripe", json!({}), "secrets");
    refused("stripe", with(good.clone(), "tolerance_s", json!(0)), "tolerance_s");
    refused("stripe", with(good.clone(), "tolerance_s", json!(86_400)), "tolerance_s");
    refused("stripe", with(good.clone(), "account", json!("")), "account");
    refused("stripe", with(good.clone(), "livemode", json!("yes")), "livemode");
    refused("stripe", with(good, "tolerence_s", json!(300)), "tolerence_s");
}

#[test]
fn an_alipay_endpoint_needs_a_long_public_key_and_sha_256() {
    for (keys, word) in [
        (json!([]), "empty"),
        (json!([""]), "RSA public key"),
        (json!(["MIIB"]), "RSA public key"),
        (json!([SHORT_PUBLIC_KEY]), "2048"),
        (json!([ELLIPTIC_PUBLIC_KEY]), "RSA public key"),
        (json!([PRIVATE_KEY]), "private"),
    ] {
        refused("alipay", with(alipay::settings(), "alipay_public_keys", keys), word);
    }
    refused("alipay", with(alipay::settings(), "sign_type", json!("RSA")), "SHA-1");
    refused("alipay", with(alipay::settings(), "sign_type", json!("")), "RSA2");
    refused("alipay", with(alipay::settings(), "app_id", json!("")), "app_id");
    refused("alipay", with(alipay::settings(), "seller_id", json!(" ")), "seller_id");
    refused("alipay", with(alipay::settings(), "tolerance_s", json!(300)), "tolerance_s");
}

#[test]
fn a_wechat_pay_endpoint_needs_keys_with_their_own_ids() {
    let key = |id: &str, pem: &str| json!([{ "kind": "public_key", "id": id, "public_key_pem": pem }]);
    let first = crate::endpoint::FIRST_PUBLIC_KEY;
    for (keys, word) in [
        (json!([]), "empty"),
        (key("5157F09E", first), "PUB_KEY_ID_"),
        (key("PUB_KEY_ID_1", SHORT_PUBLIC_KEY), "2048"),
        (key("PUB_KEY_ID_1", PRIVATE_KEY), "private"),
        (json!([key("PUB_KEY_ID_1", first)[0], key("PUB_KEY_ID_1", first)[0]]), "called PUB_KEY_ID_1"),
        (
            json!([{ "kind": "platform_cert", "id": "5157", "certificate_pem": crate::endpoint::SECOND_CERTIFICATE }]),
            "serial",
        ),
        (json!([{ "kind": "platform_cert", "certificate_pem": first }]), "certificate"),
        (json!([{ "kind": "merchant_cert", "certificate_pem": first }]), "platform_cert"),
    ] {
        refused("wechatpay", with(wechatpay::settings(), "keys", keys), word);
    }
    refused("wechatpay", with(wechatpay::settings(), "api_v3_key", json!("sixteen bytes...")), "16 bytes");
    refused("wechatpay", with(wechatpay::settings(), "api_v3_key", json!("")), "0 bytes");
    refused("wechatpay", with(wechatpay::settings(), "api_v3_key", json!([])), "empty");
    refused("wechatpay", with(wechatpay::settings(), "api_v3_key", json!(["sixteen bytes..."])), "16 bytes");
    refused("wechatpay", with(wechatpay::settings(), "mchid", json!("")), "mchid");
    refused("wechatpay", with(wechatpay::settings(), "appid", json!("")), "appid");
}

#[test]
fn a_standard_endpoint_tells_secrets_from_public_keys() {
    let base64 = |length: usize| crate::endpoint::base64(&vec![7; length]);
    for (secret, word) in [
        ("whsec_".to_owned(), "24 to 64"),
        (format!("whsec_{}", base64(23)), "24 to 64"),
        (format!("whsec_{}", base64(65)), "24 to 64"),
        ("whsec_not base64".to_owned(), "base64"),
        (base64(32), "algorithm"),
        (format!("whsk_{}", base64(64)), "private"),
        (format!("whpk_{}", base64(31)), "32 bytes"),
        // The neutral element: a signature that is right for it is right for every content.
        ("whpk_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned(), "weak"),
    ] {
        refused("standard", json!({ "secrets": [secret] }), word);
    }
    refused("standard", json!({ "secrets": [] }), "empty");
    refused("standard", json!({ "secrets": [format!("whsec_{}", base64(32))] }), "over and over");
    let public_key = crate::standard::whpk();
    let its_bytes = public_key.replace("whpk_", "whsec_");
    refused("standard", json!({ "secrets": [its_bytes, public_key] }), "public key");
}

#[test]
fn a_provider_is_asked_with_a_key_and_over_an_encrypted_connection() {
    let stripe = |api: Value| json!({ "secrets": [STRIPE_SECRET], "api": api });
    refused("stripe", stripe(json!({ "key": "" })), "api.key");
    refused("stripe", stripe(json!({ "key": "a b" })), "api.key");
    refused("stripe", stripe(json!({ "key": "sk", "base_url": "http://api.stripe.com" })), "https");
    refused("stripe", stripe(json!({ "key": "sk", "url": "https://api.stripe.com" })), "url");
    let first = crate::endpoint::FIRST_PUBLIC_KEY;
    for key in [json!(""), json!("MIIB"), json!(first)] {
        let api = json!({ "app_private_key": key });
        refused("alipay", with(alipay::settings(), "api", api), "private key");
        let api = json!({ "merchant_serial": "3DE0", "merchant_private_key": key });
        refused("wechatpay", with(wechatpay::settings(), "api", api), "private key");
    }
    let isv = with(alipay::settings(), "auth_app_id", json!("2021000000000009"));
    refused("alipay", with(isv, "api", json!({ "app_private_key": PRIVATE_KEY })), "app_auth_token");
    let api = json!({ "merchant_serial": "", "merchant_private_key": PRIVATE_KEY });
    refused("wechatpay", with(wechatpay::settings(), "api", api), "merchant_serial");
    refused(
        "standard",
        json!({ "secrets": [crate::standard::whsec_of_ours()], "api": { "key": "k" } }),
        "base_url",
    );
}

#[test]
fn nothing_of_a_key_is_printed() {
    let stripe = json!({ "secrets": [STRIPE_SECRET] });
    let standard = json!({ "secrets": [format!("whsec_{}", crate::endpoint::base64(b"of these tests_first, 32 bytes.."))] });
    for (provider, settings, hidden) in [
        ("stripe", stripe, "tests_first"),
        ("wechatpay", wechatpay::settings(), "of-these-tests"),
        ("standard", standard, "tests_first"),
    ] {
        let endpoint = crate::endpoint::endpoint(provider, settings);
        assert!(!format!("{endpoint:?}").contains(hidden), "{provider}");
        assert_eq!(endpoint.kind().word(), provider);
    }
}

#[test]
fn a_diagnosis_passes_over_what_a_server_would_refuse_and_verifies_all_the_same() {
    let kind = ProviderKind::from_word("wechatpay").unwrap();
    let settings =
        with(with(wechatpay::settings(), "api_v3_key", json!("short")), "note", json!("from a ticket"));
    let endpoint = kind.build(settings, Purpose::Diagnosis).unwrap();
    let delivery = wechatpay::paid(json!(8880));
    let found = crate::endpoint::reason(&*endpoint, &delivery);
    assert_eq!(found, Some(payment_callback::Reason::DecryptFailed));
}
