//! What a provider's adapter does, and the list of those there are.
//!
//! A provider is one file below `provider/` and one line of its registry; nothing else in the service names one.

use std::fmt;

use chrono::{DateTime, Utc};
use money::Amount;
use serde_json::Value;
use thiserror::Error;

use crate::api::ProviderApi;
use crate::event::Notice;
use crate::payable::Unpayable;
use crate::trust::Trust;

mod alipay;
#[cfg(test)]
mod coffer;
mod standard;
mod stripe;
mod wechatpay;

/// Every provider there is, one line each.
static REGISTRY: &[Registration] = &[
    stripe::REGISTRATION,
    alipay::REGISTRATION,
    wechatpay::REGISTRATION,
    standard::REGISTRATION,
    #[cfg(test)]
    coffer::REGISTRATION,
];

/// How a provider is entered in the registry.
pub(crate) struct Registration {
    /// Its word in the API, the configuration and the database.
    pub(crate) word: &'static str,
    /// Whether its notices tell the total of a payment's refunds.
    tells_totals: bool,
    /// Makes its adapter from an endpoint's configuration.
    pub(crate) build: fn(Value, Purpose) -> Result<Box<dyn Provider>, ConfigFault>,
    /// What it takes for an acknowledgement and for a refusal.
    pub(crate) answer: fn(Verdict) -> Answer,
    /// Whether a payment of so much can be settled by it exactly.
    pub(crate) payable: fn(Amount) -> Result<(), Unpayable>,
}

/// What an adapter is built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To take deliveries. Whatever could accept a forgery, or refuse everything, is refused, and so is a setting that
    /// nobody knows, which may be a misspelt one.
    Serving,
    /// To find out what a receiver with this configuration would say to a captured delivery. Unknown settings are passed
    /// over, and a decryption key of a wrong length is kept, to fail where it fails at the receiver.
    Diagnosis,
}

/// A provider's adapter: functions of bytes, configuration and time. It does no I/O, keeps no state, and no input makes it
/// panic.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Which provider it is.
    fn kind(&self) -> ProviderKind;

    /// Verifies a delivery and reads it.
    ///
    /// Questions are asked in this order, and the first that fails answers: headers present, headers well-formed, key
    /// known, signature right, fresh, body readable.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] says why the delivery is not to be believed, or cannot be read.
    fn verify(&self, delivery: &Delivery<'_>, now: DateTime<Utc>) -> Result<Notice, Rejection>;

    /// By what it believes a delivery: each key, with what a delivery that it signed must name besides.
    fn trusts(&self) -> Vec<Trust>;

    /// The keys that are held and at this time verify nothing, by what their provider calls them: certificates whose time is
    /// over, or has not begun.
    fn keys_out_of_time(&self, _now: DateTime<Utc>) -> Vec<String> {
        Vec::new()
    }

    /// What can be asked of the provider; `None` where the endpoint's configuration has no `api`.
    fn api(&self) -> Option<&dyn ProviderApi> {
        None
    }

    /// What to answer.
    fn answer(&self, verdict: Verdict) -> Answer {
        self.kind().answer(verdict)
    }
}

/// What is to be answered to a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was dealt with, or repeating it cannot help: the provider should stop.
    Acknowledged,
    /// It is not believed, or cannot be read.
    Rejected(Reason),
    /// It could not be dealt with for want of the database, say: the provider should come again.
    Unavailable,
}

/// An answer to a provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body, if there is a body.
    pub content_type: Option<&'static str>,
    /// The exact body; `None` where the provider does not look at it, and an empty one is sent.
    pub body: Option<&'static str>,
}

impl Answer {
    /// The answer to a provider that looks at the status alone, and takes any 2xx, such as this one, for an
    /// acknowledgement.
    pub(crate) fn by_status(acknowledged: u16, verdict: Verdict) -> Self {
        let status = match verdict {
            Verdict::Acknowledged => acknowledged,
            Verdict::Rejected(Reason::ConfigError) => 500,
            Verdict::Rejected(_) => 400,
            Verdict::Unavailable => 503,
        };
        Self { status, content_type: None, body: None }
    }
}

