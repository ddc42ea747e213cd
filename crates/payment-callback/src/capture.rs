//! Captured deliveries, to be checked without a server or a database.
//!
//! A file holds one capture, a list of them, or an object with `vectors`; `provider` may stand at the top, in each
//! capture, or before the slash of its `id`.
//!
//! | member | meaning |
//! | --- | --- |
//! | `id` | what the capture is called |
//! | `provider` | `stripe`, `alipay`, `wechatpay` or `standard` |
//! | `now` | Unix seconds to take as the time of arrival |
//! | `config` | the endpoint's settings, as in the configuration file |
//! | `order` | the one payment that is known: `order_id` (our number of it), `amount`, `currency`; or left out |
//! | `request` | `headers`, a list of `[name, value]`; `body_base64`, or `body_text` for a body that is UTF-8 |
//! | `expect` | what should come out, if that is to be compared: any members of [`Outcome`] |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use money::{Amount, Currency};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::decision::{KnownPayment, judge};
use crate::event::{Event, Notice, ReportedAmount};
use crate::provider::{Delivery, ProviderKind, Purpose, Reason, Rejection, Verdict};

/// A delivery, and what its receiver knew.
#[derive(Clone, Debug)]
pub struct Capture {
    /// What the capture is called.
    pub id: String,
    /// What should come out, if that is to be compared.
    pub expect: Option<Map<String, Value>>,
    kind: ProviderKind,
    now: DateTime<Utc>,
    config: Value,
    known: Option<(String, Amount)>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What an endpoint says to a capture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Outcome {
    /// What the capture is called.
    pub id: String,
    /// `ok` or `reject`.
    pub verify: &'static str,
    /// Why it is rejected: a word of [`Reason`].
    pub reason: Option<&'static str>,
    /// What is to be done about it, seen alone: a word of [`Decision`](crate::Decision).
    pub decision: Option<&'static str>,
    /// The status of the answer.
    pub http_status: u16,
    /// The body of the answer; `null` where the provider does not look at it.
    pub http_body: Option<&'static str>,
    /// What the delivery says, in words that all providers share.
    pub normalized: Option<Value>,
    /// Why it is rejected, in a sentence.
    #[serde(skip)]
    pub detail: Option<String>,
}

/// Why a file holds no captures, or something in its list is none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct NotACapture(String);

/// Reads the captures of a file, each by itself: one that cannot be read takes no other with it.
///
/// # Errors
///
/// [`NotACapture`] says what is missing or wrong: of the file, or of the capture in whose place it stands.
pub fn read_captures(file: &[u8]) -> Result<Vec<Result<Capture, NotACapture>>, NotACapture> {
    let file: Value =
        serde_json::from_slice(file).map_err(|error| NotACapture(format!("not JSON: {error}")))?;
    let (provider, captures) = match file {
        Value::Array(captures) => (None, captures),
        Value::Object(mut members) => match members.remove("vectors") {
            Some(Value::Array(captures)) => (members.remove("provider"), captures),
            Some(_) => return Err(NotACapture("`vectors` is no list".to_owned())),
            None => (None, vec![Value::Object(members)]),
        },
        _ => return Err(NotACapture("neither an object nor a list".to_owned())),
    };
    if captures.is_empty() {
        return Err(NotACapture("there is no capture in it".to_owned()));
    }
    let captures = captures.into_iter().enumerate();
    Ok(captures.map(|(index, capture)| read_one(index, capture, provider.as_ref())).collect())
}

#[derive(Deserialize)]
struct CaptureIn {
    id: Option<String>,
    provider: Option<String>,
    now: Option<i64>,
    /// Left out, it has no key, and is refused as an endpoint without one is.
    #[serde(default)]
    config: Map<String, Value>,
    order: Option<OrderIn>,
    request: RequestIn,
    expect: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct OrderIn {
    order_id: String,
    amount: String,
    currency: String,
}

#[derive(Deserialize)]
struct RequestIn {
    headers: Vec<(String, String)>,
    body_base64: Option<String>,
    body_text: Option<String>,
}

fn read_one(index: usize, capture: Value, provider: Option<&Value>) -> Result<Capture, NotACapture> {
    let id = match capture.get("id") {
        Some(Value::String(id)) => id.clone(),
        _ => format!("capture {}", index + 1),
    };
    let fault = |problem: String| NotACapture(format!("{id}: {problem}"));
    let read: CaptureIn = serde_json::from_value(capture).map_err(|error| fault(error.to_string()))?;

    let before_slash = read.id.as_deref().and_then(|id| id.split_once('/')).map(|(provider, _)| provider);
    let word = read.provider.as_deref().or(provider.and_then(Value::as_str)).or(before_slash);
    let word = word.ok_or_else(|| fault("`provider` is missing".to_owned()))?;
    // The name of the protocol, for that of our provider which speaks it.
    let word = if word == "standardwebhooks" { "standard" } else { word };
    let kind = ProviderKind::from_word(word).ok_or_else(|| {
        let words: Vec<_> = ProviderKind::all().map(ProviderKind::word).collect();
        fault(format!("`provider` is none of {}", words.join(", ")))
    })?;

    let now = read.now.and_then(|now| DateTime::from_timestamp(now, 0));
    let now =
        now.ok_or_else(|| fault("`now`, the time of arrival in Unix seconds, is missing".to_owned()))?;
    let known = match read.order {
        None => None,
        Some(order) => {
            let currency = Currency::from_code(&order.currency)
                .map_err(|error| fault(format!("`order.currency`: {error}")))?;
            let amount = Amount::parse(without_trailing_zeros(&order.amount), currency)
                .map_err(|error| fault(format!("`order.amount`: {error}")))?;
            Some((order.order_id, amount))
        }
    };
    let body = match (read.request.body_base64, read.request.body_text) {
        (Some(base64), _) => {
            STANDARD.decode(base64).map_err(|_| fault("`request.body_base64` is not base64".to_owned()))?
        }
        (None, Some(text)) => text.into_bytes(),
        (None, None) => return Err(fault("`request` has neither body_base64 nor body_text".to_owned())),
    };
    let (config, headers, expect) = (Value::Object(read.config), read.request.headers, read.expect);
    Ok(Capture { id, expect, kind, now, config, known, headers, body })
}

/// `5` for `5.00`: who captured a delivery may write each amount with two decimals, also that of a currency without.
fn without_trailing_zeros(decimal: &str) -> &str {
    match decimal.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0') => {
            whole
        }
        Some((_, fraction)) if fraction.ends_with('0') => decimal.trim_end_matches('0'),
        _ => decimal,
    }
}

