//! Alipay's notifications: a form, signed with RSA2.
//!
//! The signature is over every parameter but `sign` and `sign_type`, sorted by name and joined as `name=value` by `&`,
//! the values as they are before they are percent-encoded, in the bytes of `charset`
//! (<https://opendocs.alipay.com/open/203/105286>). Amounts are texts in yuan. Times are Beijing's, without a zone. A
//! refund is told by the payment's own notification, with the total of all refunds in `refund_fee`.

pub mod api;

use chrono::{DateTime, FixedOffset, Utc};
use encoding_rs::{Encoding, GBK, UTF_8};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::amount::Amount;
use crate::demo_keys::alipay as demo;
use crate::event::{Event, Outcome, Unsayable, What};
use crate::message::Message;
use crate::provider::Provider;
use crate::rsa::SigningKey;

/// What `application/x-www-form-urlencoded` escapes, but for the blank, which becomes `+`.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b' ');

/// Something with a letter, a sign and a blank that an encoder can get wrong.
const SUBJECT: &str = "测试商品 A&B=C+D 100%";

const TIME: &str = "%Y-%m-%d %H:%M:%S";

/// Alipay, as the sender to one app.
#[derive(Debug)]
pub struct Alipay {
    key: SigningKey,
    charset: Charset,
}

/// The character encoding of a notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Charset {
    /// What an app gets that asked for nothing else.
    #[default]
    Utf8,
    /// What older apps ask for.
    Gbk,
}

impl Charset {
    const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Gbk => "GBK",
        }
    }

    fn encode(self, text: &str) -> Vec<u8> {
        let encoding: &'static Encoding = match self {
            Self::Utf8 => UTF_8,
            Self::Gbk => GBK,
        };
        encoding.encode(text).0.into_owned()
    }
}

impl Alipay {
    /// With the demo's key.
    pub fn demo(charset: Charset) -> Self {
        let key = SigningKey::from_pem(demo::PLATFORM_PRIVATE_KEY).expect("the demo's key is one");
        Self { key, charset }
    }

    /// The event, signed for being sent at `at`.
    ///
    /// # Errors
    ///
    /// When Alipay cannot say this: nothing but yuan, and nothing of an attempt that failed.
    pub fn message(&self, event: &Event, at: DateTime<Utc>) -> Result<Message, Unsayable> {
        let parameters: Vec<(&str, Vec<u8>)> = self
            .parameters(event, at)?
            .into_iter()
            .map(|(name, value)| (name, self.charset.encode(&value)))
            .collect();
        let sign = self.key.sign(&signed(&parameters));
        let mut body = form(&parameters);
        body.extend(b"&");
        body.extend(form(&[("sign_type", b"RSA2".to_vec()), ("sign", sign.into_bytes())]));
        let content_type = format!("application/x-www-form-urlencoded; charset={}", self.charset.name());
        Ok(Message { headers: vec![("Content-Type", content_type)], body })
    }

    fn parameters(&self, event: &Event, at: DateTime<Utc>) -> Result<Vec<(&'static str, String)>, Unsayable> {
        let payment = &event.payment;
        if payment.currency != "CNY" {
            let currency = payment.currency.clone();
            return Err(Unsayable::Currency { provider: Provider::Alipay, currency });
        }
        let amount = yuan(payment.amount)?;
        let happened_at = beijing(event.at).format(TIME).to_string();
        let mut status = "TRADE_SUCCESS";
        let mut more = Vec::new();
        match &event.what {
            What::Succeeded => more.push(("gmt_payment", happened_at.clone())),
            What::Closed => {
                status = "TRADE_CLOSED";
                more.push(("gmt_close", happened_at.clone()));
            }
            What::Refunded(refund) if refund.outcome == Outcome::Done => {
                if refund.refunded_total == payment.amount {
                    status = "TRADE_CLOSED";
                    more.push(("gmt_close", happened_at.clone()));
                }
                more.push(("gmt_payment", happened_at.clone()));
                more.push(("refund_fee", yuan(refund.refunded_total)?));
                more.push(("gmt_refund", beijing(event.at).format("%Y-%m-%d %H:%M:%S%.3f").to_string()));
                more.push(("out_biz_no", refund.refund_no.clone()));
            }
            What::Failed | What::Refunded(_) => return Err(event.unsaid_by(Provider::Alipay)),
        }
        let fund_bill_list = format!(r#"[{{"amount":"{amount}","fundChannel":"ALIPAYACCOUNT"}}]"#);
        let mut parameters = vec![
            ("gmt_create", happened_at),
            ("charset", self.charset.name().to_owned()),
            ("seller_email", "seller@example.test".to_owned()),
            ("subject", SUBJECT.to_owned()),
            ("buyer_id", "2088000000000001".to_owned()),
            ("invoice_amount", amount.clone()),
            ("notify_id", event.id.clone()),
            ("fund_bill_list", fund_bill_list),
            ("notify_type", "trade_status_sync".to_owned()),
            ("trade_status", status.to_owned()),
            ("receipt_amount", amount.clone()),
            ("buyer_pay_amount", amount.clone()),
            ("app_id", demo::APP_ID.to_owned()),
            ("seller_id", demo::SELLER_ID.to_owned()),
            ("notify_time", beijing(at).format(TIME).to_string()),
            ("version", "1.0".to_owned()),
            ("out_trade_no", payment.payment_no.clone()),
            ("total_amount", amount),
            ("trade_no", payment.provider_payment_id.clone()),
            ("auth_app_id", demo::APP_ID.to_owned()),
            ("buyer_logon_id", "buy***@example.test".to_owned()),
            ("point_amount", "0.00".to_owned()),
        ];
        parameters.extend(more);
        Ok(parameters)
    }
}

/// An amount in yuan, with the two digits that Alipay writes.
///
/// # Errors
///
/// When it has more.
pub fn yuan(amount: Amount) -> Result<String, Unsayable> {
    amount.text(2).ok_or_else(|| Unsayable::Inexact {
        provider: Provider::Alipay,
        amount,
        currency: "CNY".to_owned(),
    })
}

/// The time in Beijing, which is eight hours ahead all the year.
pub fn beijing(at: DateTime<Utc>) -> DateTime<FixedOffset> {
    at.with_timezone(&FixedOffset::east_opt(8 * 3600).expect("eight hours are an offset"))
}

/// The bytes that a signature is over: `parameters` without `sign` and `sign_type`, sorted by name.
pub(crate) fn signed(parameters: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut sorted: Vec<&(&str, Vec<u8>)> = parameters.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    let pairs: Vec<Vec<u8>> =
        sorted.into_iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat()).collect();
    pairs.join(&b"&"[..])
}

fn form(parameters: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let pairs: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name}={}", percent_encode(value, FORM).to_string().replace(' ', "+")))
        .collect();
    pairs.join("&").into_bytes()
}

#[cfg(test)]
mod tests;
