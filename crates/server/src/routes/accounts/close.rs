//! `POST /v1/accounts/{id}/close`

use account::AccountId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;

use super::AccountBody;
use crate::app::AppState;
use crate::body::NoBody;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/accounts/{id}/close";

/// Close an account
///
/// Only one that is empty, and for ever. The request needs no body; an empty object does no harm.
#[utoipa::path(
    post, path = "/v1/accounts/{id}/close", tag = "accounts",
    responses((status = 200, description = "The account is closed.", body = AccountBody))
)]
pub async fn close_account(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<AccountId, NoBody>::read(&state, request).await?;
    let account_id = submission.path;
    let meaning = Meaning::of(OPERATION).path("id", &account_id.to_string());
    submission.asker.submit(&state, OPERATION, meaning, Command::CloseAccount { account_id }).await
}
