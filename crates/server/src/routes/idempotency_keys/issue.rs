//! `POST /v1/idempotency-keys`

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access_log::Facts;
use crate::admission::client_of;
use crate::app::AppState;
use crate::body::{self, NoBody, receive};
use crate::metrics::IssuedKey;
use crate::problem::Problem;
use crate::reading::ok;
use crate::routes::accounts::time;

/// A key that the server has made.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({
    "key": "ik1_AAABoxjFGHsJCQkJCQkJCQkJCQkJCQkJZIZyzEgh3WGzWbPDWaZ5QTmZDIlOqwqIY0XctDM9z0k",
    "expires_at": "2026-02-01T09:30:00.123000Z",
}))]
pub struct IssuedKeyBody {
    /// The key, to be sent as `Idempotency-Key`. It is good for this client only.
    key: String,
    /// Until when it may be used for the first time. What was answered under it is answered again for as long as any other.
    #[schema(format = "date-time")]
    expires_at: String,
}

/// Ask for a key
///
/// For clients that cannot make keys that are unique, or may use no others. The request needs no key of its own, for nothing
/// happens but that a key is made: it is sealed, and stored nowhere. Ask before the order is begun, keep the key with it, and
/// send it with each retry; a key that is asked for anew with each retry protects nothing.
#[utoipa::path(
    post, path = "/v1/idempotency-keys", tag = "idempotency",
    responses((status = 201, description = "A new key.", body = IssuedKeyBody))
)]
pub async fn issue_idempotency_key(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let facts = Facts::of(&parts.extensions);
    let client = client_of(&parts.extensions)?;
    let bytes = facts.reading_body(receive::receive(body, state.settings.body_bytes_max)).await?;
    if !bytes.is_empty() {
        receive::expect_json(&parts.headers)?;
    }
    let NoBody = body::parse(&bytes)?;
    let (key, expires_at) = state.issuer.issue(client.client_id, state.clock.now());
    state.metrics.issued_key(IssuedKey::Issued);
    let body = IssuedKeyBody { key: key.as_str().to_owned(), expires_at: time(expires_at) };
    let mut response = ok(&body);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}
