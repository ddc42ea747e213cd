//! What is looked up for the metrics at intervals, so that `/metrics` asks the database nothing: payment alerts that wait
//! for a decision, events and webhooks that have not arrived, and, where it is configured, whether the books are right.

use std::time::Duration;

use notifications::store::deliveries;
use payment_callback::store::alerts;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::app::AppState;
use crate::metrics::NotArrived;

/// Between two counts of what waits: as often as Prometheus usually asks.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// Within this time of the start the first audit begins. Servers that are started together do not read all of the books at
/// once then.
pub const FIRST_AUDIT_WITHIN: Duration = Duration::from_secs(60);

/// How many differences are logged; all are counted.
const LISTED_MAX: usize = 10;

/// When the books are audited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AuditSettings {
    /// Between two audits; none, if not given.
    pub every: Option<Duration>,
    /// Within which time of the start the first begins, at a moment that is drawn.
    pub first_within: Duration,
    /// How long a record is kept at least.
    pub retention: Duration,
}

/// Looks until `stop`.
pub async fn run(state: AppState, settings: AuditSettings, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = count(&state) => {}
        () = audit_books(&state, settings) => {}
    }
}

async fn count(state: &AppState) {
    if !state.metrics.is_recorded() {
        return std::future::pending().await;
    }
    loop {
        if let Err(error) = count_once(state).await {
            tracing::debug!(%error, "cannot count what waits now");
        }
        sleep(COUNT_EVERY).await;
    }
}

async fn count_once(state: &AppState) -> sqlx::Result<()> {
    let pool = state.database.pool();
    let clients = client::store::all_client_ids(pool).await?;
    state.metrics.note_alerts(&alerts::open_by_kind(pool, &clients).await?);
    let set_aside = consumers::store::waiting_by_consumer(pool, &clients).await?;
    let webhooks = deliveries::waiting(pool, &clients).await?;
    state.metrics.note_not_arrived(&NotArrived { set_aside, webhooks });
    Ok(())
}

async fn audit_books(state: &AppState, settings: AuditSettings) {
    let AuditSettings { every: Some(every), first_within, retention } = settings else {
        return std::future::pending().await;
    };
    state.metrics.books().note_interval(every);
    sleep(rand::random_range(Duration::ZERO..=first_within.min(every))).await;
    loop {
        audit_once(state, retention).await;
        sleep(every).await;
    }
}

async fn audit_once(state: &AppState, retention: Duration) {
    let terms = audit::Settings { retention, listed_max: LISTED_MAX };
    match audit::audit(state.database.owner_options(), terms, &mut |_| ()).await {
        Ok(report) => {
            state.metrics.books().note_audit(report.differences(), report.taken_at);
            for difference in report.checks.iter().flat_map(|check| &check.listed) {
                tracing::error!(
                    client = %difference.client_id,
                    subject = difference.subject,
                    expected = difference.expected,
                    found = difference.found,
                    "the books differ: run `onefold verify`"
                );
            }
        }
        Err(error) => {
            state.metrics.books().note_failure();
            tracing::warn!(error = &error as &dyn std::error::Error, "the books could not be audited");
        }
    }
}
