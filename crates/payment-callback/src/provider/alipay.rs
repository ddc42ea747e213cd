//! Alipay (open platform): forms signed with RSA and SHA-256, which Alipay calls RSA2.
//!
//! What is signed is made of every field but `sign` and `sign_type`: sorted by name, joined as `name=value` with `&`, the
//! values decoded once and otherwise as they came. It is made of bytes, in the charset that the (signed) field `charset`
//! names; so text is decoded last, and GBK needs no care. Sources: `AlipaySignature` of alipay-sdk-java;
//! <https://opendocs.alipay.com/open/203/105286>.
//!
//! A notification has no freshness: it is repeated for about 25 hours, and its time has no zone. A refund is told by
//! another notification of the *payment*, with the running total in `refund_fee`.

mod api;
mod trade;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Answer, ConfigFault, Delivery, Provider, ProviderKind, Purpose, Reason, Registration, Rejection, Verdict,
};
use crate::api::ProviderApi;
use crate::configuration::{self, UnknownSettings};
use crate::event::Notice;
use crate::form::Form;
use crate::secret::ListedKey;
use crate::signature::{RsaPublicKey, base64_bytes};
use crate::trust::Trust;
use api::AlipayApi;

pub(super) const REGISTRATION: Registration =
    Registration { word: "alipay", tells_totals: true, build, answer, payable: trade::payable };

/// The settings of an endpoint.
#[derive(Debug, Deserialize)]
struct Settings {
    /// The app that notifications are for.
    app_id: String,
    /// The seller whose money it is.
    seller_id: String,
    /// The seller by e-mail address, for notifications that name no `seller_id`.
    seller_email: Option<String>,
    /// The app on whose behalf we act (as an ISV). Left out, only notifications on our own behalf are for us.
    auth_app_id: Option<String>,
    /// Alipay's public keys (not the app's): all are accepted. PEM, the base64 within it, or Alipay's certificate.
    alipay_public_keys: Vec<ListedKey>,
    /// `RSA2`, and nothing else: `RSA` is SHA-1.
    sign_type: Option<String>,
    /// How Alipay is asked. Left out, it is not.
    api: Option<api::Settings>,
    #[serde(flatten)]
    unknown: UnknownSettings,
}

/// The adapter of an endpoint.
#[derive(Debug)]
struct Alipay {
    app_id: String,
    seller_id: String,
    seller_email: Option<String>,
    auth_app_id: Option<String>,
    keys: PlatformKeys,
    api: Option<AlipayApi>,
}

/// Alipay's keys, each with its id.
#[derive(Clone, Debug)]
struct PlatformKeys(Vec<(String, RsaPublicKey)>);

fn build(settings: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
    let settings: Settings = configuration::read(settings)?;
    settings.unknown.refuse(purpose)?;
    match settings.sign_type.as_deref() {
        None | Some("RSA2") => {}
        Some(_) => {
            return Err(ConfigFault(
                "sign_type is not RSA2: RSA signs with SHA-1, which can be forged; choose RSA2 in Alipay's console"
                    .to_owned(),
            ));
        }
    }
    configuration::is_given("app_id", &settings.app_id)?;
    configuration::is_given("seller_id", &settings.seller_id)?;
    let mut keys = Vec::new();
    for key in ListedKey::named(settings.alipay_public_keys) {
        let setting = format!("alipay_public_keys: {}", key.id);
        let public_key = RsaPublicKey::parse(key.key.expose(), &setting)?;
        keys.push((key.id, public_key));
    }
    configuration::ids_are_distinct("alipay_public_keys", keys.iter().map(|(id, _)| id.as_str()))?;
    let keys = PlatformKeys(keys);
    let on_behalf_of_another = settings.auth_app_id.is_some();
    let api =
        settings.api.map(|api| AlipayApi::new(api, &settings.app_id, on_behalf_of_another, keys.clone()));
    let api = api.transpose()?;
    Ok(Box::new(Alipay {
        app_id: settings.app_id,
        seller_id: settings.seller_id,
        seller_email: settings.seller_email,
        auth_app_id: settings.auth_app_id,
        keys,
        api,
    }))
}

impl Provider for Alipay {
    fn kind(&self) -> ProviderKind {
        ProviderKind(REGISTRATION.word)
    }

    fn verify(&self, delivery: &Delivery<'_>, _now: DateTime<Utc>) -> Result<Notice, Rejection> {
        let form = Form::parse(delivery.body)
            .map_err(|_| Reason::MalformedBody.because("the body is no form, or names a field twice"))?;
        let (Some(sign), Some(sign_type)) = (form.get("sign"), form.get("sign_type")) else {
            return Err(Reason::MissingSignature.because("sign or sign_type is missing"));
        };
        if sign_type != b"RSA2" {
            return Err(Reason::UnsupportedAlgorithm.because("sign_type is not RSA2"));
        }
        let signature = std::str::from_utf8(sign).ok().and_then(base64_bytes);
        let signature = signature.ok_or(
            Reason::MalformedSignature.because("sign is not base64; was its + sent without encoding?"),
        )?;
        let key_id = self.keys.that_signed_fields(&form, &signature)?;
        self.read(&form, key_id)
    }

    fn trusts(&self) -> Vec<Trust> {
        let on_behalf_of = self.auth_app_id.as_deref().unwrap_or_default();
        let recipient = [self.app_id.as_str(), &self.seller_id, on_behalf_of].join(" ");
        let keys = self.keys.0.iter().map(|(_, key)| key.mark());
        keys.map(|key| Trust { key, recipient: recipient.clone() }).collect()
    }

    fn api(&self) -> Option<&dyn ProviderApi> {
        self.api.as_ref().map(|api| api as &dyn ProviderApi)
    }
}

impl PlatformKeys {
    /// Alipay's documents say that every field is signed; some of its own libraries leave out empty ones. So both are
    /// tried, and an empty field counts as absent from here on: one that somebody appends then changes nothing.
    fn that_signed_fields(&self, form: &Form, signature: &[u8]) -> Result<&str, Rejection> {
        let complete = signed_content(form.sorted());
        let without_empty = signed_content(form.sorted().filter(|(_, value)| !value.is_empty()));
        let key_id = self.that_signed(&complete, signature).or_else(|| {
            if without_empty == complete { None } else { self.that_signed(&without_empty, signature) }
        });
        key_id.ok_or(Reason::BadSignature.because("sign is not that of these fields under any key we hold"))
    }

    /// The id of the key with which `content` was signed.
    fn that_signed(&self, content: &[u8], signature: &[u8]) -> Option<&str> {
        let key = self.0.iter().find(|(_, key)| key.verifies(content, signature));
        key.map(|(id, _)| id.as_str())
    }
}

/// `name=value` of every field but the signature's own, joined with `&`.
fn signed_content<'a>(sorted: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut content = Vec::new();
    for (name, value) in sorted.filter(|(name, _)| *name != b"sign" && *name != b"sign_type") {
        if !content.is_empty() {
            content.push(b'&');
        }
        content.extend_from_slice(name);
        content.push(b'=');
        content.extend_from_slice(value);
    }
    content
}

/// Exactly the seven bytes `success` acknowledge; anything else is tried again, eight times in about 25 hours.
fn answer(verdict: Verdict) -> Answer {
    let (status, body) = match verdict {
        Verdict::Acknowledged => (200, "success"),
        Verdict::Rejected(Reason::ConfigError) => (500, "failure"),
        Verdict::Rejected(_) => (200, "failure"),
        Verdict::Unavailable => (503, "failure"),
    };
    Answer { status, content_type: Some("text/plain; charset=utf-8"), body: Some(body) }
}
