//! What a merchant asks the `standard` provider, whose API is the simulator's own:
//!
//! | | |
//! | --- | --- |
//! | `GET /standard/payments?order_id=…` | the payments under a number, the newest first: `{"data":[…]}` |
//! | `GET /standard/payments/{payment_id}` | one of them |
//! | `POST /standard/refunds` | `{"payment_id","reference","amount"}`, `amount` all that is left when it is absent; the same `reference` is the same refund |
//! | `GET /standard/refunds/{reference}` | what became of it |
//!
//! Requests show their key as a bearer. Amounts are texts. A payment is
//! `{"payment_id","order_id","amount","currency","status","refunded_amount","paid_at"}` with the status `failed` (an attempt
//! was; another may succeed), `paid` or `closed`; a refund is
//! `{"refund_id","reference","payment_id","order_id","amount","currency","status","created_at"}` with `succeeded`. An error is `{"error":{"code","message"}}`.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use chrono::SecondsFormat;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::text;
use crate::amount::Amount;
use crate::books::{Booked, BookedRefund, NotBooked, State as Stage};
use crate::demo_keys::standard as demo;
use crate::event::Outcome;
use crate::form;
use crate::office::{Office, Refused};
use crate::provider::Provider;
use crate::scenario::RefundAsked;

/// The paths of the `standard` provider.
pub fn routes() -> Router<Arc<Office>> {
    Router::new()
        .route("/standard/payments", get(payments))
        .route("/standard/payments/{id}", get(payment))
        .route("/standard/refunds", post(refund))
        .route("/standard/refunds/{reference}", get(show_refund))
}

struct Fault {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let error = json!({ "code": self.code, "message": self.message });
        (self.status, Json(json!({ "error": error }))).into_response()
    }
}

fn not_found(id: &str) -> Fault {
    Fault { status: StatusCode::NOT_FOUND, code: "not_found", message: format!("there is no {id}") }
}

fn malformed(message: impl ToString) -> Fault {
    Fault { status: StatusCode::BAD_REQUEST, code: "malformed", message: message.to_string() }
}

fn authorise(headers: &HeaderMap) -> Result<(), Fault> {
    let expected = format!("Bearer {}", demo::API_KEY);
    match headers
        .get(header::AUTHORIZATION)
        .is_some_and(|presented| presented.as_bytes() == expected.as_bytes())
    {
        true => Ok(()),
        false => {
            let message = "the key is not the demo's".to_owned();
            Err(Fault { status: StatusCode::UNAUTHORIZED, code: "unauthorised", message })
        }
    }
}

async fn payments(
    State(office): State<Arc<Office>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    let parameters = form::parse(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let payment_no = form::text(&parameters, "order_id").ok_or_else(|| malformed("order_id is missing"))?;
    let mut data: Vec<Value> =
        office.read(|books| books.under_number(Provider::Standard, payment_no).map(payment_object).collect());
    data.reverse();
    Ok(Json(json!({ "data": data })))
}

async fn payment(
    State(office): State<Arc<Office>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    office
        .read(|books| books.of_id(Provider::Standard, &id).map(payment_object))
        .map(Json)
        .ok_or_else(|| not_found(&id))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefundBody {
    payment_id: String,
    reference: String,
    amount: Option<Amount>,
}

/// 201 for a refund that is new, 200 for one that was there.
async fn refund(
    State(office): State<Arc<Office>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Fault> {
    authorise(&headers)?;
    let body: RefundBody = serde_json::from_slice(&body).map_err(malformed)?;
    let asked = RefundAsked {
        refund_no: body.reference,
        amount: body.amount,
        refunded_before: Amount::ZERO,
        outcome: Outcome::Done,
    };
    let (booked, refund, is_new) =
        office.refund(Provider::Standard, &body.payment_id, &asked).map_err(|error| refused(&error))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(refund_object(&booked, &refund))))
}

fn refused(error: &Refused) -> Fault {
    let (status, code) = match error {
        Refused::NotBooked(NotBooked::Unknown(_)) => (StatusCode::NOT_FOUND, "not_found"),
        Refused::NotBooked(NotBooked::OtherAmount { .. }) => (StatusCode::CONFLICT, "reference_reused"),
        Refused::NotBooked(NotBooked::NotPaid) => (StatusCode::CONFLICT, "not_paid"),
        Refused::NotBooked(_) => (StatusCode::UNPROCESSABLE_ENTITY, "refund_exceeds_paid"),
        Refused::Unsayable(_) | Refused::Style(_) | Refused::Unwritten(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    };
    Fault { status, code, message: error.to_string() }
}

async fn show_refund(
    State(office): State<Arc<Office>>,
    Path(reference): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Fault> {
    authorise(&headers)?;
    office
        .read(|books| {
            let (booked, refund) = books.of_refund(Provider::Standard, &reference)?;
            Some(refund_object(booked, refund))
        })
        .map(Json)
        .ok_or_else(|| not_found(&reference))
}

fn payment_object(booked: &Booked) -> Value {
    let payment = &booked.payment;
    json!({
        "payment_id": payment.provider_payment_id,
        "order_id": payment.payment_no,
        "amount": said(payment.amount, &payment.currency),
        "currency": payment.currency,
        "status": match booked.state {
            Stage::Paid(_) => "paid",
            Stage::Unpaid => "failed",
            Stage::Closed => "closed",
        },
        "refunded_amount": said(booked.refunded(), &payment.currency),
        "paid_at": booked.paid_at().map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
    })
}

fn refund_object(booked: &Booked, refund: &BookedRefund) -> Value {
    let payment = &booked.payment;
    json!({
        "refund_id": refund.refund.refund_id,
        "reference": refund.refund.refund_no,
        "payment_id": payment.provider_payment_id,
        "order_id": payment.payment_no,
        "amount": said(refund.refund.amount, &payment.currency),
        "currency": payment.currency,
        "status": "succeeded",
        "created_at": refund.at.to_rfc3339_opts(SecondsFormat::Secs, true),
    })
}

fn said(amount: Amount, currency: &str) -> String {
    text(amount, currency).unwrap_or_else(|_| amount.to_string())
}
