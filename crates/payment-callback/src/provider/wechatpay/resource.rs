//! What a notification carries, decrypted, and what that means.

use money::{Amount, Currency};

use super::{Recipient, Wechatpay};
use crate::amount_reading::{IntegerScale, read_currency, read_integer};
use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::json::Json;
use crate::payable::Unpayable;
use crate::provider::{Reason, Rejection};
use crate::provider_id::{our_number, provider_id, shown_subject, shown_word};
use crate::signature::base64_bytes;

/// The one way in which contents are encrypted.
const ALGORITHM: &str = "AEAD_AES_256_GCM";

/// WeChat Pay takes yuan from a merchant in the mainland, which is what its API v3 is asked for here.
pub(super) fn payable(amount: Amount) -> Result<(), Unpayable> {
    if amount.currency() == cny() { Ok(()) } else { Err(Unpayable::Currency(amount.currency())) }
}

impl Wechatpay {
    /// Reads a notification whose signature was found right.
    pub(super) fn read(&self, envelope: &Json, key_id: &str) -> Result<Notice, Rejection> {
        let delivery_key = provider_id(envelope.text("id"))?;
        let event_type = envelope
            .text("event_type")
            .ok_or(Reason::MalformedBody.because("the notification has no event_type"))?;
        let resource = envelope
            .get("resource")
            .ok_or(Reason::MalformedBody.because("the notification has no resource"))?;
        let content = self
            .decrypted(resource)
            .ok_or(Reason::DecryptFailed.because("the resource cannot be decrypted into a JSON object"))?;
        let event = match event_type {
            "TRANSACTION.SUCCESS" => self.recipient.transaction(&content)?,
            "REFUND.SUCCESS" => self.recipient.refund(&content, RefundOutcome::Succeeded)?,
            "REFUND.CLOSED" => self.recipient.refund(&content, RefundOutcome::Closed)?,
            "REFUND.ABNORMAL" => self.recipient.refund(&content, RefundOutcome::Abnormal)?,
            _ => Event::UnknownType,
        };
        Ok(Notice {
            delivery_key,
            event_type: shown_word(Some(event_type)),
            event,
            key_id: key_id.to_owned(),
            subject: shown_subject(content.text("attach")),
        })
    }

    fn decrypted(&self, resource: &Json) -> Option<Json> {
        if resource.text("algorithm") != Some(ALGORITHM) {
            return None;
        }
        let associated_data = match resource.get("associated_data") {
            None => "",
            Some(Json::Text(text)) => text,
            Some(_) => return None,
        };
        let nonce = resource.text("nonce")?;
        let ciphertext = base64_bytes(resource.text("ciphertext")?)?;
        let plaintext =
            self.api_v3_keys.decrypt(nonce.as_bytes(), associated_data.as_bytes(), &ciphertext)?;
        Json::parse_object(&plaintext).ok()
    }
}

impl Recipient {
    fn transaction(&self, content: &Json) -> Result<Event, Rejection> {
        // An order combined of several is nothing that we ask for.
        if content.get("combine_out_trade_no").is_some() {
            return Ok(Event::UnknownType);
        }
        if let Some(field) = self.other_recipient_of_payment(content) {
            return Ok(Event::OtherAccount { field });
        }
        let payment_no = our_number(content.text("out_trade_no"));
        // A payment that was refunded since, and is told of late, says REFUND.
        if content.text("trade_state") != Some("SUCCESS") {
            return Ok(Event::Noted { payment_no });
        }
        paid(content)
    }

    /// The amount is that of this one refund. A refund names no app.
    fn refund(&self, content: &Json, outcome: RefundOutcome) -> Result<Event, Rejection> {
        if let Some(field) = self.addressed_to_another(content) {
            return Ok(Event::OtherAccount { field });
        }
        let payment_no = our_number(content.text("out_trade_no"));
        let status = match outcome {
            RefundOutcome::Succeeded => "SUCCESS",
            RefundOutcome::Closed => "CLOSED",
            RefundOutcome::Abnormal => "ABNORMAL",
        };
        if content.text("refund_status").is_some_and(|said| said != status) {
            return Ok(Event::Noted { payment_no });
        }
        let cny = Some(cny());
        Ok(Event::Refunded(Refund {
            payment_no,
            payment_id: provider_id(content.text("transaction_id"))?,
            refund_id: Some(provider_id(content.text("refund_id"))?),
            refund_no: our_number(content.text("out_refund_no")),
            sum: RefundSum::One(amount(content, "refund", cny)),
            outcome,
            paid: Some(amount(content, "total", cny)),
        }))
    }

    /// The field that names another merchant or app than the endpoint's.
    pub(super) fn other_recipient_of_payment(&self, content: &Json) -> Option<&'static str> {
        self.addressed_to_another(content).or_else(|| self.of_another_app(content))
    }

    /// The field that names another merchant than the endpoint's, or that names none. A partner's notifications have
    /// `sp_mchid` for the partner and `sub_mchid` for the merchant.
    fn addressed_to_another(&self, content: &Json) -> Option<&'static str> {
        let (field, mchid) = match content.text("mchid") {
            Some(mchid) => ("mchid", Some(mchid)),
            None => ("sp_mchid", content.text("sp_mchid")),
        };
        if mchid != Some(self.mchid.as_str()) {
            return Some(field);
        }
        (content.text("sub_mchid") != self.sub_mchid.as_deref()).then_some("sub_mchid")
    }

    fn of_another_app(&self, content: &Json) -> Option<&'static str> {
        let (field, appid) = match content.text("appid") {
            Some(appid) => ("appid", Some(appid)),
            None => ("sp_appid", content.text("sp_appid")),
        };
        (appid != Some(self.appid.as_str())).then_some(field)
    }
}

/// That a payment, which is for us, was paid.
pub(super) fn paid(content: &Json) -> Result<Event, Rejection> {
    Ok(Event::PaymentSucceeded {
        payment_no: our_number(content.text("out_trade_no")),
        payment_id: provider_id(content.text("transaction_id"))?,
        amount: amount(content, "total", None),
    })
}

/// An integer of the currency's minor unit: fen. With a coupon the payer pays less (`payer_total`), which is no concern
/// of ours. `unless_given` is the currency of an amount that names none.
pub(super) fn amount(content: &Json, name: &str, unless_given: Option<Currency>) -> ReportedAmount {
    let amounts = content.get("amount");
    let written = amounts.and_then(|amounts| amounts.get(name));
    let code = amounts.and_then(|amounts| amounts.get("currency"));
    let currency = match (code, unless_given) {
        (None, Some(currency)) => Ok(currency),
        _ => read_currency(code, written, Currency::from_code),
    };
    match currency {
        Ok(currency) => {
            let scale = IntegerScale { fraction_digits: currency.minor_unit(), multiple_of: 1 };
            read_integer(written, currency, Some(scale))
        }
        Err(unreadable) => unreadable,
    }
}

pub(super) fn cny() -> Currency {
    Currency::from_code("CNY").expect("CNY is on the active list")
}
