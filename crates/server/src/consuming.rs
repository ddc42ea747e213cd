//! What this server does with events: its consumers, and the deliverer of webhooks.
//!
//! The consumers go through a desk of their own, with a single lane. To the desk of the requests it is like another server's:
//! an order waits in no queue behind what is counted of the orders before it, and the day's totals, which every event of a
//! client changes, meet in one lane.

use std::sync::Arc;

use ::desk::schema::Database;
use ::desk::{Clock, Desk, Hooks, Metrics, Settings};
use consumers::{Consuming, Endpoints, Failures, Lag, Rebuilds, lag, running};
use events::Broker;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::render::render;
use crate::webhooks::WebhookSettings;
use crate::webhooks::delivering::Delivering;

/// Consumers and deliverer at work.
#[expect(missing_debug_implementations, reason = "tasks have nothing to show")]
pub struct EventWork {
    desk: Option<Desk>,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl EventWork {
    /// Starts the consumers with these lags, which take the broker's events, and the deliverer.
    pub fn start(
        database: &Database,
        settings: Settings,
        clock: &Arc<dyn Clock>,
        (lags, broker): (&[Arc<Lag>], &Arc<dyn Broker>),
        webhooks: WebhookSettings,
    ) -> Self {
        let (mut tasks, stop) = (JoinSet::new(), CancellationToken::new());
        let retention = settings.retention;
        let desk = (!lags.is_empty()).then(|| open_desk(database, settings, clock.clone()));
        if let Some(desk) = &desk {
            let consuming = Consuming {
                desk: desk.clone(),
                pool: database.pool().clone(),
                clock: clock.clone(),
                retention,
                endpoints: Endpoints::default(),
                rebuilds: Rebuilds::default(),
                failures: Failures::default(),
            };
            for lag in lags {
                tasks.spawn(running::run(consuming.clone(), lag.clone(), broker.clone(), stop.clone()));
                tasks.spawn(lag::count(lag.clone(), broker.clone(), stop.clone()));
            }
        }
        if webhooks.deliver {
            let delivering = Delivering::new(database.pool().clone(), clock.clone(), webhooks);
            tasks.spawn(delivering.run(stop.clone()));
        }
        Self { desk, tasks, stop }
    }

    /// Takes no more events, and commits and acknowledges what is taken. What this does not get to is delivered again.
    pub async fn finish(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        if let Some(desk) = &self.desk {
            desk.drain().await;
        }
    }
}

/// A desk of the consumers' own: to that of the requests it is like another server's. Answers are not remembered: a repeated
/// event is rare, and answered from its record.
pub(crate) fn open_desk(database: &Database, settings: Settings, clock: Arc<dyn Clock>) -> Desk {
    let settings = Settings { lanes: 1, remembered_bytes: 0, ..settings };
    Desk::open(database.clone(), settings, clock, Arc::new(render), Hooks::default(), Metrics::default())
}
