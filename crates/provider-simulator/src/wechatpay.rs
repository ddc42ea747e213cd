//! WeChat Pay's notifications, API v3: JSON around a resource that is encrypted, and headers that sign it.
//!
//! Signed are the timestamp, the nonce and the raw body, each with a newline behind it, with the key that
//! `Wechatpay-Serial` names: WeChat Pay's public key (`PUB_KEY_ID_…`) or a platform certificate (its serial number). The
//! resource is encrypted with AES-256-GCM and the APIv3 key; the tag is its last 16 bytes
//! (<https://pay.weixin.qq.com/doc/v3/merchant/4012071382>). Amounts are whole fen. A refund is told by itself, with
//! its own amount.

pub mod api;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::digest;
use serde::Serialize;

use crate::alipay::beijing;
use crate::amount::Amount;
use crate::demo_keys::wechatpay as demo;
use crate::event::{Event, Outcome, Payment, Refund, Unsayable, What};
use crate::ids;
use crate::message::Message;
use crate::provider::Provider;
use crate::rsa::SigningKey;
use crate::stripe::hex;

/// The one kind of signature that it makes.
pub const SIGNATURE_TYPE: &str = "WECHATPAY2-SHA256-RSA2048";

/// WeChat Pay, as the sender to one merchant.
#[derive(Debug)]
pub struct WechatPay {
    key: SigningKey,
    serial: &'static str,
}

/// Which key of the platform signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlatformKey {
    /// WeChat Pay's public key, the only one that new merchants have.
    #[default]
    PublicKey,
    /// The platform certificate's.
    Certificate,
}

impl WechatPay {
    /// With the demo's keys.
    pub fn demo(platform_key: PlatformKey) -> Self {
        let (pem, serial) = match platform_key {
            PlatformKey::PublicKey => (demo::PLATFORM_PRIVATE_KEY, demo::PUBLIC_KEY_ID),
            PlatformKey::Certificate => {
                (demo::PLATFORM_CERTIFICATE_PRIVATE_KEY, demo::PLATFORM_CERTIFICATE_SERIAL)
            }
        };
        Self { key: SigningKey::from_pem(pem).expect("the demo's key is one"), serial }
    }

    /// The event, signed for being sent at `at`.
    ///
    /// # Errors
    ///
    /// When WeChat Pay cannot say this: it notifies of successes and of refunds, and of nothing else.
    pub fn message(&self, event: &Event, at: DateTime<Utc>) -> Result<Message, Unsayable> {
        let body = body(event)?;
        let mut headers = vec![("Content-Type", "application/json".to_owned())];
        headers.extend(self.signature_headers(&body, at));
        Ok(Message { headers, body })
    }

    /// The headers that sign `body`, in a callback as in an answer.
    pub fn signature_headers(&self, body: &[u8], at: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let (timestamp, nonce) = (at.timestamp(), ids::letters(32));
        let signature = self.key.sign(&signed(timestamp, &nonce, body));
        vec![
            ("Request-ID", format!("08{}", ids::letters(24))),
            ("Wechatpay-Nonce", nonce),
            ("Wechatpay-Serial", self.serial.to_owned()),
            ("Wechatpay-Signature", signature),
            ("Wechatpay-Signature-Type", SIGNATURE_TYPE.to_owned()),
            ("Wechatpay-Timestamp", timestamp.to_string()),
        ]
    }
}

fn signed(timestamp: i64, nonce: &str, body: &[u8]) -> Vec<u8> {
    [format!("{timestamp}\n{nonce}\n").as_bytes(), body, b"\n"].concat()
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: &'a str,
    create_time: String,
    resource_type: &'static str,
    event_type: &'static str,
    summary: &'static str,
    resource: Resource,
}

#[derive(Serialize)]
struct Resource {
    original_type: &'static str,
    algorithm: &'static str,
    ciphertext: String,
    associated_data: &'static str,
    nonce: String,
}

fn body(event: &Event) -> Result<Vec<u8>, Unsayable> {
    let payment = &event.payment;
    let (event_type, summary, original_type, plain) = match &event.what {
        What::Succeeded => {
            let transaction = json(&Transaction::paid(payment, event.at)?);
            ("TRANSACTION.SUCCESS", "支付成功", "transaction", transaction)
        }
        What::Refunded(refund) => {
            let (event_type, summary) = match refund.outcome {
                Outcome::Done => ("REFUND.SUCCESS", "退款成功"),
                Outcome::Abnormal => ("REFUND.ABNORMAL", "退款异常"),
                Outcome::Closed => ("REFUND.CLOSED", "退款关闭"),
            };
            (event_type, summary, "refund", json(&RefundNotice::new(payment, refund, event.at)?))
        }
        What::Failed | What::Closed => return Err(event.unsaid_by(Provider::WechatPay)),
    };
    Ok(json(&Envelope {
        id: &event.id,
        create_time: time(event.at),
        resource_type: "encrypt-resource",
        event_type,
        summary,
        resource: encrypted(original_type, plain, &event.id),
    }))
}

