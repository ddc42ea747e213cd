//! Asking Alipay: `alipay.trade.query`, `alipay.trade.refund` and `alipay.trade.fastpay.refund.query`.
//! <https://opendocs.alipay.com/open/02e7gm>
//!
//! A request is a form signed by the app, over all of its fields but `sign` (`sign_type` among them, other than in a
//! notification). An answer is JSON with two members: the response, whose bytes as they stand there are signed, and `sign`.

use chrono::{DateTime, FixedOffset, Utc};
use serde::Deserialize;
use serde_json::json;

use super::PlatformKeys;
use super::trade::cny;
use crate::amount_reading::read_yuan;
use crate::api::{
    ApiFault, ApiRequest, ApiResponse, BaseUrl, NotAskable, PaymentAsked, ProviderApi, RefundAnswer,
    RefundAsked, RefundState, Sending, learnt,
};
use crate::configuration;
use crate::event::{Event, Notice, Refund, RefundOutcome, RefundSum, ReportedAmount};
use crate::form::encode;
use crate::json::Json;
use crate::provider::{ConfigFault, Reason};
use crate::provider_id::{our_number, provider_id};
use crate::secret::Secret;
use crate::signature::{RsaPrivateKey, base64_bytes};

const QUERY: &str = "alipay.trade.query";
const REFUND: &str = "alipay.trade.refund";
const REFUND_QUERY: &str = "alipay.trade.fastpay.refund.query";

/// How Alipay is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The app's private key: PKCS #8, in PEM or its base64.
    app_private_key: Secret,
    /// As an ISV, the token with which the merchant has authorised the app (`app_auth_token`).
    app_auth_token: Option<Secret>,
    /// `https://openapi.alipay.com` unless given.
    base_url: Option<String>,
}

#[derive(Debug)]
pub(super) struct AlipayApi {
    app_id: String,
    app_private_key: RsaPrivateKey,
    app_auth_token: Option<Secret>,
    platform_keys: PlatformKeys,
    base_url: BaseUrl,
}

impl AlipayApi {
    pub(super) fn new(
        settings: Settings,
        app_id: &str,
        on_behalf_of_another: bool,
        keys: PlatformKeys,
    ) -> Result<AlipayApi, ConfigFault> {
        if on_behalf_of_another != settings.app_auth_token.is_some() {
            return Err(ConfigFault(
                "auth_app_id and api.app_auth_token belong together: who acts for a merchant shows the merchant's token"
                    .to_owned(),
            ));
        }
        if let Some(token) = &settings.app_auth_token {
            configuration::is_a_bearer_key("api.app_auth_token", token)?;
        }
        Ok(AlipayApi {
            app_id: app_id.to_owned(),
            app_private_key: RsaPrivateKey::parse(&settings.app_private_key, "api.app_private_key")?,
            app_auth_token: settings.app_auth_token,
            platform_keys: keys,
            base_url: BaseUrl::new(settings.base_url.as_deref(), "https://openapi.alipay.com")?,
        })
    }

    fn request(&self, method: &str, content: &serde_json::Value, at: DateTime<Utc>) -> ApiRequest {
        // Times of Alipay's have no zone and are Beijing's.
        let beijing = FixedOffset::east_opt(8 * 3_600).expect("eight hours");
        let timestamp = at.with_timezone(&beijing).format("%Y-%m-%d %H:%M:%S").to_string();
        let content = content.to_string();
        let token = self.app_auth_token.as_ref().map(|token| ("app_auth_token", token.expose()));
        let fields = [
            ("app_id", self.app_id.as_str()),
            ("biz_content", &content),
            ("charset", "utf-8"),
            ("format", "JSON"),
            ("method", method),
            ("sign_type", "RSA2"),
            ("timestamp", &timestamp),
            ("version", "1.0"),
        ];
        // Sorted by name, as they stand.
        let fields: Vec<_> = token.into_iter().chain(fields).collect();
        let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let sign = self.app_private_key.sign(pairs.join("&").as_bytes());
        let body = encode(&[fields.as_slice(), &[("sign", sign.as_str())]].concat());
        let form = "application/x-www-form-urlencoded; charset=utf-8".to_owned();
        ApiRequest {
            method: "POST",
            url: self.base_url.join("/gateway.do"),
            headers: vec![("Content-Type", form)],
            body: body.into_bytes(),
        }
    }

    /// What the answer to `method` says, once its signature was found right, with the id of the key.
    fn verified(&self, method: &str, response: &ApiResponse<'_>) -> Result<(Json, &str), ApiFault> {
        if !(200..=299).contains(&response.status) {
            return Err(ApiFault::Unavailable { status: response.status });
        }
        let members = Json::parse_members(response.content.body);
        let members = members.map_err(|_| ApiFault::Unreadable("no JSON object"))?;
        let member =
            |name: &str| members.iter().find(|(other, _)| other == name).map(|(_, written)| *written);
        let node = format!("{}_response", method.replace('.', "_"));
        let said =
            member(&node).or(member("error_response")).ok_or(ApiFault::Unreadable("no response in it"))?;
        let sign = member("sign").and_then(|written| match Json::parse(written.as_bytes()) {
            Ok(Json::Text(sign)) => base64_bytes(&sign),
            _ => None,
        });
        let sign = sign.ok_or(ApiFault::Unverified(
            Reason::MissingSignature.because("the answer has no sign, or one that is not base64"),
        ))?;
        let key_id = self.platform_keys.that_signed(said.as_bytes(), &sign).ok_or(ApiFault::Unverified(
            Reason::BadSignature.because("sign is not that of the response under any key we hold"),
        ))?;
        let said =
            Json::parse_object(said.as_bytes()).map_err(|_| ApiFault::Unreadable("no object in it"))?;
        Ok((said, key_id))
    }
}

