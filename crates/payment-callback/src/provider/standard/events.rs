//! What a body means: the payload that a sender of this kind is asked to use.
//!
//! | member | meaning |
//! | --- | --- |
//! | `type` | `payment.succeeded`, `payment.failed`, `payment.closed`, `payment.refunded`; others are acknowledged |
//! | `data.order_id` | our number of the payment |
//! | `data.payment_id` | the identity of the money at the sender |
//! | `data.amount` | decimal text: what was paid; of a refund without `refund_amount`, what was refunded |
//! | `data.currency` | ISO 4217, upper case |
//! | `data.refund_id` | the identity of this refund at the sender |
//! | `data.refund_amount` | of a refund, what was refunded, where `amount` repeats what was paid |
//! | `data.refund_no` | our number of the refund, if it was ours |
//! | `data.refund_status` | `succeeded` (unless given), `closed` or `abnormal` |

use money::Currency;

use crate::amount_reading::{read_currency, read_decimal};
use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::json::Json;
use crate::provider::{Reason, Rejection};
use crate::provider_id::{our_number, provider_id, shown_subject, shown_word};

/// Reads a body whose signature was found right.
pub(super) fn read(id: &str, body: &Json, key_id: &str) -> Result<Notice, Rejection> {
    let event_type = body.text("type");
    let data = || body.get("data").ok_or(Reason::MalformedBody.because("the event has no data"));
    let event = match event_type {
        Some("payment.succeeded") => succeeded(data()?)?,
        Some("payment.failed") => failed(data()?)?,
        Some("payment.closed") => closed(data()?)?,
        Some("payment.refunded") => refunded(data()?)?,
        _ => Event::UnknownType,
    };
    Ok(Notice {
        delivery_key: provider_id(Some(id))?,
        event_type: shown_word(event_type),
        event,
        key_id: key_id.to_owned(),
        subject: shown_subject(body.get("data").and_then(|data| data.text("memo"))),
    })
}

fn succeeded(data: &Json) -> Result<Event, Rejection> {
    Ok(Event::PaymentSucceeded {
        payment_no: our_number(data.text("order_id")),
        payment_id: provider_id(data.text("payment_id"))?,
        amount: amount(data, "amount"),
    })
}

fn failed(data: &Json) -> Result<Event, Rejection> {
    Ok(Event::PaymentFailed {
        payment_no: our_number(data.text("order_id")),
        payment_id: payment_id_if_any(data),
    })
}

fn closed(data: &Json) -> Result<Event, Rejection> {
    Ok(Event::PaymentClosed {
        payment_no: our_number(data.text("order_id")),
        payment_id: payment_id_if_any(data),
        has_others: false,
    })
}

fn refunded(data: &Json) -> Result<Event, Rejection> {
    let payment_no = our_number(data.text("order_id"));
    let outcome = match data.text("refund_status") {
        None | Some("succeeded") => RefundOutcome::Succeeded,
        Some("closed") => RefundOutcome::Closed,
        Some("abnormal") => RefundOutcome::Abnormal,
        Some(_) => return Ok(Event::Noted { payment_no }),
    };
    let (sum, paid) = match data.get("refund_amount") {
        Some(_) => (amount(data, "refund_amount"), Some(amount(data, "amount"))),
        None => (amount(data, "amount"), None),
    };
    Ok(Event::Refunded(Refund {
        payment_no,
        payment_id: provider_id(data.text("payment_id"))?,
        refund_id: Some(provider_id(data.text("refund_id"))?),
        refund_no: our_number(data.text("refund_no")),
        sum: RefundSum::One(sum),
        outcome,
        paid,
    }))
}

fn payment_id_if_any(data: &Json) -> Option<String> {
    provider_id(data.text("payment_id")).ok()
}

pub(super) fn amount(data: &Json, name: &str) -> ReportedAmount {
    let written = data.get(name);
    match read_currency(data.get("currency"), written, Currency::from_code) {
        Ok(currency) => read_decimal(written, currency),
        Err(unreadable) => unreadable,
    }
}
