//! What Stripe's events mean.

use money::Currency;

use super::Recipient;
use super::scale::scale_of;
use crate::amount_reading::{read_currency, read_integer};
use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::json::Json;
use crate::provider::{Reason, Rejection};
use crate::provider_id::{id_or_object, our_number, provider_id, shown_subject, shown_word};

/// Objects that a thin event may point to and that tell of a payment.
const FETCHABLE: [&str; 4] = ["payment_intent", "charge", "refund", "checkout.session"];

impl Recipient {
    pub(super) fn read(&self, event: &Json, key_id: &str) -> Result<Notice, Rejection> {
        let delivery_key = provider_id(event.text("id"))?;
        let event_type = event.text("type").ok_or(Reason::MalformedBody.because("the event has no type"))?;
        let object = event.get("data").and_then(|data| data.get("object"));
        let meaning = match (self.addressed_to_another(event), event.text("object")) {
            (_, None) => return Err(Reason::MalformedBody.because("the body is no event")),
            (Some(field), _) => Event::OtherAccount { field },
            // The type of a thin event may be that of a snapshot; what it carries is not.
            (None, Some("v2.core.event")) => thin(event),
            (None, Some("event")) => snapshot(event_type, object)?,
            (None, Some(_)) => return Err(Reason::MalformedBody.because("the body is no event")),
        };
        Ok(Notice {
            delivery_key,
            event_type: shown_word(Some(event_type)),
            event: meaning,
            key_id: key_id.to_owned(),
            subject: shown_subject(object.and_then(|object| object.text("description"))),
        })
    }

    /// Whether an event or an object is of test mode where live mode is expected, or the other way round.
    pub(super) fn is_of_another_mode(&self, object: &Json) -> bool {
        let livemode = match object.get("livemode") {
            Some(Json::Bool(livemode)) => Some(*livemode),
            _ => None,
        };
        self.livemode.is_some() && livemode != self.livemode
    }

    /// The field that names another mode or account than the endpoint's. A thin event has `context` for `account`.
    fn addressed_to_another(&self, event: &Json) -> Option<&'static str> {
        if self.is_of_another_mode(event) {
            return Some("livemode");
        }
        let (field, account) = match (event.get("account"), event.get("context")) {
            (None, context) => ("context", context),
            (account, _) => ("account", account),
        };
        let is_ours = match (account, &self.account) {
            (None, None) => true,
            (Some(Json::Text(account)), Some(ours)) => account == ours,
            _ => false,
        };
        (!is_ours).then_some(field)
    }
}

fn thin(event: &Json) -> Event {
    let related = event.get("related_object");
    let object_type = related.and_then(|related| related.text("type")).unwrap_or_default();
    match provider_id(related.and_then(|related| related.text("id"))) {
        Ok(object_id) if FETCHABLE.contains(&object_type) => {
            Event::ToBeFetched { object_id, object_type: object_type.to_owned() }
        }
        _ => Event::UnknownType,
    }
}

fn snapshot(event_type: &str, object: Option<&Json>) -> Result<Event, Rejection> {
    let read: fn(&Json) -> Result<Event, Rejection> = match event_type {
        "payment_intent.succeeded" => payment_intent_succeeded,
        "payment_intent.payment_failed" => payment_intent_failed,
        "payment_intent.canceled" => payment_intent_canceled,
        "checkout.session.completed" | "checkout.session.async_payment_succeeded" => session_completed,
        "checkout.session.async_payment_failed" => session_failed,
        // Another session may be open for the same payment.
        "checkout.session.expired" => noted,
        "charge.refunded" => charge_refunded,
        "refund.created" | "charge.refund.updated" | "refund.updated" | "refund.failed" => refund_updated,
        _ if event_type.starts_with("charge.dispute.") => disputed,
        _ => return Ok(Event::UnknownType),
    };
    read(object.ok_or(Reason::MalformedBody.because("the event carries no object"))?)
}

pub(super) fn payment_intent_succeeded(intent: &Json) -> Result<Event, Rejection> {
    Ok(Event::PaymentSucceeded {
        payment_no: payment_no(intent),
        payment_id: provider_id(intent.text("id"))?,
        amount: amount(intent, "amount_received"),
    })
}

