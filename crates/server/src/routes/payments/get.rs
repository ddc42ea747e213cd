//! `GET /v1/payments/{payment_no}`

use account::store::journal;
use axum::extract::{Request, State};
use axum::response::Response;
use client::ClientId;
use payment_callback::Receipt;
use payment_callback::payment::is_payment_no;
use payment_callback::store::{asked_refunds, deliveries, payments, receipts};
use sqlx::PgPool;

use super::PaymentDetailsBody;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::{Named, not_found};
use crate::problem::Problem;
use crate::reading::{Reading, ok};

/// How many deliveries are shown, of all and of those that had an effect; what booked something is shown besides.
const DELIVERIES_SHOWN: i64 = 100;

/// The number of a payment in a path.
#[derive(Debug)]
pub struct PaymentNo(String);

impl Named for PaymentNo {
    fn from_parameter(parameter: &str) -> Option<Self> {
        is_payment_no(parameter).then(|| Self(parameter.to_owned()))
    }
}

/// Look at a payment
///
/// With what its provider says was received, the refunds that it is asked for, the deliveries that told of them, and what was
/// booked.
#[utoipa::path(
    get, path = "/v1/payments/{payment_no}", tag = "payments",
    responses((status = 200, description = "The payment as it is now.", body = PaymentDetailsBody))
)]
pub async fn get_payment(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Reading::<PaymentNo> { client_id, path: PaymentNo(number), .. } = Reading::read(request).await?;
    let pool = state.database.pool();
    let found = look_up(pool, || find_payment(pool, client_id, &number)).await?;
    Ok(ok(&found.ok_or_else(not_found)?))
}

/// A payment that was asked for, with all that was told of it.
///
/// # Errors
///
/// Those of the database.
pub async fn find_payment(
    pool: &PgPool,
    client: ClientId,
    number: &str,
) -> sqlx::Result<Option<PaymentDetailsBody>> {
    let Some(payment) = payments::find(pool, client, number).await? else { return Ok(None) };
    let receipts = receipts::of_payment(pool, client, number).await?;
    let keys: Vec<_> = receipts.iter().map(Receipt::key).collect();
    let refunds = asked_refunds::of_receipts(pool, &keys).await?;
    let ids: Vec<_> = receipts.iter().map(|receipt| receipt.id.0).collect();
    let deliveries = deliveries::of_payment(pool, client, number, &ids, DELIVERIES_SHOWN).await?;
    let journal = journal::of_receipts(pool, client, &ids).await?;
    Ok(PaymentDetailsBody::of(payment, receipts, refunds, deliveries, journal))
}
