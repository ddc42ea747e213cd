//! What waits on the way from the outbox to whoever is told.

use std::fmt;
use std::sync::Arc;

use ::consumers::lag::Outcome;
use ::consumers::{Consumer, Lag as ConsumerLag};
use desk::Clock;
use events::relay::Lag;
use notifications::store::deliveries::Waiting;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

/// What the relay knows of the outbox.
#[derive(Debug)]
pub(super) struct Outbox(pub(super) Arc<Lag>);

impl Collector for Outbox {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let gauges = [
            (
                "outbox_waiting",
                "Events that wait to be published, 10,000 of each client at most",
                self.0.waiting(),
            ),
            (
                "outbox_oldest_age_seconds",
                "Age of the oldest event that waits to be published",
                i64::try_from(self.0.oldest_age().as_secs()).unwrap_or(i64::MAX),
            ),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let published = ConstCounter::new(self.0.published());
        let help = "Events that this server's relay has published, repetitions included";
        published.encode(encoder.encode_descriptor(
            "events_published",
            help,
            None,
            published.metric_type(),
        )?)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ConsumerLabel {
    consumer: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct DeliveryLabels {
    consumer: &'static str,
    outcome: &'static str,
}

/// The consumers of this server.
#[derive(Clone)]
pub struct Consumers {
    /// What is known of each.
    pub lags: Vec<Arc<ConsumerLag>>,
    /// Tells how old an event is.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Consumers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Consumers").field("lags", &self.lags).finish_non_exhaustive()
    }
}

impl Consumers {
    /// Whether the broker does not answer one of them.
    pub fn broker_is_away(&self) -> bool {
        self.lags.iter().any(|lag| lag.broker_is_away())
    }

    fn gauge(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help): (&str, &str),
        value: impl Fn(&ConsumerLag) -> u64,
    ) -> fmt::Result {
        let mut gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for lag in &self.lags {
            let label = ConsumerLabel { consumer: lag.consumer().name() };
            ConstGauge::new(value(lag)).encode(gauge.encode_family(&label)?)?;
        }
        Ok(())
    }
}

impl Collector for Consumers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let waiting = ("consumer_waiting", "Published events that the consumer has not acknowledged");
        self.gauge(&mut encoder, waiting, ConsumerLag::waiting)?;
        let age = ("consumer_oldest_age_seconds", "Age of the oldest event that this server has in hand");
        self.gauge(&mut encoder, age, |lag| lag.oldest_age(self.clock.now()).as_secs())?;
        let help = "Deliveries of events to this server's consumers, repetitions included";
        let mut counter =
            encoder.encode_descriptor("consumer_deliveries", help, None, MetricType::Counter)?;
        for lag in &self.lags {
            for outcome in Outcome::ALL {
                let label = DeliveryLabels { consumer: lag.consumer().name(), outcome: outcome.word() };
                ConstCounter::new(lag.deliveries(outcome)).encode(counter.encode_family(&label)?)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct StatusLabel {
    status: &'static str,
}

/// What of events has not arrived, as the database has it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NotArrived {
    /// Events that are set aside, by the consumer's name: at each that is not named, none.
    pub set_aside: Vec<(String, i64)>,
    /// Webhooks.
    pub webhooks: Waiting,
}

/// What a person may have to see to.
#[derive(Default, Debug)]
pub(super) struct ToSeeTo {
    set_aside: Family<ConsumerLabel, Gauge>,
    webhooks: Family<StatusLabel, Gauge>,
}

impl ToSeeTo {
    pub(super) fn register(&self, registry: &mut Registry) {
        self.note(&NotArrived::default());
        registry.register(
            "events_set_aside",
            "Events that a consumer could not take, and that nobody has had it take since",
            self.set_aside.clone(),
        );
        registry.register(
            "webhook_deliveries",
            "Deliveries of events to clients' endpoints that have not arrived",
            self.webhooks.clone(),
        );
    }

    pub(super) fn note(&self, not_arrived: &NotArrived) {
        for consumer in Consumer::ALL.map(Consumer::name) {
            let found = not_arrived.set_aside.iter().find(|(name, _)| name == consumer);
            self.set_aside
                .get_or_create(&ConsumerLabel { consumer })
                .set(found.map_or(0, |(_, count)| *count));
        }
        for (status, count) in [("due", not_arrived.webhooks.due), ("dead", not_arrived.webhooks.dead)] {
            self.webhooks.get_or_create(&StatusLabel { status }).set(count);
        }
    }
}
