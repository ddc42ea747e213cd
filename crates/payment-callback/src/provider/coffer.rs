//! Coffer, a provider that does not exist: the example of `docs/guides/add-a-provider.md`, compiled for tests alone.
//!
//! `Coffer-Signature: <64 hexadecimal digits>` is the HMAC-SHA256 of `Coffer-Time`, a dot and the body. The body is
//! `{"id","event":"paid"|"failed","payment":…,"reference":<our payment_no>,"cents":8880,"currency":"EUR"}`.

use chrono::{DateTime, Utc};
use money::{Amount, Currency};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Answer, ConfigFault, Delivery, Provider, ProviderKind, Purpose, Reason, Registration, Rejection, Verdict,
};
use crate::amount_reading::{IntegerScale, read_currency, read_integer};
use crate::configuration::{self, UnknownSettings};
use crate::event::{Event, Notice, ReportedAmount};
use crate::freshness::{Tolerance, UnixSeconds};
use crate::json::Json;
use crate::payable::{Unpayable, payable_on_scale};
use crate::provider_id::{our_number, provider_id, shown_word};
use crate::secret::{ListedKey, NamedKey};
use crate::signature::{HmacSha256, lower_hex_32};
use crate::trust::{KeyMark, Trust};

pub(super) const REGISTRATION: Registration =
    Registration { word: "coffer", tells_totals: false, build, answer, payable };

#[derive(Debug, Deserialize)]
struct Settings {
    secrets: Vec<ListedKey>,
    tolerance_s: Option<u64>,
    #[serde(flatten)]
    unknown: UnknownSettings,
}

#[derive(Debug)]
struct Coffer {
    secrets: Vec<NamedKey>,
    tolerance: Tolerance,
}

fn build(settings: Value, purpose: Purpose) -> Result<Box<dyn Provider>, ConfigFault> {
    let settings: Settings = configuration::read(settings)?;
    settings.unknown.refuse(purpose)?;
    let secrets = ListedKey::named(settings.secrets);
    configuration::ids_are_distinct("secrets", secrets.iter().map(|secret| secret.id.as_str()))?;
    if let Some(short) = secrets.iter().find(|secret| secret.key.expose().len() < 32) {
        return Err(ConfigFault(format!("secrets: {} has fewer than 32 characters", short.id)));
    }
    Ok(Box::new(Coffer { secrets, tolerance: Tolerance::new(settings.tolerance_s)? }))
}

impl Provider for Coffer {
    fn kind(&self) -> ProviderKind {
        ProviderKind(REGISTRATION.word)
    }

    fn verify(&self, delivery: &Delivery<'_>, now: DateTime<Utc>) -> Result<Notice, Rejection> {
        let [time, signature] = delivery.required(["Coffer-Time", "Coffer-Signature"])?;
        let signed_at = UnixSeconds::parse(time)?;
        let signature = lower_hex_32(signature)
            .ok_or(Reason::MalformedSignature.because("Coffer-Signature is not 64 hexadecimal digits"))?;
        let signed = |secret: &&NamedKey| {
            HmacSha256::of(secret.key.expose().as_bytes(), &[time.as_bytes(), b".", delivery.body])
                .is(&signature)
        };
        let secret = self.secrets.iter().find(signed);
        let secret = secret.ok_or(Reason::BadSignature.because("not signed with any secret we hold"))?;
        self.tolerance.check(signed_at, now)?;
        let body = Json::parse_object(delivery.body)
            .map_err(|_| Reason::MalformedBody.because("the body is no JSON object, or repeats a name"))?;
        read(&body, &secret.id)
    }

    fn trusts(&self) -> Vec<Trust> {
        let keys = self.secrets.iter().map(|secret| KeyMark::of(secret.key.expose().as_bytes()));
        keys.map(|key| Trust { key, recipient: String::new() }).collect()
    }
}

fn read(body: &Json, key_id: &str) -> Result<Notice, Rejection> {
    let payment_no = our_number(body.text("reference"));
    let event = match body.text("event") {
        Some("paid") => Event::PaymentSucceeded {
            payment_no,
            payment_id: provider_id(body.text("payment"))?,
            amount: amount(body),
        },
        Some("failed") => {
            Event::PaymentFailed { payment_no, payment_id: provider_id(body.text("payment")).ok() }
        }
        _ => Event::UnknownType,
    };
    Ok(Notice {
        delivery_key: provider_id(body.text("id"))?,
        event_type: shown_word(body.text("event")),
        event,
        key_id: key_id.to_owned(),
        subject: None,
    })
}

/// Coffer counts every currency in hundredths, those that have none included.
const CENTS: IntegerScale = IntegerScale { fraction_digits: 2, multiple_of: 1 };

fn amount(body: &Json) -> ReportedAmount {
    let cents = body.get("cents");
    match read_currency(body.get("currency"), cents, Currency::from_code) {
        Ok(currency) => read_integer(cents, currency, Some(CENTS)),
        Err(unreadable) => unreadable,
    }
}

/// What Coffer cannot count is not asked for: 1.001 KWD would wait for ever.
fn payable(amount: Amount) -> Result<(), Unpayable> {
    payable_on_scale(amount, Some(CENTS))
}

/// Coffer takes any 2xx for an acknowledgement, and tries again after anything else.
fn answer(verdict: Verdict) -> Answer {
    Answer::by_status(204, verdict)
}
