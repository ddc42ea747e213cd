//! Stripe: events signed with HMAC-SHA256.
//!
//! `Stripe-Signature: t=1795910398,v1=<64 hexadecimal digits>,…` covers `t`, a dot and the body. While a secret is being
//! rolled there is one `v1` for each, so all of them are tried with each secret we hold. Source: Stripe's own libraries,
//! stripe-python 16.1.0 and stripe-node 23.1.0; where these differ (an upper-case `v1`, two `t`, a time ahead), the
//! stricter reading is taken. <https://docs.stripe.com/webhooks>
//!
//! One payment is told of by several kinds of event, so the money's identity is the PaymentIntent, whatever the kind.
//! A refund is told as the running total of the charge.

mod api;
mod events;
mod scale;

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
use crate::secret::{ListedKey, NamedKey};
use crate::signature::{HmacSha256, lower_hex_32};
use crate::trust::{KeyMark, Trust};
use api::StripeApi;

pub(super) const REGISTRATION: Registration =
    Registration { word: "stripe", tells_totals: true, build, answer, payable: scale::payable };

/// Characters that a secret has behind `whsec_` at least. Stripe's have 32.
const SECRET_CHARS_MIN: usize = 16;

/// The settings of an endpoint.
#[derive(Debug, Deserialize)]
struct Settings {
    /// The endpoint's signing secrets: all are accepted.
    secrets: Vec<ListedKey>,
    /// How far the signature's time may be from ours: 300 unless given.
    tolerance_s: Option<u64>,
    /// Whether events are of live mode. Left out, both are taken, which suits a secret that only one mode knows.
    livemode: Option<bool>,
    /// The connected account that events are for (Connect). Left out, events of connected accounts are not for us.
    #[serde(alias = "account_id")]
    account: Option<String>,
    /// How Stripe is asked. Left out, it is not.
    api: Option<api::Settings>,
    #[serde(flatten)]
    unknown: UnknownSettings,
}

/// The adapter of an endpoint.
#[derive(Debug)]
struct Stripe {
    secrets: Vec<NamedKey>,
    tolerance: Tolerance,
    recipient: Recipient,
    api: Option<StripeApi>,
}

/// For whom events are that are for us.
#[derive(Clone, Debug)]
struct Recipient {
    livemode: Option<bool>,
    account: Option<String>,
}

fn build(settings: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
    let settings: Settings = configuration::read(settings)?;
    settings.unknown.refuse(purpose)?;
    let secrets = ListedKey::named(settings.secrets);
    configuration::ids_are_distinct("secrets", secrets.iter().map(|secret| secret.id.as_str()))?;
    for secret in &secrets {
        let behind = secret.key.expose().strip_prefix("whsec_");
        if behind.is_none_or(|behind| behind.len() < SECRET_CHARS_MIN || behind.contains(char::is_whitespace))
        {
            return Err(ConfigFault(format!(
                "secrets: {} is not `whsec_` and {SECRET_CHARS_MIN} characters or more: anybody could sign with a short one",
                secret.id
            )));
        }
    }
    if let Some(account) = &settings.account {
        configuration::is_given("account", account)?;
    }
    let recipient = Recipient { livemode: settings.livemode, account: settings.account };
    let api = settings.api.map(|api| StripeApi::new(api, recipient.clone())).transpose()?;
    Ok(Box::new(Stripe { secrets, tolerance: Tolerance::new(settings.tolerance_s)?, recipient, api }))
}

impl Provider for Stripe {
    fn kind(&self) -> ProviderKind {
        ProviderKind(REGISTRATION.word)
    }

    fn verify(&self, delivery: &Delivery<'_>, now: DateTime<Utc>) -> Result<Notice, Rejection> {
        let [header] = delivery.required(["Stripe-Signature"])?;
        let header = SignatureHeader::parse(header)?;
        let key_id = self.key_that_signed(&header, delivery.body)?;
        self.tolerance.check(header.signed_at, now)?;
        let event = Json::parse_object(delivery.body)
            .map_err(|_| Reason::MalformedBody.because("the body is no JSON object, or repeats a name"))?;
        self.recipient.read(&event, key_id)
    }

    fn trusts(&self) -> Vec<Trust> {
        let recipient = self.recipient.account.clone().unwrap_or_default();
        let keys = self.secrets.iter().map(|secret| KeyMark::of(secret.key.expose().as_bytes()));
        keys.map(|key| Trust { key, recipient: recipient.clone() }).collect()
    }

    fn api(&self) -> Option<&dyn ProviderApi> {
        self.api.as_ref().map(|api| api as &dyn ProviderApi)
    }
}

impl Stripe {
    fn key_that_signed(&self, header: &SignatureHeader<'_>, body: &[u8]) -> Result<&str, Rejection> {
        let signed = |secret: &&NamedKey| {
            let key = secret.key.expose().as_bytes();
            let code = HmacSha256::of(key, &[header.timestamp.as_bytes(), b".", body]);
            header.signatures.iter().any(|signature| code.is(signature))
        };
        let secret = self.secrets.iter().find(signed);
        secret
            .map(|secret| secret.id.as_str())
            .ok_or(Reason::BadSignature.because("no v1 is that of these bytes under any secret we hold"))
    }
}

/// The header's elements that count.
struct SignatureHeader<'a> {
    /// The digits as they are signed.
    timestamp: &'a str,
    signed_at: UnixSeconds,
    /// Those `v1` that are 64 lower-case digits; any other cannot be right.
    signatures: Vec<[u8; 32]>,
}

impl<'a> SignatureHeader<'a> {
    fn parse(header: &'a str) -> Result<SignatureHeader<'a>, Rejection> {
        let mut timestamp = None;
        let mut has_v1 = false;
        let mut signatures = Vec::new();
        for element in header.split(',') {
            let (scheme, value) = element
                .split_once('=')
                .ok_or(Reason::MalformedHeader.because("an element of Stripe-Signature has no ="))?;
            match scheme {
                "t" if timestamp.is_some() => {
                    return Err(Reason::MalformedHeader.because("Stripe-Signature has two times"));
                }
                "t" => timestamp = Some(value),
                "v1" => {
                    has_v1 = true;
                    signatures.extend(lower_hex_32(value));
                }
                // Other schemes are for other readers, or for test events.
                _ => {}
            }
        }
        let timestamp = timestamp.ok_or(Reason::MalformedHeader.because("Stripe-Signature has no time"))?;
        let signed_at = UnixSeconds::parse(timestamp)?;
        if !has_v1 {
            return Err(Reason::MalformedHeader.because("Stripe-Signature has no v1"));
        }
        Ok(SignatureHeader { timestamp, signed_at, signatures })
    }
}

/// Any 2xx acknowledges; everything else, a redirect included, is tried again for three days.
fn answer(verdict: Verdict) -> Answer {
    Answer::by_status(200, verdict)
}