/// The nonce follows from the event's id, so that every delivery of an event carries the same body. An id has one plain
/// text, so no nonce meets a second one.
fn encrypted(original_type: &'static str, mut plain: Vec<u8>, event_id: &str) -> Resource {
    let nonce = hex(&digest::digest(&digest::SHA256, event_id.as_bytes()).as_ref()[..6]);
    let key =
        UnboundKey::new(&AES_256_GCM, demo::API_V3_KEY.as_bytes()).expect("the demo's key has 32 bytes");
    let bytes = Nonce::try_assume_unique_for_key(nonce.as_bytes()).expect("twelve digits are twelve bytes");
    LessSafeKey::new(key)
        .seal_in_place_append_tag(bytes, Aad::from(original_type), &mut plain)
        .expect("a message of a few hundred bytes can be encrypted");
    Resource {
        original_type,
        algorithm: "AEAD_AES_256_GCM",
        ciphertext: BASE64_STANDARD.encode(plain),
        associated_data: original_type,
        nonce,
    }
}

/// A payment as WeChat Pay tells of it, in a notification and in an answer alike.
#[derive(Serialize)]
pub(crate) struct Transaction<'a> {
    mchid: &'static str,
    appid: &'static str,
    out_trade_no: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<&'a str>,
    trade_type: &'static str,
    trade_state: &'static str,
    trade_state_desc: &'static str,
    bank_type: &'static str,
    attach: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_time: Option<String>,
    payer: Payer,
    amount: TransactionAmount<'a>,
}

#[derive(Serialize)]
struct Payer {
    openid: &'static str,
}

#[derive(Serialize)]
struct TransactionAmount<'a> {
    total: u64,
    payer_total: u64,
    currency: &'a str,
    payer_currency: &'a str,
}

impl<'a> Transaction<'a> {
    fn paid(payment: &'a Payment, at: DateTime<Utc>) -> Result<Self, Unsayable> {
        Self::in_state(payment, "SUCCESS", "支付成功", Some(at))
    }

    /// A payment in one of WeChat Pay's states; `paid_at` if it has been paid.
    pub(crate) fn in_state(
        payment: &'a Payment,
        trade_state: &'static str,
        trade_state_desc: &'static str,
        paid_at: Option<DateTime<Utc>>,
    ) -> Result<Self, Unsayable> {
        let total = fen(payment.amount, &payment.currency)?;
        Ok(Self {
            mchid: demo::MCHID,
            appid: demo::APPID,
            out_trade_no: &payment.payment_no,
            transaction_id: paid_at.map(|_| payment.provider_payment_id.as_str()),
            trade_type: "JSAPI",
            trade_state,
            trade_state_desc,
            bank_type: "OTHERS",
            attach: "",
            success_time: paid_at.map(time),
            payer: Payer { openid: "oDEMOONLY0000000000000000001" },
            amount: TransactionAmount {
                total,
                payer_total: total,
                currency: &payment.currency,
                payer_currency: &payment.currency,
            },
        })
    }
}

#[derive(Serialize)]
struct RefundNotice<'a> {
    mchid: &'static str,
    out_trade_no: &'a str,
    transaction_id: &'a str,
    out_refund_no: &'a str,
    refund_id: &'a str,
    refund_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_time: Option<String>,
    user_received_account: &'static str,
    amount: RefundAmount,
}

#[derive(Serialize)]
struct RefundAmount {
    total: u64,
    refund: u64,
    payer_total: u64,
    payer_refund: u64,
}

impl<'a> RefundNotice<'a> {
    fn new(payment: &'a Payment, refund: &'a Refund, at: DateTime<Utc>) -> Result<Self, Unsayable> {
        let total = fen(payment.amount, &payment.currency)?;
        let back = fen(refund.amount, &payment.currency)?;
        Ok(Self {
            mchid: demo::MCHID,
            out_trade_no: &payment.payment_no,
            transaction_id: &payment.provider_payment_id,
            out_refund_no: &refund.refund_no,
            refund_id: &refund.refund_id,
            refund_status: refund_status(refund.outcome),
            success_time: (refund.outcome == Outcome::Done).then(|| time(at)),
            user_received_account: "支付用户零钱",
            amount: RefundAmount { total, refund: back, payer_total: total, payer_refund: back },
        })
    }
}

/// What WeChat Pay calls the end of a refund.
pub(crate) const fn refund_status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "SUCCESS",
        Outcome::Abnormal => "ABNORMAL",
        Outcome::Closed => "CLOSED",
    }
}

/// How many hundredths the amount is: fen, or what corresponds to them in another currency.
///
/// # Errors
///
/// When it is no whole number of them.
pub fn fen(amount: Amount, currency: &str) -> Result<u64, Unsayable> {
    amount.in_units(2).ok_or_else(|| Unsayable::Inexact {
        provider: Provider::WechatPay,
        amount,
        currency: currency.to_owned(),
    })
}

/// A time with Beijing's offset, as WeChat Pay writes it.
pub(crate) fn time(at: DateTime<Utc>) -> String {
    beijing(at).to_rfc3339_opts(SecondsFormat::Secs, false)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("no map has keys that are not text")
}

#[cfg(test)]
mod tests;
