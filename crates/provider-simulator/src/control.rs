//! The control of a simulation: what no provider has, and whoever tests against one needs.
//!
//! | | |
//! | --- | --- |
//! | `POST /control/scenarios` | lets something happen, and answers when all of it is delivered |
//! | `POST /control/trouble` | lets the next requests about a payment go wrong |
//! | `POST /control/sticking` | lets the next refund of a payment get stuck at WeChat Pay, if its API is asked for it |
//! | `GET /control/statement?provider=P` | the settlement statement, as CSV |
//!
//! Errors are `{"error": …}` with 422.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::delivery::Plan;
use crate::office::Office;
use crate::provider::Provider;
use crate::report::LineObject;
use crate::scenario::Scenario;
use crate::statement;
use crate::trouble::Kind;

/// What is asked of `POST /control/scenarios`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioAsked {
    /// What is to happen.
    pub scenario: Scenario,
    /// How it is told.
    #[serde(default)]
    pub plan: Plan,
    /// Whether it is told at all.
    #[serde(default)]
    pub silent: bool,
}

/// What `POST /control/scenarios` answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScenarioTold {
    /// Every delivery.
    pub deliveries: Vec<LineObject>,
    /// Whether every copy was acknowledged; true when nobody was called back.
    pub acknowledged: bool,
    /// Why nobody was called back, where the provider sends no such callback.
    pub silent_because: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TroubleAsked {
    payment_no: String,
    trouble: Kind,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StickingAsked {
    payment_no: String,
}

#[derive(Deserialize)]
struct StatementAsked {
    provider: Provider,
}

/// The paths below `/control`.
pub fn routes() -> Router<Arc<Office>> {
    Router::new()
        .route("/scenarios", post(let_happen))
        .route("/trouble", post(order_trouble))
        .route("/sticking", post(let_stick))
        .route("/statement", get(show_statement))
}

async fn let_happen(State(office): State<Arc<Office>>, Json(asked): Json<ScenarioAsked>) -> Response {
    let is_number = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let payment_no = &asked.scenario.payment_no;
    if payment_no.is_empty() || !payment_no.bytes().all(is_number) {
        return refused(&format!("{payment_no:?} is no payment number"));
    }
    match office.happen(&asked.scenario, &asked.plan, asked.silent).await {
        Ok(told) => Json(ScenarioTold {
            deliveries: told.lines.iter().map(LineObject::from).collect(),
            acknowledged: told.acknowledged,
            silent_because: told.silent_because.map(|unsayable| unsayable.to_string()),
        })
        .into_response(),
        Err(error) => refused(&error.to_string()),
    }
}

async fn order_trouble(State(office): State<Arc<Office>>, Json(asked): Json<TroubleAsked>) -> StatusCode {
    office.trouble.order(&asked.payment_no, asked.trouble, asked.times);
    StatusCode::NO_CONTENT
}

async fn let_stick(State(office): State<Arc<Office>>, Json(asked): Json<StickingAsked>) -> StatusCode {
    office.stick(&asked.payment_no);
    StatusCode::NO_CONTENT
}

async fn show_statement(
    State(office): State<Arc<Office>>,
    Query(asked): Query<StatementAsked>,
) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/csv")], office.read(|books| statement::csv(books, asked.provider)))
}

fn refused(error: &str) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": error }))).into_response()
}
