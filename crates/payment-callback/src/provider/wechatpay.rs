//! WeChat Pay, API v3: JSON signed with RSA and SHA-256, whose content is encrypted with AES-256-GCM.
//!
//! Signed is `timestamp\n nonce\n body\n` (the last newline included). `Wechatpay-Serial` says which key signed: one of
//! `PUB_KEY_ID_…`, or a platform certificate by its serial number. While a merchant is moved from one to the other both
//! are used, at random, so both are held. Sources: wechatpay-go `core/auth/validators`, wechatpay-java;
//! <https://pay.weixin.qq.com/doc/v3/merchant/4013053420>.
//!
//! The signature is verified before anything is decrypted. The APIv3 key is known to every service that decrypts, so a
//! content that can be decrypted proves nothing about who sent it.

mod api;
mod keys;
mod resource;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Answer, ConfigFault, Delivery, Provider, ProviderKind, Purpose, Reason, Registration, Rejection, Verdict,
};
use crate::api::ProviderApi;
use crate::configuration::{self, UnknownSettings};
use crate::event::Notice;
use crate::freshness::{Tolerance, UnixSeconds};
use crate::json::Json;
use crate::signature::base64_bytes;
use crate::trust::Trust;
use api::WechatpayApi;
use keys::{ApiV3Keys, ApiV3Secrets, ListedPlatformKey, PlatformKey};

pub(super) const REGISTRATION: Registration =
    Registration { word: "wechatpay", tells_totals: false, build, answer, payable: resource::payable };

/// How a signature begins with which WeChat Pay tests, now and then, whether a receiver verifies at all.
const PROBE: &str = "WECHATPAY/SIGNTEST/";
/// The one signature type; it may be left out.
const SIGNATURE_TYPE: &str = "WECHATPAY2-SHA256-RSA2048";

/// The settings of an endpoint.
#[derive(Debug, Deserialize)]
struct Settings {
    /// The app that payments are made in; in partner mode, the partner's.
    appid: String,
    /// The merchant; in partner mode, the partner.
    mchid: String,
    /// In partner mode, the merchant on whose behalf we act. Left out, only deliveries for the merchant itself are for us.
    sub_mchid: Option<String>,
    /// The APIv3 key, 32 bytes; while it is changed, a list of the new one and the old one.
    api_v3_key: ApiV3Secrets,
    /// WeChat Pay's public key and platform certificates: all are accepted, each for its own id.
    keys: Vec<ListedPlatformKey>,
    /// How far the signature's time may be from ours: 300 unless given.
    tolerance_s: Option<u64>,
    /// How WeChat Pay is asked. Left out, it is not.
    api: Option<api::Settings>,
    #[serde(flatten)]
    unknown: UnknownSettings,
}

/// The adapter of an endpoint.
#[derive(Debug)]
struct Wechatpay {
    recipient: Recipient,
    verifier: Verifier,
    api_v3_keys: ApiV3Keys,
    api: Option<WechatpayApi>,
}

/// For whom notifications are that are for us.
#[derive(Clone, Debug)]
struct Recipient {
    appid: String,
    mchid: String,
    sub_mchid: Option<String>,
}

/// What verifies notifications and answers alike.
#[derive(Clone, Debug)]
struct Verifier {
    keys: Vec<PlatformKey>,
    tolerance: Tolerance,
}

fn build(settings: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
    let settings: Settings = configuration::read(settings)?;
    settings.unknown.refuse(purpose)?;
    configuration::is_given("appid", &settings.appid)?;
    configuration::is_given("mchid", &settings.mchid)?;
    let keys = settings.keys.into_iter().map(PlatformKey::new).collect::<Result<Vec<_>, _>>()?;
    configuration::ids_are_distinct("keys", keys.iter().map(|key| key.id.as_str()))?;
    let recipient = Recipient { appid: settings.appid, mchid: settings.mchid, sub_mchid: settings.sub_mchid };
    let verifier = Verifier { keys, tolerance: Tolerance::new(settings.tolerance_s)? };
    let api =
        settings.api.map(|api| WechatpayApi::new(api, recipient.clone(), verifier.clone())).transpose()?;
    let api_v3_keys = ApiV3Keys::new(&settings.api_v3_key, purpose)?;
    Ok(Box::new(Wechatpay { recipient, verifier, api_v3_keys, api }))
}

