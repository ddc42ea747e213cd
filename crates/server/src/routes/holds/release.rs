//! `POST /v1/holds/{id}/release`

use account::HoldId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;

use super::{HoldBody, find};
use crate::app::AppState;
use crate::body::NoBody;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/holds/{id}/release";

/// Give frozen money back
///
/// All that is left of the hold, which then ends. The request needs no body; an empty object does no harm.
#[utoipa::path(
    post, path = "/v1/holds/{id}/release", tag = "holds",
    responses((status = 200, description = "The money is available again.", body = HoldBody))
)]
pub async fn release_hold(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<HoldId, NoBody>::read(&state, request).await?;
    let Submission { path: hold_id, body: NoBody, asker } = submission;
    let meaning = Meaning::of(OPERATION).path("id", &hold_id.to_string());
    let (books, client_id) = (state.clone(), asker.client_id());
    let command = async move {
        let hold = find(&books, client_id, hold_id).await?;
        Ok(Command::ReleaseHold { hold_id, account_id: hold.map(|hold| hold.account_id) })
    };
    asker.submit_looked_up(&state, OPERATION, meaning, command).await
}
