//! `POST /v1/orders/{id}/cancel`

use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use idempotency::fingerprint::Meaning;
use order::OrderId;

use super::{OrderBody, find};
use crate::app::AppState;
use crate::body::NoBody;
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/orders/{id}/cancel";

/// Call an order off
///
/// One that is not paid yet. What is frozen for it is available again, and its items are back in stock; what was captured
/// before stays captured. The request needs no body; an empty object does no harm.
#[utoipa::path(
    post, path = "/v1/orders/{id}/cancel", tag = "orders",
    responses((status = 200, description = "The order is cancelled.", body = OrderBody))
)]
pub async fn cancel_order(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let submission = Submission::<OrderId, NoBody>::read(&state, request).await?;
    let Submission { path: order_id, body: NoBody, asker } = submission;
    let meaning = Meaning::of(OPERATION).path("id", &order_id.to_string());
    let (books, client_id) = (state.clone(), asker.client_id());
    let command = async move {
        let order = find(&books, client_id, order_id).await?;
        Ok(Command::CancelOrder { order_id, account_id: order.map(|order| order.account_id) })
    };
    asker.submit_looked_up(&state, OPERATION, meaning, command).await
}