/// What came to a callback's address, as it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery<'a> {
    /// Names (compared without case) and values, in the order in which they came, repeated ones included.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The exact bytes of the body.
    pub body: &'a [u8],
}

impl<'a> Delivery<'a> {
    /// The values of headers that the signature needs: each there, once, not empty, and in visible ASCII characters.
    /// That one is missing is said before another is found malformed.
    pub(crate) fn required<const N: usize>(&self, names: [&str; N]) -> Result<[&'a str; N], Rejection> {
        if names.iter().any(|name| self.values(name).next().is_none()) {
            return Err(Reason::MissingHeader.because("a header of the signature is missing"));
        }
        let mut values = [""; N];
        for (value, name) in values.iter_mut().zip(names) {
            *value = self.optional(name)?.unwrap_or_default();
        }
        Ok(values)
    }

    /// The value of a header that need not be there; if it is, then as [`Delivery::required`] has it. Blanks are not
    /// visible, and yet taken, since a list may be separated by them.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<&'a str>, Rejection> {
        let mut values = self.values(name);
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(Reason::MalformedHeader.because("a header of the signature is there twice"));
        }
        let value = std::str::from_utf8(value).ok().filter(|value| {
            !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        });
        value.map(Some).ok_or(
            Reason::MalformedHeader
                .because("a header of the signature is empty, or not in visible ASCII characters"),
        )
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let headers = self.headers.iter();
        headers.filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// A delivery that is not to be believed, or cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}: {detail}", reason.word())]
pub struct Rejection {
    /// Why, as a word.
    pub reason: Reason,
    /// Why, for the operator. It repeats no part of the delivery, and is not for the sender.
    pub detail: &'static str,
}

/// Why a delivery is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// A header of the signature is not there.
    MissingHeader,
    /// A header of the signature is there twice, or is not written as its protocol says.
    MalformedHeader,
    /// A signature that travels in the body is not there.
    MissingSignature,
    /// The signature is not base64.
    MalformedSignature,
    /// The signature is not that of these bytes under any key we hold.
    BadSignature,
    /// The delivery names a key that we do not hold.
    UnknownKey,
    /// The delivery names an algorithm that we do not accept.
    UnsupportedAlgorithm,
    /// The provider tests whether we verify: deliberately wrong, to be refused without alarm.
    SignatureProbe,
    /// Rightly signed, too long ago.
    TimestampTooOld,
    /// Rightly signed, for a time to come.
    TimestampInFuture,
    /// Rightly signed, and not readable.
    MalformedBody,
    /// Rightly signed, and not to be decrypted with our key.
    DecryptFailed,
    /// The endpoint's own configuration is unusable.
    ConfigError,
}

impl Reason {
    pub(crate) fn because(self, detail: &'static str) -> Rejection {
        Rejection { reason: self, detail }
    }

    /// The word for it, in logs, in what `callback check` prints and in the test vectors.
    pub fn word(self) -> &'static str {
        match self {
            Self::MissingHeader => "missing_header",
            Self::MalformedHeader => "malformed_header",
            Self::MissingSignature => "missing_signature",
            Self::MalformedSignature => "malformed_signature",
            Self::BadSignature => "bad_signature",
            Self::UnknownKey => "unknown_key",
            Self::UnsupportedAlgorithm => "unsupported_algorithm",
            Self::SignatureProbe => "signature_probe",
            Self::TimestampTooOld => "timestamp_too_old",
            Self::TimestampInFuture => "timestamp_in_future",
            Self::MalformedBody => "malformed_body",
            Self::DecryptFailed => "decrypt_failed",
            Self::ConfigError => "config_error",
        }
    }
}

/// Why an endpoint's configuration is refused. The server does not start with it.
///
/// It names the key of the configuration and never repeats its value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct ConfigFault(pub String);

/// One of the providers of the registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderKind(&'static str);

impl ProviderKind {
    /// The provider with this word: `stripe`, `alipay`, `wechatpay` or `standard`.
    pub fn from_word(word: &str) -> Option<ProviderKind> {
        ProviderKind::all().find(|kind| kind.0 == word)
    }

