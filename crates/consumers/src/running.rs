//! From a subscription to the acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use events::{Broker, Delivery, Message, Subscription};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::lag::Lag;
use crate::set_aside::Reason;
use crate::taking::{Came, Consumer, Consuming};

/// How many events of a consumer are at the door at once, in this process. So many fill a batch, and no more are in memory.
const AT_ONCE_MAX: usize = 128;

/// The pause before a subscription is tried again that has failed.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Has a consumer take events until `stop`. A broker that is away is asked again for as long as it takes.
///
/// An event is acknowledged after the commit of its effect, and not at all if this process dies before: then it is
/// delivered again, and answered from its record.
pub async fn run(consuming: Consuming, lag: Arc<Lag>, broker: Arc<dyn Broker>, stop: CancellationToken) {
    let consumer = lag.consumer();
    let places = Arc::new(Semaphore::new(AT_ONCE_MAX));
    let mut told = false;
    loop {
        match broker.subscribe(consumer.name()).await {
            Ok(subscription) => {
                told = false;
                lag.subscribed(true);
                if let Err(error) = consume(&consuming, &lag, subscription, &places, &stop).await {
                    lag.subscribed(false);
                    tracing::warn!(consumer = consumer.name(), %error, "the subscription has ended; it is made anew");
                }
            }
            Err(error) => {
                lag.subscribed(false);
                // Once, for it will fail alike in a second.
                if !told {
                    told = true;
                    tracing::warn!(consumer = consumer.name(), %error, "cannot subscribe to events, which is tried on");
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = sleep(AGAIN_AFTER) => {}
        }
    }
    // What is at the door ends by itself; whoever waits for it here gives it the time to acknowledge.
    let all = u32::try_from(AT_ONCE_MAX).expect("a small number");
    drop(places.acquire_many(all).await);
}

async fn consume(
    consuming: &Consuming,
    lag: &Arc<Lag>,
    mut subscription: Box<dyn Subscription>,
    places: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Result<(), events::BrokerFault> {
    loop {
        let place = places.clone().acquire_owned().await.expect("nobody closes it");
        let delivery = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            delivery = subscription.next() => delivery?,
        };
        let (consuming, lag) = (consuming.clone(), lag.clone());
        tokio::spawn(async move {
            take(&consuming, &lag, delivery).await;
            drop(place);
        });
    }
}

async fn take(consuming: &Consuming, lag: &Lag, delivery: Delivery) {
    let (consumer, event) = (lag.consumer(), delivery.message.id);
    lag.delivered(event, consuming.clock.now());
    let came = consuming.take(consumer, &delivery.message, delivery.attempt).await;
    let came = match came {
        Came::Never(reason, detail) => {
            set_aside(consuming, consumer, &delivery.message, reason, detail).await
        }
        came => came,
    };
    let acknowledged = match came {
        Came::Later(pause) => delivery.retry_after(pause).await,
        Came::Taken | Came::Never(..) => delivery.ack().await,
    };
    lag.came(event, &came, consuming.clock.now());
    if let Err(error) = acknowledged {
        // It is delivered again, and answered from its record.
        tracing::debug!(consumer = consumer.name(), %error, "an event could not be acknowledged");
    }
}

async fn set_aside(
    consuming: &Consuming,
    consumer: Consumer,
    message: &Message,
    reason: Reason,
    detail: String,
) -> Came {
    match consuming.set_aside(consumer, message, (reason, detail.clone())).await {
        Ok(()) => Came::Never(reason, detail),
        Err(error) => {
            tracing::debug!(%error, "an event cannot be set aside now");
            Came::Later(AGAIN_AFTER)
        }
    }
}
