//! What a merchant asks Stripe (<https://docs.stripe.com/api>): payment intents, charges and refunds.
//!
//! A refund's `Idempotency-Key` is its number in the books, so the same key is the same refund, and the same key with
//! another amount is Stripe's `idempotency_error`.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::{charge_id, units};
use crate::amount::{self, Amount};
use crate::books::{Booked, BookedRefund, NotBooked, State as Stage};
use crate::demo_keys;
use crate::event::Outcome;
use crate::form;
use crate::ids;
use crate::office::{Office, Refused};
use crate::provider::Provider;
use crate::scenario::{Impossible, RefundAsked};

/// Stripe's paths.
pub fn routes() -> Router<Arc<Office>> {
    Router::new()
        .route("/v1/payment_intents/search", get(search))
        .route("/v1/payment_intents/{id}", get(payment_intent))
        .route("/v1/charges/{id}", get(charge))
        .route("/v1/refunds", get(list_refunds).post(refund))
        .route("/v1/refunds/{id}", get(show_refund))
}

/// An error in Stripe's shape.
struct Fault {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    message: String,
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let error = json!({ "type": self.kind, "code": self.code, "message": self.message });
        (self.status, Json(json!({ "error": error }))).into_response()
    }
}

fn invalid(status: StatusCode, code: &'static str, message: impl Into<String>) -> Fault {
    Fault { status, kind: "invalid_request_error", code, message: message.into() }
}

fn missing(what: &str, id: &str) -> Fault {
    invalid(StatusCode::NOT_FOUND, "resource_missing", format!("No such {what}: '{id}'"))
}

/// The key stands in `Authorization`, as a bearer or as the user of Basic.
fn authorise(headers: &HeaderMap) -> Result<(), Fault> {
    let presented =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = match presented.split_once(' ') {
        Some(("Bearer", key)) => key.to_owned(),
        Some(("Basic", encoded)) => {
            let decoded = BASE64_STANDARD.decode(encoded).unwrap_or_default();
            String::from_utf8_lossy(&decoded).trim_end_matches(':').to_owned()
        }
        _ => String::new(),
    };
    match key == demo_keys::stripe::API_KEY {
        true => Ok(()),
        false => Err(invalid(StatusCode::UNAUTHORIZED, "api_key_invalid", "Invalid API Key provided")),
    }
}

