//! Standard Webhooks 1.0.0, for a provider that speaks no dialect of its own.
//!
//! `webhook-signature` is a list, separated by blanks, of `v1,<base64 of HMAC-SHA256>` and `v1a,<base64 of ed25519>`, over
//! `webhook-id.webhook-timestamp.body`. During a rotation it has one for each key. Source:
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>.
//!
//! Which algorithm is used follows from the configured key: `whsec_` is a secret for `v1`, `whpk_` a public key for
//! `v1a`. A secret that happens to be a public key would let anybody sign.
//!
//! The body is ours to define: `{"type":"payment.succeeded","timestamp":…,"data":{"order_id","payment_id","amount":
//! "88.80","currency":"CNY"}}`; see [`events`].

mod api;
mod events;
mod keys;

use chrono::{DateTime, Utc};
use money::Amount;
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
use crate::payable::Unpayable;
use crate::provider_id::provider_id;
use crate::secret::ListedKey;
use crate::signature::base64_bytes;
use crate::trust::Trust;
use api::StandardApi;
use keys::{Signed, WebhookKey};

pub(super) const REGISTRATION: Registration =
    Registration { word: "standard", tells_totals: false, build, answer, payable };

/// How many signatures one delivery may have: a sender in the middle of a rotation has two. Each costs a verification,
/// and whoever forges may send as many as the header holds.
const SIGNATURES_MAX: usize = 16;

/// The settings of an endpoint.
#[derive(Debug, Deserialize)]
struct Settings {
    /// `whsec_…` secrets and `whpk_…` public keys: all are accepted.
    #[serde(default)]
    secrets: Vec<ListedKey>,
    /// More of them, for who would rather keep public keys apart.
    #[serde(default)]
    public_keys: Vec<ListedKey>,
    /// How far the signature's time may be from ours: 300 unless given.
    tolerance_s: Option<u64>,
    /// How the provider is asked. Left out, it is not.
    api: Option<api::Settings>,
    #[serde(flatten)]
    unknown: UnknownSettings,
}

/// The adapter of an endpoint.
#[derive(Debug)]
struct Standard {
    keys: Vec<WebhookKey>,
    tolerance: Tolerance,
    api: Option<StandardApi>,
}

fn build(settings: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
    let settings: Settings = configuration::read(settings)?;
    settings.unknown.refuse(purpose)?;
    let keys = [settings.secrets, settings.public_keys].concat();
    let keys = ListedKey::named(keys).into_iter().map(WebhookKey::new);
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    configuration::ids_are_distinct("secrets", keys.iter().map(|key| key.id.as_str()))?;
    if purpose == Purpose::Serving {
        keys::secrets_are_secret(&keys)?;
    }
    let api = settings.api.map(StandardApi::new).transpose()?;
    Ok(Box::new(Standard { keys, tolerance: Tolerance::new(settings.tolerance_s)?, api }))
}

impl Provider for Standard {
    fn kind(&self) -> ProviderKind {
        ProviderKind(REGISTRATION.word)
    }

    fn verify(&self, delivery: &Delivery<'_>, now: DateTime<Utc>) -> Result<Notice, Rejection> {
        let [id, timestamp, signatures] =
            delivery.required(["webhook-id", "webhook-timestamp", "webhook-signature"])?;
        // With a dot in it, the bytes signed for one id and body are those of another id and a shorter body.
        if id.contains('.') || provider_id(Some(id)).is_err() {
            return Err(Reason::MalformedHeader.because("webhook-id has a dot or a blank, or is too long"));
        }
        let signed_at = UnixSeconds::parse(timestamp)?;
        let signatures = versioned(signatures)?;
        let key_id = self.key_that_signed(&Signed { id, timestamp, body: delivery.body }, &signatures)?;
        self.tolerance.check(signed_at, now)?;
        let body = Json::parse_object(delivery.body)
            .map_err(|_| Reason::MalformedBody.because("the body is no JSON object, or repeats a name"))?;
        events::read(id, &body, key_id)
    }

    fn trusts(&self) -> Vec<Trust> {
        self.keys.iter().map(|key| Trust { key: key.mark(), recipient: String::new() }).collect()
    }

    fn api(&self) -> Option<&dyn ProviderApi> {
        self.api.as_ref().map(|api| api as &dyn ProviderApi)
    }
}

impl Standard {
    fn key_that_signed(&self, signed: &Signed<'_>, signatures: &[(&str, &str)]) -> Result<&str, Rejection> {
        let key = self.keys.iter().find(|key| {
            let of_its_version = signatures.iter().filter(|(version, _)| *version == key.version());
            key.has_signed(signed, of_its_version.filter_map(|(_, signature)| base64_bytes(signature)))
        });
        key.map(|key| key.id.as_str())
            .ok_or(Reason::BadSignature.because("no signature is that of these bytes under any key we hold"))
    }
}

/// The entries that have a version; others are passed over, as long as there is one that has.
fn versioned(list: &str) -> Result<Vec<(&str, &str)>, Rejection> {
    let entries: Vec<_> = list.split(' ').filter_map(|entry| entry.split_once(',')).collect();
    if entries.is_empty() {
        return Err(Reason::MalformedHeader.because("webhook-signature has no entry with a version"));
    }
    if entries.len() > SIGNATURES_MAX {
        return Err(Reason::MalformedHeader.because("webhook-signature has more than 16 entries"));
    }
    Ok(entries)
}

/// Amounts are decimal texts: whatever can be held can be written.
fn payable(_amount: Amount) -> Result<(), Unpayable> {
    Ok(())
}

/// Any 2xx acknowledges. A 410 would switch the endpoint off at the sender, so it is never answered.
fn answer(verdict: Verdict) -> Answer {
    Answer::by_status(200, verdict)
}
