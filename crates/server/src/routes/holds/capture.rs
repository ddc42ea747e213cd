//! `POST /v1/holds/{id}/capture`

use account::HoldId;
use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;

use super::{CaptureBody, HoldBody, find};
use crate::app::AppState;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/holds/{id}/capture";

/// Take frozen money
///
/// All that is left of the hold, or a part. It becomes revenue. Unless `final` is false, the rest is given back and the
/// hold ends.
#[utoipa::path(
    post, path = "/v1/holds/{id}/capture", tag = "holds",
    request_body = CaptureBody,
    responses((status = 200, description = "The money is taken.", body = HoldBody))
)]
pub async fn capture_hold(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<HoldId, CaptureBody>::read(&state, request).await?;
    let Submission { path: hold_id, body, asker } = submission;
    let meaning = body.describe(Meaning::of(OPERATION).path("id", &hold_id.to_string()));
    let (books, client_id) = (state.clone(), asker.client_id());
    let command = async move {
        let hold = find(&books, client_id, hold_id).await?;
        Ok(Command::CaptureHold {
            hold_id,
            account_id: hold.as_ref().map(|hold| hold.account_id),
            terms: body.terms(hold.map(|hold| hold.amount.currency()))?,
        })
    };
    asker.submit_looked_up(&state, OPERATION, meaning, command).await
}
