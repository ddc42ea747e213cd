//! Asking WeChat Pay, API v3. <https://pay.weixin.qq.com/doc/v3/merchant/4012791838>
//!
//! A request is signed by the merchant, over its method, path with query, time, nonce and body, each with a newline behind
//! it; `Authorization` carries the signature. An answer is signed as a notification is.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use super::resource::{amount, cny, paid};
use super::{Recipient, SIGNATURE_TYPE, Verifier};
use crate::api::{
    ApiFault, ApiRequest, ApiResponse, BaseUrl, NotAskable, PaymentAsked, ProviderApi, RefundAnswer,
    RefundAsked, RefundState, Sending, learnt,
};
use crate::configuration::is_given;
use crate::event::{Event, Notice};
use crate::form::{encode, percent_encoded};
use crate::json::Json;
use crate::provider::{ConfigFault, Rejection};
use crate::provider_id::{our_number, provider_id};
use crate::secret::Secret;
use crate::signature::RsaPrivateKey;

/// How WeChat Pay is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The serial number of the merchant's certificate.
    merchant_serial: String,
    /// The key of that certificate: PKCS #8, in PEM or its base64.
    merchant_private_key: Secret,
    /// `https://api.mch.weixin.qq.com` unless given.
    base_url: Option<String>,
}

#[derive(Debug)]
pub(super) struct WechatpayApi {
    merchant_serial: String,
    merchant_private_key: RsaPrivateKey,
    base_url: BaseUrl,
    recipient: Recipient,
    verifier: Verifier,
}

impl WechatpayApi {
    pub(super) fn new(
        settings: Settings,
        recipient: Recipient,
        verifier: Verifier,
    ) -> Result<WechatpayApi, ConfigFault> {
        is_given("api.merchant_serial", &settings.merchant_serial)?;
        Ok(WechatpayApi {
            merchant_private_key: RsaPrivateKey::parse(
                &settings.merchant_private_key,
                "api.merchant_private_key",
            )?,
            merchant_serial: settings.merchant_serial,
            base_url: BaseUrl::new(settings.base_url.as_deref(), "https://api.mch.weixin.qq.com")?,
            recipient,
            verifier,
        })
    }

    /// A base URL with a path of its own is that of a proxy, which takes it off: the provider sees, and verifies, `path`.
    fn request(&self, method: &'static str, path: &str, body: String, sending: Sending<'_>) -> ApiRequest {
        let (timestamp, nonce) = (sending.at.timestamp(), sending.nonce);
        let signed = format!("{method}\n{path}\n{timestamp}\n{nonce}\n{body}\n");
        let signature = self.merchant_private_key.sign(signed.as_bytes());
        let (mchid, serial) = (&self.recipient.mchid, &self.merchant_serial);
        let authorization = format!(
            r#"{SIGNATURE_TYPE} mchid="{mchid}",nonce_str="{nonce}",timestamp="{timestamp}",serial_no="{serial}",signature="{signature}""#
        );
        let mut headers = vec![("Authorization", authorization), ("Accept", "application/json".to_owned())];
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json".to_owned()));
        }
        // A merchant that is being moved to the public key says so, and gets answers that are signed with it.
        let public_key = self.verifier.keys.iter().find(|key| key.is_public_key());
        headers.extend(public_key.map(|key| ("Wechatpay-Serial", key.id.clone())));
        ApiRequest { method, url: self.base_url.join(path), headers, body: body.into_bytes() }
    }

    /// The object of an answer whose signature was found right, with the id of the key; `None` where it says that there is
    /// no such payment or refund.
    fn verified(
        &self,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<Option<(Json, &str)>, ApiFault> {
        let status = response.status;
        let key = match (self.verifier.key_that_signed(&response.content, now), status) {
            (Ok(key), _) => key,
            // Whoever cannot be told from WeChat Pay need not sign for saying no, and is believed no more than that.
            (Err(_), 429 | 500..) => return Err(ApiFault::Unavailable { status }),
            (Err(_), 401) => return Err(ApiFault::unauthorised(Some("SIGN_ERROR"))),
            (Err(rejection), _) => return Err(ApiFault::Unverified(rejection)),
        };
        let said = Json::parse_object(response.content.body);
        let code = said.as_ref().ok().and_then(|said| said.text("code"));
        match (status, code) {
            (200..=299, _) => {
                let said = said.map_err(|_| ApiFault::Unreadable("no JSON object"))?;
                Ok(Some((said, &key.id)))
            }
            (404, Some("ORDER_NOT_EXIST" | "ORDERNOTEXIST" | "RESOURCE_NOT_EXISTS")) => Ok(None),
            // About the one refund: the merchant's balance, or the payer's account.
            (403, Some("NOT_ENOUGH" | "USER_ACCOUNT_ABNORMAL")) => Err(ApiFault::refused(code)),
            (401 | 403, _) => Err(ApiFault::unauthorised(code)),
            (429 | 500.., _) => Err(ApiFault::Unavailable { status }),
            (_, Some(code)) => Err(ApiFault::refused(Some(code))),
            (_, None) => Err(ApiFault::Unreadable("an error without a code")),
        }
    }

    fn happened(&self, payment: &PaymentAsked<'_>, said: &Json) -> Result<Event, Rejection> {
        if let Some(field) = self.recipient.other_recipient_of_payment(said) {
            return Ok(Event::OtherAccount { field });
        }
        let payment_no = our_number(said.text("out_trade_no"));
        let payment_id = provider_id(said.text("transaction_id")).ok();
        Ok(match said.text("trade_state") {
            _ if payment_no.as_deref() != Some(payment.payment_no) => Event::UnknownType,
            // Paid, and refunded since, in part or wholly: how much, the refunds tell.
            Some("SUCCESS" | "REFUND") => paid(said)?,
            Some("CLOSED" | "REVOKED") => Event::PaymentClosed { payment_no, payment_id, has_others: false },
            Some("PAYERROR") => Event::PaymentFailed { payment_no, payment_id },
            _ => Event::Noted { payment_no },
        })
    }
}