    /// The word for it in the API, the configuration and the database.
    pub fn word(self) -> &'static str {
        self.0
    }

    /// Every provider there is, in the order of the registry.
    pub fn all() -> impl Iterator<Item = ProviderKind> {
        REGISTRY.iter().map(|one| ProviderKind(one.word))
    }

    /// The adapter of this provider with an endpoint's configuration, whose settings the provider's file describes.
    ///
    /// # Errors
    ///
    /// A [`ConfigFault`] where the configuration could not be used, or could accept a forgery.
    pub fn build(self, configuration: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
        (self.registration().build)(configuration, purpose)
    }

    /// Whether its own notices tell the total of a payment's refunds; else each refund by an id of its own.
    pub fn tells_totals(self) -> bool {
        self.registration().tells_totals
    }

    /// What this provider takes for an acknowledgement and for a refusal.
    pub fn answer(self, verdict: Verdict) -> Answer {
        (self.registration().answer)(verdict)
    }

    /// Whether a payment of so much can be asked for at this provider.
    ///
    /// # Errors
    ///
    /// [`Unpayable`], where no callback could ever report exactly this amount.
    pub fn payable(self, amount: Amount) -> Result<(), Unpayable> {
        (self.registration().payable)(amount)
    }

    fn registration(self) -> &'static Registration {
        REGISTRY.iter().find(|one| one.word == self.0).expect("a kind is made from the registry")
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::capture::read_captures;
    use crate::signature::HmacSha256;

    const GUIDE: &str = include_str!("../../../docs/guides/add-a-provider.md");
    const SECRET: &str = "of this test, with 32 characters";

    /// What the example makes of a body that is signed with [`SECRET`].
    fn outcome(body: &str, currency: &str) -> crate::capture::Outcome {
        let now = 1_795_910_400;
        let code = HmacSha256::of(SECRET.as_bytes(), &[now.to_string().as_bytes(), b".", body.as_bytes()]);
        let hex: String = code.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let capture = json!({
            "id": "coffer/1",
            "now": now,
            "config": { "secrets": [SECRET] },
            "order": { "order_id": "P-000001", "amount": "500", "currency": currency },
            "request": { "headers": [["coffer-time", now.to_string()], ["coffer-signature", hex]], "body_text": body },
        });
        read_captures(capture.to_string().as_bytes()).unwrap()[0].as_ref().unwrap().check()
    }

    #[test]
    fn the_example_of_the_guide_is_the_file_that_is_tested() {
        assert!(GUIDE.contains(include_str!("provider/coffer.rs")), "print coffer.rs anew in the guide");
    }

    #[test]
    fn a_provider_of_one_file_and_one_line_is_known_everywhere() {
        let paid = |cents: u32, currency: &str| {
            format!(
                r#"{{"id":"1","event":"paid","payment":"c-1","reference":"P-000001","cents":{cents},"currency":"{currency}"}}"#
            )
        };
        for (body, currency, decision) in [
            (paid(50_000, "EUR"), "EUR", "apply_payment"),
            (paid(50_000, "JPY"), "JPY", "apply_payment"),
            (paid(50_001, "JPY"), "JPY", "hold_malformed_amount"),
            (paid(50_000, "EUR"), "JPY", "hold_currency_mismatch"),
            (paid(49_999, "EUR"), "EUR", "hold_amount_mismatch"),
            (r#"{"id":"1","event":"failed","reference":"P-000001"}"#.to_owned(), "EUR", "mark_failed"),
            (r#"{"id":"1","event":"opened"}"#.to_owned(), "EUR", "ignore_event_type"),
        ] {
            let outcome = outcome(&body, currency);
            assert_eq!(outcome.decision, Some(decision), "{body}");
            assert_eq!(outcome.http_status, 204);
        }
        assert_eq!(outcome(r#"{"event":"paid"}"#, "EUR").reason, Some("malformed_body"));
        assert!(ProviderKind::from_word("coffer").is_some());
    }

    #[test]
    fn a_word_is_that_of_one_provider() {
        let words: Vec<_> = ProviderKind::all().map(ProviderKind::word).collect();
        assert_eq!(words[..4], ["stripe", "alipay", "wechatpay", "standard"]);
        let distinct: std::collections::BTreeSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
        assert_eq!(ProviderKind::from_word("Stripe"), None);
    }
}