impl ProviderApi for AlipayApi {
    fn query(&self, payment: &PaymentAsked<'_>, sending: Sending<'_>) -> ApiRequest {
        self.request(QUERY, &json!({ "out_trade_no": payment.payment_no }), sending.at)
    }

    /// `TRADE_CLOSED` is both a payment that nobody made and one that was wholly refunded; only the latter was paid out to
    /// the seller at some time (`send_pay_date`).
    fn read_query(
        &self,
        payment: &PaymentAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Notice>, ApiFault> {
        let (said, key_id) = self.verified(QUERY, response)?;
        if !was_done(&said, response.status)? {
            return Ok(Vec::new());
        }
        if said.text("out_trade_no") != Some(payment.payment_no) {
            return Err(ApiFault::Unreadable("another trade than the one that was asked about"));
        }
        let status = said.text("trade_status").unwrap_or_default();
        let told = |event| learnt(status, event, key_id);
        let payment_no = our_number(said.text("out_trade_no"));
        let payment_id = provider_id(said.text("trade_no"));
        let payment_id = payment_id.map_err(ApiFault::unreadable)?;
        let amount = read_yuan(said.text("total_amount"), cny());
        let paid = Event::PaymentSucceeded {
            payment_no: payment_no.clone(),
            payment_id: payment_id.clone(),
            amount: amount.clone(),
        };
        Ok(match status {
            "TRADE_SUCCESS" | "TRADE_FINISHED" => vec![told(paid)],
            "TRADE_CLOSED" if said.get("send_pay_date").is_some() => {
                let refunded = Refund {
                    payment_no,
                    payment_id,
                    refund_id: None,
                    refund_no: None,
                    sum: RefundSum::RunningTotal(amount.clone()),
                    outcome: RefundOutcome::Succeeded,
                    paid: Some(amount),
                };
                vec![told(paid), told(Event::Refunded(refunded))]
            }
            "TRADE_CLOSED" => vec![told(Event::PaymentClosed {
                payment_no,
                payment_id: Some(payment_id),
                has_others: false,
            })],
            _ => vec![told(Event::Noted { payment_no })],
        })
    }

    fn refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> Result<ApiRequest, NotAskable> {
        if refund.amount.currency() != cny() {
            return Err(NotAskable);
        }
        let content = json!({
            "trade_no": refund.payment_id,
            "refund_amount": refund.amount.to_string(),
            "out_request_no": refund.refund_no,
        });
        Ok(self.request(REFUND, &content, sending.at))
    }

    /// `fund_change` says whether *this* request moved money: that it did not may be a refund under way, or one that was
    /// there before; so it is asked about.
    fn read_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let (said, _) = self.verified(REFUND, response)?;
        if !was_done(&said, response.status)? {
            return Err(ApiFault::refused(said.text("sub_code")));
        }
        if said.text("trade_no") != Some(refund.payment_id) {
            return Err(ApiFault::Unreadable("another trade than the one that was to be refunded"));
        }
        let state = match said.text("fund_change") {
            Some("Y") => RefundState::Succeeded,
            _ => RefundState::Processing,
        };
        // `refund_fee` is the total of all refunds of the trade, and not this one's amount.
        let total = said.get("refund_fee").map(|_| read_yuan(said.text("refund_fee"), cny()));
        Ok(RefundAnswer { state, refund_id: None, amount: None, total })
    }

    fn query_refund(&self, refund: &RefundAsked<'_>, sending: Sending<'_>) -> ApiRequest {
        let content = json!({ "trade_no": refund.payment_id, "out_request_no": refund.refund_no });
        self.request(REFUND_QUERY, &content, sending.at)
    }

    /// An answer without `refund_status` is one about a refund that never came, or failed: it may be asked for again.
    fn read_query_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let (said, _) = self.verified(REFUND_QUERY, response)?;
        if !was_done(&said, response.status)? || said.get("refund_status").is_none() {
            return Ok(RefundAnswer::unknown());
        }
        if said.text("out_request_no") != Some(refund.refund_no) {
            return Err(ApiFault::Unreadable("another refund than the one that was asked about"));
        }
        let state = match said.text("refund_status") {
            Some("REFUND_SUCCESS") => RefundState::Succeeded,
            Some("REFUND_FAIL") => RefundState::Closed,
            _ => RefundState::Processing,
        };
        let amount: ReportedAmount = read_yuan(said.text("refund_amount"), cny());
        Ok(RefundAnswer { state, refund_id: None, amount: Some(amount), total: None })
    }
}

/// Whether a verified response says that the method was done; `false` where there is no such trade.
/// <https://opendocs.alipay.com/common/02km9f>
fn was_done(said: &Json, status: u16) -> Result<bool, ApiFault> {
    let sub_code = said.text("sub_code");
    match (said.text("code"), sub_code) {
        (Some("10000"), _) => Ok(true),
        (Some("40004"), Some("ACQ.TRADE_NOT_EXIST")) => Ok(false),
        // Out of order, or asked too often.
        (Some("20000" | "40005"), _) | (Some("40004"), Some("ACQ.SYSTEM_ERROR")) => {
            Err(ApiFault::Unavailable { status })
        }
        // The gateway does not take the request: our key, our clock or our contract is not in order. That says nothing
        // about what was asked for.
        (Some(code @ ("20001" | "40001" | "40002" | "40003" | "40006")), _) => {
            Err(ApiFault::unauthorised(sub_code.or(Some(code))))
        }
        (Some(code), _) => Err(ApiFault::refused(sub_code.or(Some(code)))),
        (None, _) => Err(ApiFault::Unreadable("a response without a code")),
    }
}