impl Capture {
    /// What an endpoint with these settings says to it. An endpoint whose settings are refused rejects everything with
    /// `config_error`.
    pub fn check(&self) -> Outcome {
        let provider = match self.kind.build(self.config.clone(), Purpose::Diagnosis) {
            Ok(provider) => provider,
            Err(fault) => return self.rejected(Reason::ConfigError, fault.to_string()),
        };
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        match provider.verify(&Delivery { headers: &headers, body: &self.body }, self.now) {
            Ok(notice) => self.accepted(&notice),
            Err(Rejection { reason, detail }) => self.rejected(reason, detail.to_owned()),
        }
    }

    fn accepted(&self, notice: &Notice) -> Outcome {
        let known =
            self.known.as_ref().map(|(payment_no, amount)| KnownPayment { payment_no, amount: *amount });
        let answer = self.kind.answer(Verdict::Acknowledged);
        Outcome {
            id: self.id.clone(),
            verify: "ok",
            reason: None,
            decision: Some(judge(&notice.event, known.as_ref()).word()),
            http_status: answer.status,
            http_body: answer.body,
            normalized: Some(normalized(notice)),
            detail: None,
        }
    }

    fn rejected(&self, reason: Reason, detail: String) -> Outcome {
        let answer = self.kind.answer(Verdict::Rejected(reason));
        Outcome {
            id: self.id.clone(),
            verify: "reject",
            reason: Some(reason.word()),
            decision: None,
            http_status: answer.status,
            http_body: answer.body,
            normalized: None,
            detail: Some(detail),
        }
    }
}

impl Outcome {
    /// Each member that is other than expected, in a sentence. What `expect` does not have is not compared, nor what it
    /// does not have inside `normalized`.
    pub fn differences(&self, expect: &Map<String, Value>) -> Vec<String> {
        let outcome = serde_json::to_value(self).expect("an outcome has nothing that JSON lacks");
        let mut differences = Vec::new();
        for (name, expected) in expect {
            let found = outcome.get(name).unwrap_or(&Value::Null);
            match expected {
                Value::Null if name == "normalized" => {}
                Value::Object(members) if name == "normalized" => {
                    for (member, expected) in members {
                        let found = found.get(member).unwrap_or(&Value::Null);
                        differences.extend(difference(&format!("normalized.{member}"), expected, found));
                    }
                }
                expected => differences.extend(difference(name, expected, found)),
            }
        }
        differences
    }
}

