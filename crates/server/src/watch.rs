//! What is looked up for the metrics at intervals, so that `/metrics` asks the database nothing: payment alerts that wait
//! for a decision, and, where it is configured, whether the books are right.

use std::time::Duration;

use payment_callback::store::alerts;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::app::AppState;

/// Between two counts of open alerts: as often as Prometheus usually asks.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// How many differences are logged; all are counted.
const LISTED_MAX: usize = 10;

/// When the books are audited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AuditSettings {
    /// Between two audits, the first of which is so long after the start; never, if not given.
    pub every: Option<Duration>,
    /// How long a record is kept at least.
    pub retention: Duration,
}

/// Looks until `stop`.
pub async fn run(state: AppState, settings: AuditSettings, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = count_alerts(&state) => {}
        () = audit_books(&state, settings) => {}
    }
}

async fn count_alerts(state: &AppState) {
    loop {
        let pool = state.database.pool();
        let counted = async { alerts::open_by_kind(pool, &client::store::all_client_ids(pool).await?).await };
        match counted.await {
            Ok(open) => state.metrics.note_alerts(&open),
            Err(error) => tracing::debug!(%error, "cannot count the open alerts now"),
        }
        sleep(COUNT_EVERY).await;
    }
}

async fn audit_books(state: &AppState, settings: AuditSettings) {
    let AuditSettings { every: Some(every), retention } = settings else {
        return std::future::pending().await;
    };
    loop {
        sleep(every).await;
        let terms = audit::Settings { retention, listed_max: LISTED_MAX };
        match audit::audit(state.database.owner_options(), terms, &mut |_| ()).await {
            Ok(report) => {
                state.metrics.note_audit(report.differences(), report.taken_at);
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
                tracing::warn!(error = &error as &dyn std::error::Error, "the books could not be audited");
            }
        }
    }
}
