//! What the desk counts.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::fault::Conflict;

/// What became of a request under its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, EncodeLabelValue)]
pub enum KeyOutcome {
    /// It ran and had its effect.
    Executed,
    /// It ran and a rule refused it.
    Refused,
    /// A success was replayed.
    Replayed,
    /// A refusal was replayed.
    FailedReplayed,
    /// It was running already.
    InProgress,
    /// The key was another request's.
    Reused,
    /// It could not be run: nothing is recorded.
    NotRun,
}

/// The label of [`Metrics::keys`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct KeyLabel {
    /// What became of it.
    pub outcome: KeyOutcome,
}

/// The label of [`Metrics::conflicts`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct ConflictLabel {
    /// The kind of conflict.
    pub kind: &'static str,
}

/// What the desk counts. Cheap to clone; all clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Requests by what became of their key.
    pub keys: Family<KeyLabel, Counter>,
    /// Attempts that met a conflict, by kind.
    pub conflicts: Family<ConflictLabel, Counter>,
    /// Batches given up as contended.
    pub contended: Counter,
    /// Commits of which the answer was lost.
    pub commits_unknown: Counter,
    /// Commands in a batch.
    pub batch_size: Histogram,
    /// Seconds from the beginning of a batch to its commit, retries included.
    pub batch_seconds: Histogram,
    /// Commands waiting in the queues.
    pub queued: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            keys: Family::default(),
            conflicts: Family::default(),
            contended: Counter::default(),
            commits_unknown: Counter::default(),
            batch_size: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
            batch_seconds: Histogram::new([
                0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
            ]),
            queued: Gauge::default(),
        }
    }
}

impl Metrics {
    /// Adds all of them to a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("idempotency", "Requests by what became of their key", self.keys.clone());
        registry.register("desk_conflicts", "Attempts that met a conflict, by kind", self.conflicts.clone());
        registry.register("desk_contended", "Batches given up as contended", self.contended.clone());
        registry.register(
            "desk_commits_unknown",
            "Commits of which the answer was lost",
            self.commits_unknown.clone(),
        );
        registry.register("desk_batch_size", "Commands in a batch", self.batch_size.clone());
        registry.register_with_unit(
            "desk_batch_duration",
            "Time from the beginning of a batch to its commit, retries included",
            Unit::Seconds,
            self.batch_seconds.clone(),
        );
        registry.register("desk_queued", "Commands waiting in the queues", self.queued.clone());
    }

    /// Counts what became of a request under its key.
    pub fn key(&self, outcome: KeyOutcome) {
        self.keys.get_or_create(&KeyLabel { outcome }).inc();
    }

    /// Counts a batch that a lane has taken out of its queue.
    pub fn batch_taken(&self, commands: usize) {
        self.queued.dec_by(i64::try_from(commands).unwrap_or(i64::MAX));
        self.batch_size.observe(f64::from(u32::try_from(commands).unwrap_or(u32::MAX)));
    }

    /// Counts how long a batch took.
    pub fn batch_ended(&self, took: Duration) {
        self.batch_seconds.observe(took.as_secs_f64());
    }

    /// Counts a conflict.
    pub fn conflict(&self, conflict: Conflict) {
        self.conflicts.get_or_create(&ConflictLabel { kind: conflict.as_str() }).inc();
    }
}