impl ProviderApi for WechatpayApi {
    fn query(&self, payment: &PaymentAsked<'_>, sending: Sending<'_>) -> ApiRequest {
        let payment_no = percent_encoded(payment.payment_no);
        let (mchid, sub_mchid) = (self.recipient.mchid.as_str(), self.recipient.sub_mchid.as_deref());
        let path = match sub_mchid {
            None => {
                let query = encode(&[("mchid", mchid)]);
                format!("/v3/pay/transactions/out-trade-no/{payment_no}?{query}")
            }
            Some(sub_mchid) => {
                let query = encode(&[("sp_mchid", mchid), ("sub_mchid", sub_mchid)]);
                format!("/v3/pay/partner/transactions/out-trade-no/{payment_no}?{query}")
            }
        };
        self.request("GET", &path, String::new(), sending)
    }

    fn read_query(
        &self,
        payment: &PaymentAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Notice>, ApiFault> {
        let Some((said, key_id)) = self.verified(response, now)? else { return Ok(Vec::new()) };
        let event = self.happened(payment, &said).map_err(ApiFault::unreadable)?;
        if event == Event::UnknownType {
            return Err(ApiFault::Unreadable("another payment than the one that was asked about"));
        }
        Ok(vec![learnt(said.text("trade_state").unwrap_or_default(), event, key_id)])
    }

    fn refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> Result<ApiRequest, NotAskable> {
        let is_yuan = refund.amount.currency() == cny() && refund.paid.currency() == cny();
        let fen = |units: u128| u64::try_from(units).map_err(|_| NotAskable);
        if !is_yuan {
            return Err(NotAskable);
        }
        let mut body = json!({
            "transaction_id": refund.payment_id,
            "out_refund_no": refund.refund_no,
            "amount": {
                "refund": fen(refund.amount.minor_units())?,
                "total": fen(refund.paid.minor_units())?,
                "currency": cny().code(),
            },
        });
        if let Some(sub_mchid) = &self.recipient.sub_mchid {
            body["sub_mchid"] = json!(sub_mchid);
        }
        Ok(self.request("POST", "/v3/refund/domestic/refunds", body.to_string(), sending))
    }

    fn read_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let (said, _) =
            self.verified(response, now)?.ok_or_else(|| ApiFault::refused(Some("RESOURCE_NOT_EXISTS")))?;
        read_refund_object(refund, &said)
    }

    fn query_refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> ApiRequest {
        let mut path = format!("/v3/refund/domestic/refunds/{}", percent_encoded(refund.refund_no));
        if let Some(sub_mchid) = &self.recipient.sub_mchid {
            path = format!("{path}?{}", encode(&[("sub_mchid", sub_mchid)]));
        }
        self.request("GET", &path, String::new(), sending)
    }

    fn read_query_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        match self.verified(response, now)? {
            Some((said, _)) => read_refund_object(refund, &said),
            None => Ok(RefundAnswer::unknown()),
        }
    }
}

fn read_refund_object(refund: &RefundAsked<'_>, said: &Json) -> Result<RefundAnswer, ApiFault> {
    if said.text("out_refund_no") != Some(refund.refund_no) {
        return Err(ApiFault::Unreadable("another refund than the one that was asked about"));
    }
    let state = match said.text("status") {
        Some("SUCCESS") => RefundState::Succeeded,
        Some("PROCESSING") => RefundState::Processing,
        Some("CLOSED") => RefundState::Closed,
        Some("ABNORMAL") => RefundState::Abnormal,
        _ => return Err(ApiFault::Unreadable("a refund without a known status")),
    };
    let refund_id = provider_id(said.text("refund_id")).map_err(ApiFault::unreadable)?;
    let amount = amount(said, "refund", Some(cny()));
    Ok(RefundAnswer { state, refund_id: Some(refund_id), amount: Some(amount), total: None })
}
