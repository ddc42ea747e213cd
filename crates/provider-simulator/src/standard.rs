//! A sender that follows Standard Webhooks 1.0.0
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).
//!
//! Signed are the id, a point, the seconds of this attempt, a point, and the raw body: by HMAC-SHA256 (`v1`) with the
//! bytes that the secret encodes, or by ed25519 (`v1a`). Several signatures stand in one header, with a blank between.
//! The payload is Onefold's own, with amounts as texts.

pub mod api;

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::Serialize;

use crate::amount::{self, Amount};
use crate::demo_keys::standard as demo;
use crate::event::{Event, Outcome, Unsayable, What};
use crate::message::Message;
use crate::provider::Provider;

/// Bytes of an ed25519 seed, which a `whsk_` key begins with.
const SEED_BYTES: usize = 32;

/// A sender, with what it signs by.
pub struct Standard {
    keys: Vec<Key>,
}

enum Key {
    Hmac(hmac::Key),
    Ed25519(Box<Ed25519KeyPair>),
}

/// It says no more of the keys than how many there are.
impl fmt::Debug for Standard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Standard({} keys)", self.keys.len())
    }
}

/// With which of the demo's keys a message is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signing {
    /// With the secret.
    Secret,
    /// With the secret and with the one that follows it.
    BothSecrets,
    /// With the private key.
    PrivateKey,
}

impl Standard {
    /// With the demo's keys.
    pub fn demo(signing: Signing) -> Self {
        let keys = match signing {
            Signing::Secret => vec![secret(demo::SECRET)],
            Signing::BothSecrets => vec![secret(demo::SECRET), secret(demo::NEXT_SECRET)],
            Signing::PrivateKey => vec![private_key(demo::PRIVATE_KEY)],
        };
        Self { keys }
    }

    /// The event, signed for being sent at `at`.
    ///
    /// # Errors
    ///
    /// When there is no such message.
    pub fn message(&self, event: &Event, at: DateTime<Utc>) -> Result<Message, Unsayable> {
        let body = body(event)?;
        let timestamp = at.timestamp();
        let signed = [format!("{}.{timestamp}.", event.id).as_bytes(), &body].concat();
        let signatures: Vec<String> = self.keys.iter().map(|key| key.sign(&signed)).collect();
        Ok(Message {
            headers: vec![
                ("Content-Type", "application/json".to_owned()),
                ("webhook-id", event.id.clone()),
                ("webhook-timestamp", timestamp.to_string()),
                ("webhook-signature", signatures.join(" ")),
            ],
            body,
        })
    }
}

impl Key {
    fn sign(&self, signed: &[u8]) -> String {
        match self {
            Self::Hmac(key) => format!("v1,{}", BASE64_STANDARD.encode(hmac::sign(key, signed))),
            Self::Ed25519(key) => format!("v1a,{}", BASE64_STANDARD.encode(key.sign(signed))),
        }
    }
}

fn secret(text: &str) -> Key {
    let encoded = text.strip_prefix("whsec_").expect("the demo's secret has its prefix");
    let bytes = BASE64_STANDARD.decode(encoded).expect("the demo's secret is base64");
    Key::Hmac(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

fn private_key(text: &str) -> Key {
    let encoded = text.strip_prefix("whsk_").expect("the demo's private key has its prefix");
    let bytes = BASE64_STANDARD.decode(encoded).expect("the demo's private key is base64");
    let (seed, public) = bytes.split_at(SEED_BYTES);
    let pair =
        Ed25519KeyPair::from_seed_and_public_key(seed, public).expect("the demo's halves belong together");
    debug_assert_eq!(pair.public_key().as_ref(), public);
    Key::Ed25519(Box::new(pair))
}

#[derive(Serialize)]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    order_id: &'a str,
    payment_id: &'a str,
    amount: String,
    currency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_amount: Option<String>,
}

fn body(event: &Event) -> Result<Vec<u8>, Unsayable> {
    let payment = &event.payment;
    let (kind, refund) = match &event.what {
        What::Succeeded => ("payment.succeeded", None),
        What::Failed => ("payment.failed", None),
        What::Refunded(refund) if refund.outcome == Outcome::Done => ("payment.refunded", Some(refund)),
        What::Closed | What::Refunded(_) => return Err(event.unsaid_by(Provider::Standard)),
    };
    let payload = Payload {
        kind,
        timestamp: event.at.to_rfc3339_opts(SecondsFormat::Secs, true),
        data: Data {
            order_id: &payment.payment_no,
            payment_id: &payment.provider_payment_id,
            amount: text(payment.amount, &payment.currency)?,
            currency: &payment.currency,
            refund_id: refund.map(|refund| refund.refund_id.as_str()),
            refund_amount: refund.map(|refund| text(refund.amount, &payment.currency)).transpose()?,
        },
    };
    Ok(serde_json::to_vec(&payload).expect("no map has keys that are not text"))
}

/// The amount with its currency's digits.
///
/// # Errors
///
/// When it has more.
pub fn text(amount: Amount, currency: &str) -> Result<String, Unsayable> {
    amount.text(amount::iso_decimals(currency)).ok_or_else(|| Unsayable::Inexact {
        provider: Provider::Standard,
        amount,
        currency: currency.to_owned(),
    })
}

#[cfg(test)]
mod tests;
