//! Asking Stripe: payment intents and refunds. <https://docs.stripe.com/api>
//!
//! Answers are not signed; that they are Stripe's is known from the connection. A refund's `Idempotency-Key` is our number
//! of it, which also stands in its metadata: Stripe forgets keys after a day or more, and finds metadata for ever.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::Recipient;
use super::events::{
    amount, charge_refunded, noted, payment_intent_canceled, payment_intent_failed, payment_intent_succeeded,
};
use super::scale::scale_of;
use crate::amount_reading::write_integer;
use crate::api::{
    ApiFault, ApiRequest, ApiResponse, BaseUrl, NotAskable, PaymentAsked, ProviderApi, RefundAnswer,
    RefundAsked, RefundState, Sending, learnt,
};
use crate::event::{Event, Notice, ReportedAmount};
use crate::form::{encode, percent_encoded};
use crate::json::Json;
use crate::provider::{ConfigFault, Rejection};
use crate::provider_id::provider_id;
use crate::secret::Secret;

/// The most objects that Stripe lists at once.
const LIMIT: &str = "100";

/// How Stripe is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The secret key, or a restricted one that may read payment intents and write refunds.
    key: Secret,
    /// `https://api.stripe.com` unless given.
    base_url: Option<String>,
}

#[derive(Debug)]
pub(super) struct StripeApi {
    key: Secret,
    base_url: BaseUrl,
    recipient: Recipient,
}

impl StripeApi {
    pub(super) fn new(settings: Settings, recipient: Recipient) -> Result<StripeApi, ConfigFault> {
        crate::configuration::is_a_bearer_key("api.key", &settings.key)?;
        let base_url = BaseUrl::new(settings.base_url.as_deref(), "https://api.stripe.com")?;
        Ok(StripeApi { key: settings.key, base_url, recipient })
    }

    fn get(&self, path: &str) -> ApiRequest {
        ApiRequest { method: "GET", url: self.base_url.join(path), headers: self.headers(), body: Vec::new() }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Authorization", format!("Bearer {}", self.key.expose()))];
        headers.extend(self.recipient.account.clone().map(|account| ("Stripe-Account", account)));
        headers
    }

    /// What happened to one intent: that it was paid, and, where the charge is told with it, how much went back.
    fn read_intent(&self, payment: &PaymentAsked<'_>, intent: &Json) -> Result<Vec<Notice>, Rejection> {
        let status = intent.text("status").unwrap_or_default();
        let told = |event| learnt(status, event, "");
        if self.recipient.is_of_another_mode(intent) {
            return Ok(vec![told(Event::OtherAccount { field: "livemode" })]);
        }
        let event = match status {
            "succeeded" => payment_intent_succeeded(intent)?,
            "canceled" => payment_intent_canceled(intent)?,
            "requires_payment_method" if intent.get("last_payment_error").is_some() => {
                payment_intent_failed(intent)?
            }
            _ => noted(intent)?,
        };
        if event.payment_no() != Some(payment.payment_no) {
            return Ok(Vec::new());
        }
        let mut notices = vec![told(event)];
        let charge = intent.get("latest_charge");
        let refunded = charge.and_then(|charge| charge.get("amount_refunded"));
        if let (Some(charge), Some(Json::Number(refunded))) = (charge, refunded)
            && refunded != "0"
        {
            let mut event = charge_refunded(charge)?;
            if let Event::Refunded(refund) = &mut event {
                // A charge has the metadata of its intent only if it was made with them.
                refund.payment_no = Some(payment.payment_no.to_owned());
            }
            notices.push(learnt("refunded", event, ""));
        }
        Ok(notices)
    }
}

impl ProviderApi for StripeApi {
    /// Looked for by our number, since one number may have been paid twice. A search lags behind by a minute at most.
    fn query(&self, payment: &PaymentAsked<'_>, _sending: Sending<'_>) -> ApiRequest {
        if let Some(payment_id) = payment.payment_id {
            let id = percent_encoded(payment_id);
            return self
                .get(&format!("/v1/payment_intents/{id}?{}", encode(&[("expand[]", "latest_charge")])));
        }
        let quoted = payment.payment_no.replace('\\', "\\\\").replace('\'', "\\'");
        let search = format!("metadata['order_id']:'{quoted}'");
        let query =
            encode(&[("query", search.as_str()), ("limit", LIMIT), ("expand[]", "data.latest_charge")]);
        self.get(&format!("/v1/payment_intents/search?{query}"))
    }

