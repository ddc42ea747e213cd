//! `POST /v1/orders/{id}/capture`

use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use order::OrderId;

use super::{OrderBody, find};
use crate::app::AppState;
use crate::problem::Problem;
use crate::routes::holds::CaptureBody;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/orders/{id}/capture";

/// Take what is frozen for an order
///
/// All that is left of it, or a part. Unless `final` is false, the order is paid with what was captured, and the rest is
/// given back.
#[utoipa::path(
    post, path = "/v1/orders/{id}/capture", tag = "orders",
    request_body = CaptureBody,
    responses((status = 200, description = "The money is taken.", body = OrderBody))
)]
pub async fn capture_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<OrderId, CaptureBody>::read(&state, request).await?;
    let Submission { path: order_id, body, asker } = submission;
    let meaning = body.describe(Meaning::of(OPERATION).path("id", &order_id.to_string()));
    let (books, client_id) = (state.clone(), asker.client_id());
    let command = async move {
        let order = find(&books, client_id, order_id).await?;
        Ok(Command::CaptureOrder {
            order_id,
            account_id: order.as_ref().map(|order| order.account_id),
            terms: body.terms(order.map(|order| order.amount.currency()))?,
        })
    };
    asker.submit_looked_up(&state, OPERATION, meaning, command).await
}