fn difference(name: &str, expected: &Value, found: &Value) -> Option<String> {
    (expected != found).then(|| format!("{name} is {found}, where {expected} is expected"))
}

fn normalized(notice: &Notice) -> Value {
    let mut members = Map::new();
    let mut member = |name: &str, text: Option<&str>| {
        if let Some(text) = text {
            members.insert(name.to_owned(), Value::from(text));
        }
    };
    member("provider_event_id", Some(&notice.delivery_key));
    member("event_type", Some(&notice.event_type));
    member("kind", Some(notice.event.kind()));
    member("order_id", notice.event.payment_no());
    member("provider_payment_id", notice.event.payment_id());
    member("subject", notice.subject.as_deref());
    member("key_id", Some(&notice.key_id));
    let amount = match &notice.event {
        Event::PaymentSucceeded { amount, .. } => Some(amount),
        Event::Refunded(refund) => {
            member("provider_refund_id", refund.refund_id.as_deref());
            member("refund_no", refund.refund_no.as_deref());
            Some(refund.sum.amount())
        }
        Event::ToBeFetched { object_id, object_type } => {
            member("object_id", Some(object_id));
            member("object_type", Some(object_type));
            None
        }
        Event::OtherAccount { field } => {
            member("other_account", Some(field));
            None
        }
        _ => None,
    };
    match amount {
        Some(ReportedAmount::Exact(amount)) => {
            member("amount", Some(&amount.to_string()));
            member("currency", Some(amount.currency().code()));
        }
        Some(ReportedAmount::Malformed { currency, written }) => {
            member("amount_written", Some(written));
            member("currency", currency.map(Currency::code));
        }
        Some(ReportedAmount::UnknownCurrency { code, written }) => {
            member("amount_written", Some(written));
            member("currency_written", Some(code));
        }
        None => {}
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_order(amount: &str, currency: &str) -> Value {
        json!({
            "id": "stripe/any",
            "now": 1_795_910_400,
            "config": {},
            "order": { "order_id": "P-00001", "amount": amount, "currency": currency },
            "request": { "headers": [], "body_text": "" },
        })
    }

    #[test]
    fn an_order_may_be_written_with_zeros_that_its_currency_has_not() {
        for (written, currency, amount) in [
            ("88.80", "USD", "88.80"),
            ("88.800", "USD", "88.80"),
            ("5.00", "UGX", "5"),
            ("500", "JPY", "500"),
            ("0.0", "ISK", "0"),
            ("5.12", "KWD", "5.120"),
        ] {
            let captures = read_captures(with_order(written, currency).to_string().as_bytes()).unwrap();
            let known = captures[0].as_ref().unwrap().known.as_ref().unwrap();
            assert_eq!((known.1.to_string().as_str(), known.1.currency().code()), (amount, currency));
        }
        for (written, currency) in
            [("5.50", "UGX"), ("88.801", "USD"), (".00", "USD"), ("5.", "USD"), ("", "USD")]
        {
            let captures = read_captures(with_order(written, currency).to_string().as_bytes()).unwrap();
            assert!(captures[0].is_err(), "{written}");
        }
    }

    #[test]
    fn what_is_no_capture_takes_no_other_with_it() {
        let mut of_no_text = with_order("1.00", "USD");
        of_no_text["request"]["headers"] = json!([["Stripe-Signature", 1]]);
        let list = json!([with_order("1.005", "USD"), with_order("1.00", "USD"), of_no_text, 5]);
        let captures = read_captures(list.to_string().as_bytes()).unwrap();
        let read: Vec<bool> = captures.iter().map(Result::is_ok).collect();
        assert_eq!(read, [false, true, false, false]);
    }

    #[test]
    fn an_endpoint_without_a_configuration_rejects_everything() {
        let mut capture = with_order("1.00", "USD");
        capture.as_object_mut().unwrap().remove("config");
        let captures = read_captures(capture.to_string().as_bytes()).unwrap();
        assert_eq!(captures[0].as_ref().unwrap().check().reason, Some("config_error"));
    }
}
