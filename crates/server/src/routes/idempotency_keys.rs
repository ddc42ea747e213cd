//! Idempotency keys: `/v1/idempotency-keys` and below. Here is `GET /v1/idempotency-keys/{key}`.

pub mod issue;

use axum::extract::{Request, State};
use axum::response::Response;
use client::Scopes;
use desk::LookedUp;
use idempotency::{Key, Name, Record};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::accounts::time;
use crate::admission::client_of;
use crate::app::AppState;
use crate::look_up::look_up;
use crate::path::not_found;
use crate::problem::Problem;
use crate::reading::{Reading, ok};
use crate::routes;

/// What is known under a key. While the first request runs, most of it is null.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({
    "key": "8e03978e-40d5-43dd-bc93-6894a57f9324", "status": "completed", "operation": "POST /v1/orders",
    "resource": "/v1/orders/0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61", "attempts": 1,
    "first_seen_at": "2026-01-31T09:30:00.120000Z", "completed_at": "2026-01-31T09:30:00.123456Z",
    "expires_at": "2026-02-03T09:30:00.123456Z",
    "response": { "status": 201, "body": { "id": "0193e1c5-7d3a-7b52-8a34-5f1d2c9b7e61" } }
}))]
pub struct IdempotencyKeyBody {
    /// The key's value, without quotes or escapes.
    key: String,
    /// `in_progress`, `completed` when the operation had its effect, `failed` when a business rule refused it.
    status: &'static str,
    /// What was asked for: method and path template.
    #[schema(required)]
    operation: Option<String>,
    /// The path of what was made or changed; null for an API key that is not good for the operation.
    #[schema(required)]
    resource: Option<String>,
    /// How often the operation was run: 0 while it runs for the first time.
    #[schema(minimum = 0)]
    attempts: i32,
    /// When the first request under the key was taken.
    #[schema(required, format = "date-time")]
    first_seen_at: Option<String>,
    /// When its answer was decided.
    #[schema(required, format = "date-time")]
    completed_at: Option<String>,
    /// The earliest time at which the key may be forgotten.
    #[schema(required, format = "date-time")]
    expires_at: Option<String>,
    /// What was answered.
    #[schema(required)]
    response: Option<RecordedResponseBody>,
}

/// An answer that was recorded.
#[derive(Serialize, ToSchema, Debug)]
pub struct RecordedResponseBody {
    /// Its status code.
    status: u16,
    /// Its body; null for an API key that is not good for the operation.
    #[schema(required, value_type = Option<Object>)]
    body: Option<Box<RawValue>>,
}

impl IdempotencyKeyBody {
    /// What was answered is told to an API key that could have had the answer itself. `keys:read` alone says how it ended, and
    /// not what of.
    fn finished(record: Record, scopes: &Scopes) -> Self {
        let is_told = match routes::scope_of(&record.operation) {
            Some(scope) => scopes.allow(scope),
            None => *scopes == Scopes::All,
        };
        Self {
            key: record.name.key.as_str().to_owned(),
            status: record.status.as_str(),
            operation: Some(record.operation),
            resource: record.resource.filter(|_| is_told),
            attempts: record.attempts,
            first_seen_at: Some(time(record.first_seen_at)),
            completed_at: Some(time(record.completed_at)),
            expires_at: Some(time(record.expires_at)),
            response: Some(RecordedResponseBody {
                status: record.answer.status,
                body: is_told.then(|| json_of(&record.answer.body)),
            }),
        }
    }
}

/// The recorded body as it is, which is JSON, because no other was ever stored.
fn json_of(body: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(body).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Ask what became of a key
///
/// For a client that was told 409, or nothing at all. 404 says that no record is committed and nothing is running; it is
/// no promise that an answer lost earlier had no effect once the retention is over. What was made and what was answered is told
/// to an API key that is good for the operation as well.
#[utoipa::path(
    get, path = "/v1/idempotency-keys/{key}", tag = "idempotency",
    responses((status = 200, description = "What is known.", body = IdempotencyKeyBody))
)]
pub async fn get_idempotency_key(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let asks = client_of(request.extensions())?;
    let Reading::<Key> { client_id, path: key, .. } = Reading::read(request).await?;
    let name = Name { client_id, key };
    let looked_up = look_up(state.database.pool(), || state.desk.look_up(&name)).await?;
    let body = match looked_up {
        LookedUp::Unknown => return Err(not_found()),
        LookedUp::Finished(record) => IdempotencyKeyBody::finished(*record, &asks.scopes),
        LookedUp::InProgress { operation, first_seen_at } => IdempotencyKeyBody {
            key: name.key.as_str().to_owned(),
            status: "in_progress",
            operation,
            resource: None,
            attempts: 0,
            first_seen_at: first_seen_at.map(time),
            completed_at: None,
            expires_at: None,
            response: None,
        },
    };
    Ok(ok(&body))
}