pub(super) fn payment_intent_failed(intent: &Json) -> Result<Event, Rejection> {
    let payment_id = Some(provider_id(intent.text("id"))?);
    Ok(Event::PaymentFailed { payment_no: payment_no(intent), payment_id })
}

pub(super) fn payment_intent_canceled(intent: &Json) -> Result<Event, Rejection> {
    let payment_id = Some(provider_id(intent.text("id"))?);
    Ok(Event::PaymentClosed { payment_no: payment_no(intent), payment_id, has_others: true })
}

/// A session is completed as soon as the payer has done all that is asked of them; whether money came is another
/// question.
fn session_completed(session: &Json) -> Result<Event, Rejection> {
    if session.text("payment_status") != Some("paid") {
        return noted(session);
    }
    // A session that has no PaymentIntent (that of a subscription) is itself the money's identity.
    let payment_id = id_or_object(session, "payment_intent").or(session.text("id"));
    Ok(Event::PaymentSucceeded {
        payment_no: payment_no(session),
        payment_id: provider_id(payment_id)?,
        amount: amount(session, "amount_total"),
    })
}

fn session_failed(session: &Json) -> Result<Event, Rejection> {
    let payment_id = id_or_object(session, "payment_intent").or(session.text("id"));
    let payment_id = Some(provider_id(payment_id)?);
    Ok(Event::PaymentFailed { payment_no: payment_no(session), payment_id })
}

/// `amount_refunded` is all that was ever refunded of the charge.
pub(super) fn charge_refunded(charge: &Json) -> Result<Event, Rejection> {
    let payment_id = id_or_object(charge, "payment_intent").or(charge.text("id"));
    Ok(Event::Refunded(Refund {
        payment_no: payment_no(charge),
        payment_id: provider_id(payment_id)?,
        refund_id: None,
        refund_no: None,
        sum: RefundSum::RunningTotal(amount(charge, "amount_refunded")),
        outcome: RefundOutcome::Succeeded,
        paid: None,
    }))
}

/// How much went back in all is told by the charge's running total. Here it is told that a refund did not go through, and of
/// one that has our number, that it is a part of that total.
fn refund_updated(refund: &Json) -> Result<Event, Rejection> {
    let refund_no = refund.get("metadata").and_then(|metadata| our_number(metadata.text("refund_no")));
    let outcome = match refund.text("status") {
        Some("failed" | "canceled") => RefundOutcome::Closed,
        Some("succeeded") if refund_no.is_some() => RefundOutcome::Succeeded,
        _ => return noted(refund),
    };
    let payment_id = id_or_object(refund, "payment_intent").or_else(|| id_or_object(refund, "charge"));
    Ok(Event::Refunded(Refund {
        payment_no: payment_no(refund),
        payment_id: provider_id(payment_id)?,
        refund_id: Some(provider_id(refund.text("id"))?),
        refund_no,
        sum: RefundSum::OneOfTotal { one: amount(refund, "amount"), total: None },
        outcome,
        paid: None,
    }))
}

fn disputed(dispute: &Json) -> Result<Event, Rejection> {
    let payment_id = id_or_object(dispute, "payment_intent").or_else(|| id_or_object(dispute, "charge"));
    Ok(Event::Disputed {
        payment_id: payment_id.and_then(|id| provider_id(Some(id)).ok()),
        dispute_id: provider_id(dispute.text("id")).ok(),
        amount: amount(dispute, "amount"),
    })
}

pub(super) fn noted(object: &Json) -> Result<Event, Rejection> {
    Ok(Event::Noted { payment_no: payment_no(object) })
}

/// Our number, which we gave to Stripe as metadata, or as the reference of a session.
fn payment_no(object: &Json) -> Option<String> {
    let in_metadata = object.get("metadata").and_then(|metadata| metadata.text("order_id"));
    let in_metadata = in_metadata.filter(|number| !number.is_empty());
    our_number(in_metadata.or_else(|| object.text("client_reference_id")))
}

/// What the payer was shown in another currency (`presentment_details`) is not what was asked for, and not read.
pub(super) fn amount(object: &Json, name: &str) -> ReportedAmount {
    let written = object.get(name);
    let named = |code: &str| Currency::from_code(&code.to_ascii_uppercase());
    match read_currency(object.get("currency"), written, named) {
        Ok(currency) => read_integer(written, currency, scale_of(currency)),
        Err(unreadable) => unreadable,
    }
}
