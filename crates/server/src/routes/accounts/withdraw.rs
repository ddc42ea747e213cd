//! `POST /v1/accounts/{id}/withdrawals`

use account::{AccountId, Parties};
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::{Amount, Currency};
use utoipa::ToSchema;

use crate::app::AppState;
use crate::body::{Fields, RequestBody, words};
use crate::problem::Problem;
use crate::routes::movements::MovementBody;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/accounts/{id}/withdrawals";

/// Money that goes outside.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "amount": "100.00", "currency": "CNY", "reference": "W-1001" }))]
pub struct WithdrawalBody {
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// The account's currency (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// The client's own name for the withdrawal, unique among its withdrawals for ever.
    #[schema(min_length = 1, max_length = 64)]
    reference: String,
}

impl RequestBody for WithdrawalBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = words::money(fields);
        let reference = fields.required("reference", words::printable);
        Some(Self { amount: amount?, currency: amount?.currency(), reference: reference? })
    }
}

/// Take money out
#[utoipa::path(
    post, path = "/v1/accounts/{id}/withdrawals", tag = "accounts",
    request_body = WithdrawalBody,
    responses((status = 201, description = "The money is out.", body = MovementBody,
        headers(("Location" = String, description = "The movement's path."))))
)]
pub async fn withdraw(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: from, body, asker } = Submission::<AccountId, _>::read(&state, request).await?;
    let WithdrawalBody { amount, currency, reference } = body;
    let meaning = Meaning::of(OPERATION)
        .path("id", &from.to_string())
        .field("amount", &amount.to_string())
        .field("currency", currency.code())
        .field("reference", &reference);
    let command = Command::Move { parties: Parties::Withdrawal { from }, amount, reference };
    asker.submit(&state, OPERATION, meaning, command).await
}
