//! Asking a provider of no dialect of its own: the small API that it is asked to have. Below its base URL:
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /payments?order_id=…` | `{"data":[payment, …]}`: the payments under our number |
//! | `GET /payments/{payment_id}` | payment: `{"payment_id","order_id","amount","currency","status"}` |
//! | `POST /refunds` `{"payment_id","reference","amount"}` | refund; the same `reference` is the same refund |
//! | `GET /refunds/{reference}` | refund: `{"refund_id","reference","payment_id","order_id","amount","currency","status"}` |
//!
//! The status of a payment is `pending`, `paid`, `failed` or `closed`, that of a refund `processing`, `succeeded`, `closed`
//! or `abnormal`. Amounts are decimal text. Requests show their key as a bearer; answers are not signed, and known from the
//! connection. What is not there is 404; an error is `{"error":{"code","message"}}`.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use super::events::amount;
use crate::api::{
    ApiFault, ApiRequest, ApiResponse, BaseUrl, NotAskable, PaymentAsked, ProviderApi, RefundAnswer,
    RefundAsked, RefundState, Sending, learnt,
};
use crate::configuration::is_a_bearer_key;
use crate::event::{Event, Notice};
use crate::form::{encode, percent_encoded};
use crate::json::Json;
use crate::provider::{ConfigFault, Rejection};
use crate::provider_id::{our_number, provider_id};
use crate::secret::Secret;

/// How the provider is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The key that requests show.
    key: Secret,
    /// Where the API is.
    base_url: String,
}

#[derive(Debug)]
pub(super) struct StandardApi {
    key: Secret,
    base_url: BaseUrl,
}

impl StandardApi {
    pub(super) fn new(settings: Settings) -> Result<StandardApi, ConfigFault> {
        is_a_bearer_key("api.key", &settings.key)?;
        Ok(StandardApi { key: settings.key, base_url: BaseUrl::new(Some(&settings.base_url), "")? })
    }

    fn get(&self, path: &str) -> ApiRequest {
        ApiRequest { method: "GET", url: self.base_url.join(path), headers: self.headers(), body: Vec::new() }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Authorization", format!("Bearer {}", self.key.expose())),
            ("Accept", "application/json".to_owned()),
        ]
    }
}

impl ProviderApi for StandardApi {
    /// By our number, under which more than one payment may have been made.
    fn query(&self, payment: &PaymentAsked<'_>, _sending: Sending<'_>) -> ApiRequest {
        match payment.payment_id {
            Some(payment_id) => self.get(&format!("/payments/{}", percent_encoded(payment_id))),
            None => self.get(&format!("/payments?{}", encode(&[("order_id", payment.payment_no)]))),
        }
    }

    fn read_query(
        &self,
        payment: &PaymentAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Notice>, ApiFault> {
        let Some(found) = object(response)? else { return Ok(Vec::new()) };
        let payments = match found.get("data") {
            Some(list) => list.items(),
            None => std::slice::from_ref(&found),
        };
        let notices = payments
            .iter()
            .filter(|one| one.text("order_id") == Some(payment.payment_no))
            .map(read_payment)
            .collect::<Result<Vec<_>, Rejection>>();
        Ok(notices.map_err(ApiFault::unreadable)?.concat())
    }

    fn refund(&self, refund: &RefundAsked<'_>, _sending: Sending<'_>) -> Result<ApiRequest, NotAskable> {
        let body = json!({
            "payment_id": refund.payment_id,
            "reference": refund.refund_no,
            "amount": refund.amount.to_string(),
        });
        let mut headers = self.headers();
        headers.push(("Content-Type", "application/json".to_owned()));
        let url = self.base_url.join("/refunds");
        Ok(ApiRequest { method: "POST", url, headers, body: body.to_string().into_bytes() })
    }

    fn read_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let made = object(response)?.ok_or_else(|| ApiFault::refused(Some("not_found")))?;
        read_refund_object(refund, &made)
    }

    fn query_refund(&self, refund: &RefundAsked<'_>, _sending: Sending<'_>) -> ApiRequest {
        self.get(&format!("/refunds/{}", percent_encoded(refund.refund_no)))
    }

    fn read_query_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        match object(response)? {
            Some(found) => read_refund_object(refund, &found),
            None => Ok(RefundAnswer::unknown()),
        }
    }
}

/// The object of an answer; `None` where there is no such payment or refund.
fn object(response: &ApiResponse<'_>) -> Result<Option<Json>, ApiFault> {
    let read = Json::parse_object(response.content.body);
    let error = read.as_ref().ok().and_then(|json| json.get("error"));
    let code = error.and_then(|error| error.text("code"));
    match response.status {
        200..=299 => read.map(Some).map_err(|_| ApiFault::Unreadable("no JSON object")),
        // A 404 of anybody else's says nothing about payments.
        404 if code.is_some() => Ok(None),
        401 | 403 => Err(ApiFault::unauthorised(code)),
        // Too slow, too early, too often: none of these is about the payment.
        status @ (408 | 425 | 429) => Err(ApiFault::Unavailable { status }),
        400..=499 if code.is_some() => Err(ApiFault::refused(code)),
        status => Err(ApiFault::Unavailable { status }),
    }
}

fn read_payment(payment: &Json) -> Result<Vec<Notice>, Rejection> {
    let status = payment.text("status").unwrap_or_default();
    let payment_no = our_number(payment.text("order_id"));
    let payment_id = provider_id(payment.text("payment_id"))?;
    let event = match status {
        "paid" => Event::PaymentSucceeded { payment_no, payment_id, amount: amount(payment, "amount") },
        "closed" => {
            return Ok(vec![learnt(
                status,
                Event::PaymentClosed { payment_no, payment_id: Some(payment_id), has_others: false },
                "",
            )]);
        }
        "failed" => {
            return Ok(vec![learnt(
                status,
                Event::PaymentFailed { payment_no, payment_id: Some(payment_id) },
                "",
            )]);
        }
        _ => return Ok(vec![learnt(status, Event::Noted { payment_no }, "")]),
    };
    // How much of it went back, its refunds tell, each by its id: a total beside them would count them twice.
    Ok(vec![learnt(status, event, "")])
}

fn read_refund_object(refund: &RefundAsked<'_>, said: &Json) -> Result<RefundAnswer, ApiFault> {
    if said.text("reference") != Some(refund.refund_no) {
        return Err(ApiFault::Unreadable("another refund than the one that was asked about"));
    }
    let state = match said.text("status") {
        Some("processing") => RefundState::Processing,
        Some("succeeded") => RefundState::Succeeded,
        Some("closed") => RefundState::Closed,
        Some("abnormal") => RefundState::Abnormal,
        _ => return Err(ApiFault::Unreadable("a refund without a known status")),
    };
    let refund_id = provider_id(said.text("refund_id")).map_err(ApiFault::unreadable)?;
    let amount = Some(amount(said, "amount"));
    Ok(RefundAnswer { state, refund_id: Some(refund_id), amount, total: None })
}
