//! `GET /readyz`

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::problem::{Problem, Slug};
use crate::reading::ok;

/// How long the database may take. Whoever asks, such as a load balancer, gives up soon after.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The service can do its work.
#[derive(Serialize, ToSchema, Debug)]
#[schema(example = json!({ "status": "ready", "degraded": [] }))]
pub struct ReadyBody {
    /// Always `ready`.
    status: &'static str,
    /// What is away that the service does without for a while: `broker`, for which events wait (of a server that
    /// publishes or takes events, and what it does not do it cannot know), and `redis`, without which
    /// repeats at another server than the first cost the database a look.
    degraded: Vec<&'static str>,
}

/// Ask whether the service can do its work
///
/// That is: the database can be reached, and every migration is applied. What it does without for a while is named, and it
/// stays ready.
#[utoipa::path(
    get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, description = "It can.", body = ReadyBody))
)]
pub async fn readyz(State(state): State<AppState>) -> Result<Response, Problem> {
    match timeout(ANSWER_WITHIN, state.database.migrations_applied()).await {
        Ok(Ok(true)) => Ok(ok(&ReadyBody { status: "ready", degraded: degraded(&state) })),
        Ok(Ok(false)) => Err(missing("migrations", "not every migration is applied; run onefold migrate")),
        Ok(Err(error)) => {
            tracing::warn!(error = %error, "not ready: the database cannot be reached");
            Err(missing("database", "the database cannot be reached"))
        }
        Err(_) => {
            tracing::warn!("not ready: the database does not answer in time");
            Err(missing("database", "the database does not answer in time"))
        }
    }
}

fn degraded(state: &AppState) -> Vec<&'static str> {
    let broker = state.metrics.broker_is_away();
    let redis = state.repeats.get().is_some_and(|repeats| repeats.is_away());
    [(broker, "broker"), (redis, "redis")]
        .into_iter()
        .filter_map(|(away, name)| away.then_some(name))
        .collect()
}

fn missing(what: &str, detail: &str) -> Problem {
    Problem::new(Slug::Unavailable, detail).member("missing", what)
}
