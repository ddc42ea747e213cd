//! What a notification of a trade means.

use encoding_rs::Encoding;
use money::{Amount, Currency};

use super::Alipay;
use crate::amount_reading::{FEN_MAX, read_yuan};
use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::form::Form;
use crate::payable::Unpayable;
use crate::provider::Rejection;
use crate::provider_id::{our_number, provider_id, shown_subject, shown_word};

/// Alipay is paid in yuan, and writes nine digits before the point.
pub(super) fn payable(amount: Amount) -> Result<(), Unpayable> {
    let most = Amount::from_minor_units(FEN_MAX, cny()).expect("eleven digits are an amount");
    match amount.currency() == cny() {
        false => Err(Unpayable::Currency(amount.currency())),
        true if amount.minor_units() > FEN_MAX => Err(Unpayable::TooMuch { most }),
        true => Ok(()),
    }
}

impl Alipay {
    /// Reads a form whose signature was found right.
    pub(super) fn read(&self, form: &Form, key_id: &str) -> Result<Notice, Rejection> {
        let fields = Fields::of(form);
        let delivery_key = provider_id(fields.get("notify_id").as_deref())?;
        let event_type = fields.get("trade_status").or(fields.get("notify_type"));
        let event = match self.addressed_to_another(&fields) {
            Some(field) => Event::OtherAccount { field },
            None if fields.get("notify_type").as_deref() != Some("trade_status_sync") => Event::UnknownType,
            None => trade(&fields)?,
        };
        Ok(Notice {
            delivery_key,
            event_type: shown_word(event_type.as_deref()),
            event,
            key_id: key_id.to_owned(),
            subject: shown_subject(fields.get("subject").as_deref()),
        })
    }

    /// The field that names another app or seller than the endpoint's, or that names none.
    fn addressed_to_another(&self, fields: &Fields<'_>) -> Option<&'static str> {
        if fields.get("app_id").as_ref() != Some(&self.app_id) {
            return Some("app_id");
        }
        let on_behalf_of = self.auth_app_id.as_ref().unwrap_or(&self.app_id);
        if fields.get("auth_app_id").is_some_and(|auth_app_id| auth_app_id != *on_behalf_of) {
            return Some("auth_app_id");
        }
        match (fields.get("seller_id"), fields.get("seller_email")) {
            (Some(seller_id), _) => (seller_id != self.seller_id).then_some("seller_id"),
            (None, Some(email)) => (Some(email) != self.seller_email).then_some("seller_email"),
            (None, None) => Some("seller_id"),
        }
    }
}

fn trade(fields: &Fields<'_>) -> Result<Event, Rejection> {
    let payment_no = our_number(fields.get("out_trade_no").as_deref());
    let status = fields.get("trade_status");
    let is_closed = match status.as_deref() {
        // FINISHED: paid, and no longer refundable; it may be the first that is told of a payment.
        Some("TRADE_SUCCESS" | "TRADE_FINISHED") => false,
        Some("TRADE_CLOSED") => true,
        Some("WAIT_BUYER_PAY") => return Ok(Event::Noted { payment_no }),
        _ => return Ok(Event::UnknownType),
    };
    let payment_id = provider_id(fields.get("trade_no").as_deref())?;
    // `total_amount` is what was asked for; with a coupon the payer pays less, which is no concern of ours.
    let paid = yuan(fields, "total_amount");
    match yuan(fields, "refund_fee") {
        // A plain payment may carry `refund_fee=0.00`: that the field is there says nothing.
        ReportedAmount::Malformed { written, .. } if written.is_empty() => {}
        ReportedAmount::Exact(refunded) if refunded.is_zero() => {}
        refunded => {
            return Ok(Event::Refunded(Refund {
                payment_no,
                payment_id,
                refund_id: None,
                refund_no: our_number(fields.get("out_biz_no").as_deref()),
                sum: RefundSum::RunningTotal(refunded),
                outcome: RefundOutcome::Succeeded,
                paid: Some(paid),
            }));
        }
    }
    Ok(if is_closed {
        Event::PaymentClosed { payment_no, payment_id: Some(payment_id), has_others: false }
    } else {
        Event::PaymentSucceeded { payment_no, payment_id, amount: paid }
    })
}

fn yuan(fields: &Fields<'_>, name: &str) -> ReportedAmount {
    read_yuan(fields.get(name).as_deref(), cny())
}

/// Trades of the mainland platform are in yuan, and no field says so.
pub(super) fn cny() -> Currency {
    Currency::from_code("CNY").expect("CNY is on the active list")
}

/// The fields as text, in the charset that one of them names.
struct Fields<'a> {
    form: &'a Form,
    charset: &'static Encoding,
}

impl<'a> Fields<'a> {
    /// An unknown charset is read as UTF-8: what counts is ASCII in each that Alipay uses.
    fn of(form: &'a Form) -> Fields<'a> {
        let charset = form.get("charset").and_then(Encoding::for_label);
        Fields { form, charset: charset.unwrap_or(encoding_rs::UTF_8) }
    }

    /// The text of a field; `None` where it is absent, empty or not in the charset.
    fn get(&self, name: &str) -> Option<String> {
        let text = self.charset.decode_without_bom_handling_and_without_replacement(self.form.get(name)?)?;
        Some(text.into_owned())
    }
}
