//! Endpoints that are configured with the keys of these tests, and deliveries signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use hmac::{Hmac, KeyInit as _, Mac as _};
use money::{Amount, Currency};
use payment_callback::{
    Decision, Delivery, KnownPayment, Notice, Provider, ProviderKind, Purpose, Reason, Rejection, judge,
};
use rsa::PrivateKey;
use rsa::pkcs8::DecodePrivateKey as _;
use serde_json::Value;
use sha2::Sha256;

/// 2026-11-29T00:00:00Z.
pub const NOW: i64 = 1_795_910_400;

/// Our number of the one payment that is known.
pub const PAYMENT_NO: &str = "P-000001";

pub const FIRST_PUBLIC_KEY: &str = include_str!("../keys/first.public.pem");
pub const SECOND_PUBLIC_KEY: &str = include_str!("../keys/second.public.pem");
pub const SECOND_CERTIFICATE: &str = include_str!("../keys/second.certificate.pem");

/// A delivery that a test can change before it is sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Sent {
    pub fn header(&mut self, name: &str) -> &mut String {
        let header = self.headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name));
        &mut header.unwrap_or_else(|| panic!("there is no header {name}")).1
    }

    pub fn without(mut self, name: &str) -> Sent {
        let headers = self.headers.len();
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        assert_eq!(self.headers.len(), headers - 1, "{name} was there");
        self
    }

    pub fn twice(mut self, name: &str) -> Sent {
        let header = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).unwrap().clone();
        self.headers.push((header.0.to_lowercase(), header.1));
        self
    }
}

/// The adapter of `provider` with these settings.
pub fn endpoint(provider: &str, settings: Value) -> Box<dyn Provider> {
    ProviderKind::from_word(provider)
        .unwrap_or_else(|| panic!("there is no provider {provider}"))
        .build(settings, Purpose::Serving)
        .unwrap_or_else(|fault| panic!("{fault}"))
}

pub fn verify_at(provider: &dyn Provider, sent: &Sent, now: i64) -> Result<Notice, Rejection> {
    let headers: Vec<_> =
        sent.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let delivery = Delivery { headers: &headers, body: &sent.body };
    provider.verify(&delivery, DateTime::from_timestamp(now, 0).unwrap())
}

pub fn reason(provider: &dyn Provider, sent: &Sent) -> Option<Reason> {
    verify_at(provider, sent, NOW).err().map(|rejection| rejection.reason)
}

pub fn read(provider: &dyn Provider, sent: &Sent) -> Notice {
    verify_at(provider, sent, NOW).unwrap_or_else(|rejection| panic!("{rejection}"))
}

/// The decision on a delivery, where the one known payment is of that amount.
pub fn decision(provider: &dyn Provider, sent: &Sent, amount: &str, currency: &str) -> Decision {
    let amount = Amount::parse(amount, Currency::from_code(currency).unwrap()).unwrap();
    judge(&read(provider, sent).event, Some(&KnownPayment { payment_no: PAYMENT_NO, amount }))
}

pub fn hmac(key: &[u8], content: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(content);
    mac.finalize().into_bytes().to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// One of the two RSA keys of these tests.
#[derive(Clone, Copy, Debug)]
pub enum RsaKey {
    First,
    Second,
}

impl RsaKey {
    /// Signs with RSA (PKCS #1 v1.5) and SHA-256; the answer is base64.
    pub fn sign(self, content: &[u8]) -> String {
        let pem = match self {
            RsaKey::First => include_str!("../keys/first.private.pem"),
            RsaKey::Second => include_str!("../keys/second.private.pem"),
        };
        let key = PrivateKey::from_pkcs8_pem(pem).unwrap();
        base64(&key.pkcs1v15_sign::<Sha256>(content).unwrap())
    }
}
