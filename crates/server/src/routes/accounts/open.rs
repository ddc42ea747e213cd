//! `POST /v1/accounts`

use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use money::Currency;
use utoipa::ToSchema;

use super::AccountBody;
use crate::app::AppState;
use crate::body::{Fields, RequestBody, words};
use crate::path::Nothing;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/accounts";

/// An account to be opened.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "owner": "alice", "currency": "CNY" }))]
pub struct OpenAccountBody {
    /// The client's own name for the holder.
    #[schema(min_length = 1, max_length = 64)]
    owner: String,
    /// The currency that the account shall hold (ISO 4217), for ever.
    #[schema(value_type = String, pattern = "^[A-Z]{3}$")]
    currency: Currency,
}

impl RequestBody for OpenAccountBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let owner = fields.required("owner", words::owner);
        let currency = fields.required("currency", words::currency);
        Some(Self { owner: owner?, currency: currency? })
    }
}

/// Open an account
///
/// The account is empty; a deposit brings money in.
#[utoipa::path(
    post, path = "/v1/accounts", tag = "accounts",
    request_body = OpenAccountBody,
    responses((status = 201, description = "The account is open.", body = AccountBody,
        headers(("Location" = String, description = "The account's path."))))
)]
pub async fn open_account(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let Submission { path: Nothing, body, asker } = Submission::read(&state, request).await?;
    let OpenAccountBody { owner, currency } = body;
    let meaning = Meaning::of(OPERATION).field("owner", &owner).field("currency", currency.code());
    asker.submit(&state, OPERATION, meaning, Command::OpenAccount { owner, currency }).await
}