    fn read_query(
        &self,
        payment: &PaymentAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Notice>, ApiFault> {
        let Some(found) = object(response)? else { return Ok(Vec::new()) };
        let intents = match found.text("object") {
            Some("payment_intent") => std::slice::from_ref(&found),
            _ => found.get("data").ok_or(ApiFault::Unreadable("neither an intent nor a list"))?.items(),
        };
        let notices = intents.iter().map(|intent| self.read_intent(payment, intent));
        let notices: Result<Vec<_>, _> = notices.collect();
        Ok(notices.map_err(ApiFault::unreadable)?.concat())
    }

    fn refund(&self, refund: &RefundAsked<'_>, _sending: Sending<'_>) -> Result<ApiRequest, NotAskable> {
        let amount = write_integer(refund.amount, scale_of(refund.amount.currency())).ok_or(NotAskable)?;
        let body = encode(&[
            ("payment_intent", refund.payment_id),
            ("amount", &amount.to_string()),
            ("metadata[order_id]", refund.payment_no),
            ("metadata[refund_no]", refund.refund_no),
        ]);
        let mut headers = self.headers();
        headers.push(("Content-Type", "application/x-www-form-urlencoded".to_owned()));
        headers.push(("Idempotency-Key", refund.refund_no.to_owned()));
        Ok(ApiRequest {
            method: "POST",
            url: self.base_url.join("/v1/refunds"),
            headers,
            body: body.into_bytes(),
        })
    }

    fn read_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let made = object(response)?.ok_or_else(|| ApiFault::refused(Some("resource_missing")))?;
        read_refund_object(refund, &made)
    }

    /// By its id, or among the refunds of its payment: one whose answer was lost has no id yet, and our number in its
    /// metadata.
    fn query_refund(&self, refund: &RefundAsked<'_>, _sending: Sending<'_>) -> ApiRequest {
        match refund.refund_id {
            Some(refund_id) => self.get(&format!("/v1/refunds/{}", percent_encoded(refund_id))),
            None => {
                let query = encode(&[("payment_intent", refund.payment_id), ("limit", LIMIT)]);
                self.get(&format!("/v1/refunds?{query}"))
            }
        }
    }

    fn read_query_refund(
        &self,
        refund: &RefundAsked<'_>,
        response: &ApiResponse<'_>,
        _now: DateTime<Utc>,
    ) -> Result<RefundAnswer, ApiFault> {
        let Some(found) = object(response)? else { return Ok(RefundAnswer::unknown()) };
        if found.text("object") == Some("refund") {
            return read_refund_object(refund, &found);
        }
        let refunds = found.get("data").ok_or(ApiFault::Unreadable("neither a refund nor a list"))?.items();
        let is_ours = |one: &&Json| {
            one.get("metadata").and_then(|metadata| metadata.text("refund_no")) == Some(refund.refund_no)
        };
        let has_more = found.get("has_more") == Some(&Json::Bool(true));
        match refunds.iter().find(is_ours) {
            Some(one) => {
                let total = if has_more { None } else { sum_of(refunds) };
                Ok(RefundAnswer { total, ..read_refund_object(refund, one)? })
            }
            None if has_more => {
                Err(ApiFault::Unreadable("the payment has more refunds than one answer holds"))
            }
            None => Ok(RefundAnswer::unknown()),
        }
    }
}

/// The object of an answer; `None` where there is no such object.
fn object(response: &ApiResponse<'_>) -> Result<Option<Json>, ApiFault> {
    let read = Json::parse_object(response.content.body);
    let error = read.as_ref().ok().and_then(|json| json.get("error"));
    let code = || error.and_then(|error| error.text("code").or(error.text("type")));
    match response.status {
        200..=299 => read.map(Some).map_err(|_| ApiFault::Unreadable("no JSON object")),
        404 if code() == Some("resource_missing") => Ok(None),
        401 | 403 => Err(ApiFault::unauthorised(code())),
        // A key that is being used by another request, and being too fast.
        409 | 429 => Err(ApiFault::Unavailable { status: response.status }),
        400..=499 if error.is_some() => Err(ApiFault::refused(code())),
        status => Err(ApiFault::Unavailable { status }),
    }
}

/// How much these refunds have given back together; none, where that cannot be read of each.
fn sum_of(refunds: &[Json]) -> Option<ReportedAmount> {
    let done = refunds.iter().filter(|one| one.text("status") == Some("succeeded"));
    let mut amounts = done.map(|one| amount(one, "amount").exact());
    let first = amounts.next()??;
    let sum = amounts.try_fold(first, |sum, amount| sum.checked_add(amount?).ok())?;
    Some(ReportedAmount::Exact(sum))
}

fn read_refund_object(refund: &RefundAsked<'_>, object: &Json) -> Result<RefundAnswer, ApiFault> {
    let state = match object.text("status") {
        Some("succeeded") => RefundState::Succeeded,
        Some("pending") => RefundState::Processing,
        Some("failed" | "canceled") => RefundState::Closed,
        Some("requires_action") => RefundState::Abnormal,
        _ => return Err(ApiFault::Unreadable("a refund without a known status")),
    };
    let refund_id = provider_id(object.text("id")).map_err(ApiFault::unreadable)?;
    if refund.refund_id.is_some_and(|asked| asked != refund_id) {
        return Err(ApiFault::Unreadable("another refund than the one that was asked about"));
    }
    let amount = Some(amount(object, "amount"));
    Ok(RefundAnswer { state, refund_id: Some(refund_id), amount, total: None })
}
