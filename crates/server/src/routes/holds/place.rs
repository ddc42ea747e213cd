//! `POST /v1/accounts/{id}/holds`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use utoipa::ToSchema;

use super::HoldBody;
use crate::app::AppState;
use crate::body::{Fields, RequestBody, words};
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/accounts/{id}/holds";

/// Money to be frozen.
#[derive(ToSchema, Debug)]
#[schema(example = json!({
    "amount": "100.00", "currency": "CNY", "reference": "H-1001", "expires_in_seconds": 604800
}))]
pub struct PlaceHoldBody {
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// The account's currency (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// The client's own name for the hold, unique among its holds for ever.
    #[schema(min_length = 1, max_length = 64)]
    reference: String,
    /// For how long it holds, a year at most. If nothing is said, until it is captured or released.
    #[schema(nullable = false, minimum = 1, maximum = 31_536_000)]
    expires_in_seconds: Option<u32>,
}

impl RequestBody for PlaceHoldBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = words::money(fields);
        let reference = fields.required("reference", words::printable);
        let expires_in_seconds = fields.optional("expires_in_seconds", words::expires_in_s);
        Some(Self {
            amount: amount?,
            currency: amount?.currency(),
            reference: reference?,
            expires_in_seconds: expires_in_seconds?,
        })
    }
}

/// Freeze money
///
/// It moves from what the account has available to what it has held, until it is captured, released, or the hold
/// expires.
#[utoipa::path(
    post, path = "/v1/accounts/{id}/holds", tag = "holds",
    request_body = PlaceHoldBody,
    responses((status = 201, description = "The money is frozen.", body = HoldBody,
        headers(("Location" = String, description = "The hold's path."))))
)]
pub async fn place_hold(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<AccountId, PlaceHoldBody>::read(&state, request).await?;
    let Submission { path: account_id, body, asker } = submission;
    let PlaceHoldBody { amount, currency, reference, expires_in_seconds: expires_in_s } = body;
    let meaning = Meaning::of(OPERATION)
        .path("id", &account_id.to_string())
        .field("amount", &amount.to_string())
        .field("currency", currency.code())
        .field("reference", &reference)
        .maybe("expires_in_seconds", expires_in_s.map(|seconds| seconds.to_string()).as_deref());
    let command = Command::PlaceHold { account_id, amount, reference, expires_in_s };
    asker.submit(&state, OPERATION, meaning, command).await
}