impl Provider for Wechatpay {
    fn kind(&self) -> ProviderKind {
        ProviderKind(REGISTRATION.word)
    }

    fn verify(&self, delivery: &Delivery<'_>, now: DateTime<Utc>) -> Result<Notice, Rejection> {
        let key = self.verifier.key_that_signed(delivery, now)?;
        let envelope = Json::parse_object(delivery.body)
            .map_err(|_| Reason::MalformedBody.because("the body is no JSON object, or repeats a name"))?;
        self.read(&envelope, &key.id)
    }

    fn trusts(&self) -> Vec<Trust> {
        let Recipient { appid, mchid, sub_mchid } = &self.recipient;
        let recipient = [mchid, sub_mchid.as_deref().unwrap_or_default(), appid].join(" ");
        let keys = self.verifier.keys.iter().map(|key| key.public_key.mark());
        keys.map(|key| Trust { key, recipient: recipient.clone() }).collect()
    }

    fn keys_out_of_time(&self, now: DateTime<Utc>) -> Vec<String> {
        let keys = self.verifier.keys.iter().filter(|key| !key.is_valid_at(now));
        keys.map(|key| key.id.clone()).collect()
    }

    fn api(&self) -> Option<&dyn ProviderApi> {
        self.api.as_ref().map(|api| api as &dyn ProviderApi)
    }
}

impl Verifier {
    /// The key that signed the delivery, just now. An answer is signed as a notification is.
    fn key_that_signed(
        &self,
        delivery: &Delivery<'_>,
        now: DateTime<Utc>,
    ) -> Result<&PlatformKey, Rejection> {
        let [serial, timestamp, nonce, signature] = delivery.required([
            "Wechatpay-Serial",
            "Wechatpay-Timestamp",
            "Wechatpay-Nonce",
            "Wechatpay-Signature",
        ])?;
        // The text behind the prefix is base64 all the same, and its serial number may be one that nobody holds.
        if signature.starts_with(PROBE) {
            return Err(Reason::SignatureProbe.because("WeChat Pay tests whether we verify"));
        }
        let signed_at = UnixSeconds::parse(timestamp)?;
        if nonce.contains(' ') {
            return Err(Reason::MalformedHeader.because("the nonce has a blank"));
        }
        if delivery.optional("Wechatpay-Signature-Type")?.is_some_and(|algorithm| algorithm != SIGNATURE_TYPE)
        {
            return Err(
                Reason::UnsupportedAlgorithm.because("the signature type is not WECHATPAY2-SHA256-RSA2048")
            );
        }
        let signature = base64_bytes(signature)
            .ok_or(Reason::MalformedSignature.because("the signature is not base64"))?;
        let key = self.keys.iter().find(|key| key.is_called(serial) && key.is_valid_at(now));
        let key = key.ok_or(Reason::UnknownKey.because("no key with this serial number is held"))?;
        let signed = [timestamp.as_bytes(), b"\n", nonce.as_bytes(), b"\n", delivery.body, b"\n"].concat();
        if !key.public_key.verifies(&signed, &signature) {
            return Err(Reason::BadSignature.because("the signature is not that of these bytes"));
        }
        self.tolerance.check(signed_at, now)?;
        Ok(key)
    }
}

/// Only the status counts: 200 or 204 acknowledge, within five seconds. Everything else is tried again for 24 hours.
fn answer(verdict: Verdict) -> Answer {
    let failed = |status, body| Answer { status, content_type: Some("application/json"), body: Some(body) };
    match verdict {
        Verdict::Acknowledged => Answer { status: 204, content_type: None, body: Some("") },
        Verdict::Rejected(Reason::MalformedBody | Reason::DecryptFailed | Reason::ConfigError) => {
            failed(500, r#"{"code": "FAIL", "message": "处理失败"}"#)
        }
        Verdict::Rejected(_) => failed(401, r#"{"code": "FAIL", "message": "验签失败"}"#),
        Verdict::Unavailable => failed(503, r#"{"code": "FAIL", "message": "处理失败"}"#),
    }
}
