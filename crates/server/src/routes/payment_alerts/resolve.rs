//! `POST /v1/payment-alerts/{id}/resolve`

use axum::extract::{Request, State};
use axum::response::Response;
use desk::Command;
use desk::command::PaymentCommand;
use idempotency::fingerprint::Meaning;
use payment_callback::{AlertAction, AlertId};
use utoipa::ToSchema;

use super::AlertBody;
use crate::app::AppState;
use crate::body::{Fields, Json, RequestBody, words};
use crate::problem::Problem;
use crate::submission::Submission;

const OPERATION: &str = "POST /v1/payment-alerts/{id}/resolve";

/// How many characters a note may have.
const NOTE_CHARACTERS_MAX: usize = 500;

/// What shall become of what an alert is about.
#[derive(ToSchema, Debug)]
#[schema(example = json!({ "action": "refund", "note": "the customer has paid twice" }))]
pub struct ResolveAlertBody {
    /// `accept`: the money pays its order as it is. `refund`: it is owed back. `dismiss`: nothing follows, and the money
    /// stays where it is.
    #[schema(value_type = String)]
    action: AlertAction,
    /// Why, for whoever reads it later. Left out, it is empty.
    #[schema(value_type = Option<String>, max_length = 500, nullable = false)]
    note: String,
}

impl RequestBody for ResolveAlertBody {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let action = fields.required("action", |json| match words::text(json)? {
            "accept" => Ok(AlertAction::Accept),
            "refund" => Ok(AlertAction::Refund),
            "dismiss" => Ok(AlertAction::Dismiss),
            _ => Err("must be accept, refund or dismiss".to_owned()),
        });
        let note = fields.optional("note", note);
        Some(Self { action: action?, note: note?.unwrap_or_default() })
    }
}

fn note(json: &Json) -> Result<String, String> {
    let note = words::text(json)?;
    if note.chars().count() > NOTE_CHARACTERS_MAX {
        return Err(format!("has more than {NOTE_CHARACTERS_MAX} characters"));
    }
    if note.contains('\0') {
        return Err("must not contain a NUL".to_owned());
    }
    Ok(note.to_owned())
}

/// Resolve a payment alert
#[utoipa::path(
    post, path = "/v1/payment-alerts/{id}/resolve", tag = "payments",
    request_body = ResolveAlertBody,
    responses((status = 200, description = "The alert is resolved.", body = AlertBody))
)]
pub async fn resolve_payment_alert(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Problem> {
    let Submission { path: alert_id, body, asker } = Submission::<AlertId, _>::read(&state, request).await?;
    let ResolveAlertBody { action, note } = body;
    let meaning = Meaning::of(OPERATION)
        .path("id", &alert_id.to_string())
        .field("action", action.as_str())
        .field("note", &note);
    let askable = state.endpoints.askable_of(asker.client_id()).collect();
    let by = format!("client, key {}", asker.api_key_id());
    let command = Command::Payment(PaymentCommand::ResolveAlert { alert_id, action, by, note, askable });
    asker.submit(&state, OPERATION, meaning, command).await
}
