//! A broker that takes its time for each event.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use chrono::TimeDelta;
use desk::{Clock, SystemClock};
use events::relay::{Lag, Relay};
use events::{Broker, BrokerFault, Message, Subscription};
use futures::future::join_all;
use onefold_tests::desks::{account_with, order};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::reader::{LONG, database, desk, written};

/// How long it takes for one event.
const EACH: Duration = Duration::from_millis(20);

/// Takes events one after the other, each after a while. Nobody listens to it.
#[derive(Default)]
struct Slow(Mutex<Vec<Uuid>>);

impl Slow {
    fn taken(&self) -> Vec<Uuid> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Broker for Slow {
    async fn publish(&self, messages: &[Message]) -> Result<(), BrokerFault> {
        for message in messages {
            sleep(EACH).await;
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.id.0);
        }
        Ok(())
    }

    async fn subscribe(&self, _consumer: &str) -> Result<Box<dyn Subscription>, BrokerFault> {
        Err(BrokerFault::new("slow", "nobody listens to it"))
    }

    async fn waiting(&self, _consumer: &str) -> Result<u64, BrokerFault> {
        Ok(0)
    }
}

#[tokio::test]
async fn a_broker_that_has_no_time_for_a_whole_batch_is_given_smaller_ones() -> anyhow::Result<()> {
    let database = database().await?;
    let desk = desk(&database);
    let account = account_with(&desk, "1000.00").await?;
    join_all((0..100).map(|n| desk.submit(order(&format!("o-{n}"), account, "1.00"), None))).await;
    let all: HashSet<Uuid> = written(&database).await?.into_iter().collect();
    let (broker, lag) = (Arc::new(Slow::default()), Arc::new(Lag::default()));
    let relay = Relay {
        database: database.service_options().clone(),
        broker: broker.clone(),
        committed: desk.events_committed(),
        lag: lag.clone(),
        retention: TimeDelta::days(7),
        now: Arc::new(|| SystemClock.now()),
        // Enough for ten events, and a hundred are waiting.
        accepted_within: EACH * 10,
    };
    let stop = CancellationToken::new();
    let relaying = tokio::spawn(relay.run(stop.clone()));
    let every_one = async {
        while !all.iter().all(|id| broker.taken().contains(id)) {
            sleep(EACH).await;
        }
    };
    timeout(LONG, every_one).await.with_context(|| format!("{} of {}", broker.taken().len(), all.len()))?;
    assert!(!lag.broker_is_away(), "it is slow, and there");
    stop.cancel();
    relaying.await?;
    Ok(())
}