async fn payment_intent(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    let parameters = form::parse(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let expanded = form::text(&parameters, "expand[]") == Some("latest_charge");
    office
        .read(|books| books.of_id(Provider::Stripe, &id).map(|booked| intent_object(booked, expanded)))
        .map(Json)
        .ok_or_else(|| missing("payment_intent", &id))
}

/// One query is understood: `metadata['order_id']:'…'`, with either kind of quotation mark.
async fn search(
    State(office): State<Arc<Office>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    let parameters = form::parse(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let asked = form::text(&parameters, "query").unwrap_or_default().replace('\'', "\"");
    let payment_no = asked
        .strip_prefix("metadata[\"order_id\"]:\"")
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(|| {
            invalid(
                StatusCode::BAD_REQUEST,
                "parameter_invalid",
                "the simulator searches metadata['order_id']:'…' alone",
            )
        })?;
    let expanded = form::text(&parameters, "expand[]") == Some("data.latest_charge");
    let data: Vec<Value> = office.read(|books| {
        let intents = books.under_number(Provider::Stripe, payment_no);
        let mut found: Vec<Value> = intents.map(|booked| intent_object(booked, expanded)).collect();
        // The newest first, as Stripe lists.
        found.reverse();
        found
    });
    Ok(Json(json!({
        "object": "search_result",
        "url": "/v1/payment_intents/search",
        "has_more": false,
        "next_page": null,
        "data": data,
    })))
}

async fn charge(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    office
        .read(|books| {
            books
                .of_id(Provider::Stripe, &intent_id(&id))
                .filter(|one| one.paid_at().is_some())
                .map(charge_object)
        })
        .map(Json)
        .ok_or_else(|| missing("charge", &id))
}

async fn show_refund(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    office
        .read(|books| {
            let booked = books.payments().iter().filter(|booked| booked.provider == Provider::Stripe);
            booked
                .flat_map(|booked| booked.refunds.iter().map(move |refund| (booked, refund)))
                .find(|(_, one)| one.refund.refund_id == id)
                .map(|(booked, refund)| refund_object(booked, refund))
        })
        .map(Json)
        .ok_or_else(|| missing("refund", &id))
}

async fn list_refunds(
    State(office): State<Arc<Office>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    let parameters = form::parse(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let intent = form::text(&parameters, "payment_intent").ok_or_else(|| {
        let message = "the simulator lists the refunds of a payment_intent alone";
        invalid(StatusCode::BAD_REQUEST, "parameter_missing", message)
    })?;
    let mut data: Vec<Value> = office.read(|books| {
        let booked = books.of_id(Provider::Stripe, intent);
        booked
            .into_iter()
            .flat_map(|booked| booked.refunds.iter().map(|one| refund_object(booked, one)))
            .collect()
    });
    data.reverse();
    Ok(Json(json!({ "object": "list", "url": "/v1/refunds", "has_more": false, "data": data })))
}

async fn refund(
    State(office): State<Arc<Office>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    let parameters = form::parse(&body).unwrap_or_default();
    let parameter = |name| form::text(&parameters, name);
    let intent = match (parameter("payment_intent"), parameter("charge")) {
        (Some(intent), _) => intent.to_owned(),
        (None, Some(charge)) => intent_id(charge),
        (None, None) => {
            let message =
                "One of the following params should be provided for this request: payment_intent or charge.";
            return Err(invalid(StatusCode::BAD_REQUEST, "parameter_missing", message));
        }
    };
    let booked = office
        .read(|books| books.of_id(Provider::Stripe, &intent).cloned())
        .ok_or_else(|| missing("payment_intent", &intent))?;
    let amount = parameter("amount").map(|units| amount_of(units, &booked.payment.currency)).transpose()?;
    let key = headers.get("Idempotency-Key").and_then(|value| value.to_str().ok());
    let asked = RefundAsked {
        refund_no: key.map_or_else(|| ids::letters(24), ToOwned::to_owned),
        amount,
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    };
    let (booked, refund, _) = office.refund(Provider::Stripe, &intent, &asked).map_err(refused)?;
    Ok(Json(refund_object(&booked, &refund)))
}

fn amount_of(units: &str, currency: &str) -> Result<Amount, Fault> {
    let bad =
        || invalid(StatusCode::BAD_REQUEST, "parameter_invalid_integer", format!("Invalid integer: {units}"));
    let units = units.parse().map_err(|_| bad())?;
    let decimals = match currency {
        "ISK" => 2,
        "MGA" => 0,
        _ => amount::iso_decimals(currency),
    };
    Ok(Amount::from_units(units, decimals))
}

fn refused(error: Refused) -> Fault {
    let bad = |code, message: String| invalid(StatusCode::BAD_REQUEST, code, message);
    match error {
        Refused::NotBooked(NotBooked::OtherAmount { .. }) => Fault {
            status: StatusCode::BAD_REQUEST,
            kind: "idempotency_error",
            code: "idempotency_key_in_use",
            message: "Keys for idempotent requests can only be used with the same parameters they were first used with."
                .to_owned(),
        },
        Refused::NotBooked(NotBooked::Impossible(Impossible::RefundExceedsPaid { paid, before, .. })) if before == paid => {
            bad("charge_already_refunded", "Charge has already been refunded.".to_owned())
        }
        Refused::NotBooked(NotBooked::Impossible(impossible)) => bad("amount_too_large", impossible.to_string()),
        Refused::NotBooked(NotBooked::NotPaid) => {
            bad("payment_intent_unexpected_state", "This PaymentIntent has no successful charge to refund.".to_owned())
        }
        Refused::NotBooked(NotBooked::Unknown(id)) => missing("payment_intent", &id),
        Refused::NotBooked(NotBooked::AlreadyPaid | NotBooked::AlreadyClosed)
        | Refused::Unsayable(_)
        | Refused::Style(_)
        | Refused::Unwritten(_) => Fault {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            kind: "api_error",
            code: "internal",
            message: error.to_string(),
        },
    }
}

fn intent_id(charge: &str) -> String {
    format!("pi_{}", charge.trim_start_matches("ch_"))
}

/// What the provider counts is what was booked, or it could not have been.
fn counted(amount: Amount, currency: &str) -> u64 {
    units(amount, currency).unwrap_or_default()
}

/// With the charge itself in the place of its id, if it is to be `expanded`.
fn intent_object(booked: &Booked, expanded: bool) -> Value {
    let payment = &booked.payment;
    let amount = counted(payment.amount, &payment.currency);
    let is_paid = booked.paid_at().is_some();
    json!({
        "id": payment.provider_payment_id,
        "object": "payment_intent",
        "amount": amount,
        "amount_received": if is_paid { amount } else { 0 },
        "created": booked.created_at.timestamp(),
        "currency": payment.currency.to_lowercase(),
        "last_payment_error": match booked.state {
            Stage::Unpaid => json!({ "type": "card_error", "code": "card_declined" }),
            Stage::Paid(_) | Stage::Closed => Value::Null,
        },
        "latest_charge": match (is_paid, expanded) {
            (false, _) => Value::Null,
            (true, false) => json!(charge_id(&payment.provider_payment_id)),
            (true, true) => charge_object(booked),
        },
        "livemode": demo_keys::stripe::LIVEMODE,
        "metadata": { "order_id": payment.payment_no },
        "status": match booked.state {
            Stage::Paid(_) => "succeeded",
            Stage::Unpaid => "requires_payment_method",
            Stage::Closed => "canceled",
        },
    })
}

fn charge_object(booked: &Booked) -> Value {
    let payment = &booked.payment;
    let amount = counted(payment.amount, &payment.currency);
    let refunded = counted(booked.refunded(), &payment.currency);
    json!({
        "id": charge_id(&payment.provider_payment_id),
        "object": "charge",
        "amount": amount,
        "amount_captured": amount,
        "amount_refunded": refunded,
        "currency": payment.currency.to_lowercase(),
        "livemode": demo_keys::stripe::LIVEMODE,
        "metadata": { "order_id": payment.payment_no },
        "paid": true,
        "payment_intent": payment.provider_payment_id,
        "refunded": refunded == amount,
        "status": "succeeded",
    })
}

fn refund_object(booked: &Booked, refund: &BookedRefund) -> Value {
    let payment = &booked.payment;
    json!({
        "id": refund.refund.refund_id,
        "object": "refund",
        "amount": counted(refund.refund.amount, &payment.currency),
        "charge": charge_id(&payment.provider_payment_id),
        "created": refund.at.timestamp(),
        "currency": payment.currency.to_lowercase(),
        "metadata": { "order_id": payment.payment_no, "refund_no": refund.refund.refund_no },
        "payment_intent": payment.provider_payment_id,
        "status": match refund.refund.outcome {
            Outcome::Done => "succeeded",
            Outcome::Abnormal => "requires_action",
            Outcome::Closed => "failed",
        },
    })
}
