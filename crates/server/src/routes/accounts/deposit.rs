//! `POST /v1/accounts/{id}/deposits`

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

const OPERATION: &str = "POST /v1/accounts/{id}/deposits";

/// Money that comes in from outside.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "amount": "100.00", "currency": "CNY", "reference": "D-1001" }))]
pub struct DepositBody {
    /// How much, in plain decimal notation; more than zero.
    #[schema(value_type = String, pattern = r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,4})?$")]
    amount: Amount,
    /// The account's currency (ISO 4217).
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
    /// The client's own name for the deposit, unique among its deposits for ever.
    #[schema(min_length = 1, max_length = 64)]
    reference: String,
}

impl RequestBody for DepositBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let amount = words::money(fields);
        let reference = fields.required("reference", words::printable);
        Some(Self { amount: amount?, currency: amount?.currency(), reference: reference? })
    }
}

/// Bring money in
#[utoipa::path(
    post, path = "/v1/accounts/{id}/deposits", tag = "accounts",
    request_body = DepositBody,
    responses((status = 201, description = "The money is in.", body = MovementBody,
        headers(("Location" = String, description = "The movement's path."))))
)]
pub async fn deposit(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: to, body, asker } = Submission::<AccountId, _>::read(&state, request).await?;
    let DepositBody { amount, currency, reference } = body;
    let meaning = Meaning::of(OPERATION)
        .path("id", &to.to_string())
        .field("amount", &amount.to_string())
        .field("currency", currency.code())
        .field("reference", &reference);
    let command = Command::Move { parties: Parties::Deposit { to }, amount, reference };
    asker.submit(&state, OPERATION, meaning, command).await
}
