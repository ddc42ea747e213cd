//! Stripe's events: JSON, and `Stripe-Signature: t=…,v1=…`.
//!
//! The MAC is HMAC-SHA256 over `t`, a point and the raw body, in small hexadecimal digits; its key is the whole text of
//! the secret, `whsec_` included (stripe-python 16.1.0, `stripe/_webhook.py`). While a secret is being rolled, the header
//! carries a `v1` for each. Amounts are whole minor units of Stripe's own table
//! (<https://docs.stripe.com/currencies>).

pub mod api;

use chrono::{DateTime, Utc};
use ring::hmac;
use serde::Serialize;

use crate::amount::{self, Amount};
use crate::demo_keys;
use crate::event::{Event, Outcome, Payment, Refund, Unsayable, What};
use crate::message::Message;
use crate::provider::Provider;

/// The version of the API that an event names.
pub const API_VERSION: &str = "2026-10-28.demo";

/// Stripe, as one endpoint's sender.
#[derive(Clone, Debug)]
pub struct Stripe {
    /// Each signs every message; two while a secret is being rolled.
    secrets: Vec<&'static str>,
}

impl Stripe {
    /// With the demo's secret, and the one that follows it if it is being rolled.
    pub fn demo(rolled: bool) -> Self {
        use demo_keys::stripe::{NEXT_SECRET, SECRET};
        Self { secrets: if rolled { vec![SECRET, NEXT_SECRET] } else { vec![SECRET] } }
    }

    /// The event, signed for being sent at `at`.
    ///
    /// # Errors
    ///
    /// When Stripe cannot say this.
    pub fn message(&self, event: &Event, at: DateTime<Utc>) -> Result<Message, Unsayable> {
        let body = self.body(event)?;
        Ok(Message {
            headers: vec![
                ("Content-Type", "application/json; charset=utf-8".to_owned()),
                ("Stripe-Signature", self.signature(at.timestamp(), &body)),
            ],
            body,
        })
    }

    fn signature(&self, timestamp: i64, body: &[u8]) -> String {
        let signed = [format!("{timestamp}.").as_bytes(), body].concat();
        let macs = self.secrets.iter().map(|secret| {
            let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), &signed);
            format!(",v1={}", hex(mac.as_ref()))
        });
        format!("t={timestamp}{}", macs.collect::<String>())
    }

    fn body(&self, event: &Event) -> Result<Vec<u8>, Unsayable> {
        let payment = &event.payment;
        let (kind, object) = match &event.what {
            What::Succeeded => ("payment_intent.succeeded", Object::intent(payment, "succeeded")?),
            What::Failed => {
                ("payment_intent.payment_failed", Object::intent(payment, "requires_payment_method")?)
            }
            What::Closed => ("payment_intent.canceled", Object::intent(payment, "canceled")?),
            What::Refunded(refund) if refund.outcome == Outcome::Done => {
                ("charge.refunded", Object::charge(payment, refund)?)
            }
            What::Refunded(_) => return Err(event.unsaid_by(Provider::Stripe)),
        };
        let envelope = Envelope {
            id: &event.id,
            object: "event",
            api_version: API_VERSION,
            created: event.at.timestamp(),
            data: Data { object },
            livemode: demo_keys::stripe::LIVEMODE,
            pending_webhooks: 1,
            request: Request { id: None, idempotency_key: None },
            kind,
        };
        // Stripe lays its bodies out for reading: one that is read and written again has other bytes.
        Ok(serde_json::to_vec_pretty(&envelope).expect("no map has keys that are not text"))
    }
}

/// How many of Stripe's units the amount is.
///
/// # Errors
///
/// When it is no whole number of them, or the currency's unit is disputed (UGX stands in Stripe's list of zero-decimal
/// currencies and among its special cases of two decimals).
pub fn units(amount: Amount, currency: &str) -> Result<u64, Unsayable> {
    let provider = Provider::Stripe;
    let inexact = || Unsayable::Inexact { provider, amount, currency: currency.to_owned() };
    let whole = |units: u64, of: u64| units.is_multiple_of(of).then_some(units);
    match currency {
        "UGX" => return Err(Unsayable::Currency { provider, currency: currency.to_owned() }),
        // Two decimals in the API, and whole krónur only.
        "ISK" => amount.in_units(2).and_then(|units| whole(units, 100)),
        "MGA" => amount.in_units(0),
        // Three decimals of which the last is 0.
        _ if amount::iso_decimals(currency) == 3 => amount.in_units(3).and_then(|units| whole(units, 10)),
        _ => amount.in_units(amount::iso_decimals(currency).min(2)),
    }
    .ok_or_else(inexact)
}

/// The id of the charge of a payment intent: the simulator's payments have one each.
pub fn charge_id(payment_intent: &str) -> String {
    format!("ch_{}", payment_intent.trim_start_matches("pi_"))
}

/// Small hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: &'a str,
    object: &'static str,
    api_version: &'static str,
    created: i64,
    data: Data<'a>,
    livemode: bool,
    pending_webhooks: u32,
    request: Request,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Data<'a> {
    object: Object<'a>,
}

#[derive(Serialize)]
struct Request {
    id: Option<String>,
    idempotency_key: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Metadata<'a> {
    pub(crate) order_id: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Object<'a> {
    Intent {
        id: &'a str,
        object: &'static str,
        amount: u64,
        amount_received: u64,
        currency: String,
        latest_charge: Option<String>,
        livemode: bool,
        metadata: Metadata<'a>,
        status: &'static str,
    },
    Charge {
        id: String,
        object: &'static str,
        amount: u64,
        amount_captured: u64,
        amount_refunded: u64,
        currency: String,
        livemode: bool,
        metadata: Metadata<'a>,
        paid: bool,
        payment_intent: &'a str,
        refunded: bool,
        status: &'static str,
    },
}

impl<'a> Object<'a> {
    fn intent(payment: &'a Payment, status: &'static str) -> Result<Self, Unsayable> {
        let amount = units(payment.amount, &payment.currency)?;
        let is_paid = status == "succeeded";
        Ok(Self::Intent {
            id: &payment.provider_payment_id,
            object: "payment_intent",
            amount,
            amount_received: if is_paid { amount } else { 0 },
            currency: payment.currency.to_lowercase(),
            latest_charge: is_paid.then(|| charge_id(&payment.provider_payment_id)),
            livemode: demo_keys::stripe::LIVEMODE,
            metadata: Metadata { order_id: &payment.payment_no },
            status,
        })
    }

    /// A refund is told by its charge, with the total of all refunds until then.
    fn charge(payment: &'a Payment, refund: &Refund) -> Result<Self, Unsayable> {
        let amount = units(payment.amount, &payment.currency)?;
        let amount_refunded = units(refund.refunded_total, &payment.currency)?;
        Ok(Self::Charge {
            id: charge_id(&payment.provider_payment_id),
            object: "charge",
            amount,
            amount_captured: amount,
            amount_refunded,
            currency: payment.currency.to_lowercase(),
            livemode: demo_keys::stripe::LIVEMODE,
            metadata: Metadata { order_id: &payment.payment_no },
            paid: true,
            payment_intent: &payment.provider_payment_id,
            refunded: amount_refunded == amount,
            status: "succeeded",
        })
    }
}

#[cfg(test)]
mod tests;
