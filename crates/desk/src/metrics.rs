//! What the desk counts.

use std::time::Duration;

use payment_callback::{Decision, DeliveryRecord, Effect, ProviderKind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::fault::Conflict;

/// What became of a request under its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    /// The request had none.
    Missing,
    /// The request had one that is no key.
    Malformed,
}

impl KeyOutcome {
    /// Every outcome, in the order of its numbers.
    pub const ALL: [Self; 9] = [
        Self::Executed,
        Self::Refused,
        Self::Replayed,
        Self::FailedReplayed,
        Self::InProgress,
        Self::Reused,
        Self::NotRun,
        Self::Missing,
        Self::Malformed,
    ];

    /// The word for it in the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Refused => "refused",
            Self::Replayed => "replayed",
            Self::FailedReplayed => "failed_replayed",
            Self::InProgress => "in_progress",
            Self::Reused => "reused",
            Self::NotRun => "not_run",
            Self::Missing => "missing",
            Self::Malformed => "malformed",
        }
    }
}

/// A part of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Beginning it, claiming the names and recalling their records.
    Claim,
    /// Reading what the commands depend on.
    Load,
    /// The rules.
    Decide,
    /// Writing what came of them.
    Save,
    /// The commit.
    Commit,
}

impl Phase {
    /// Every phase, in the order of its numbers.
    pub const ALL: [Self; 5] = [Self::Claim, Self::Load, Self::Decide, Self::Save, Self::Commit];

    /// The word for it in the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Load => "load",
            Self::Decide => "decide",
            Self::Save => "save",
            Self::Commit => "commit",
        }
    }
}

/// The label of [`Metrics::phase_seconds`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct PhaseLabel {
    /// The phase.
    pub phase: &'static str,
}

/// The label of [`Metrics::retries`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct DepthLabel {
    /// The how manieth retry of its batch it is.
    pub depth: &'static str,
}

/// From a statement in memory (0.1 ms) to PostgreSQL's limits on the lanes' connections (5 s).
const SECONDS: [f64; 14] =
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];

/// The label of [`Metrics::keys`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct KeyLabel {
    /// What became of it.
    pub outcome: &'static str,
}

/// The label of [`Metrics::conflicts`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct ConflictLabel {
    /// The kind of conflict.
    pub kind: &'static str,
}

/// The label of [`Metrics::deliveries`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub struct DeliveryLabel {
    /// Whose word it is.
    pub provider: &'static str,
    /// What it asked for, seen alone.
    pub decision: &'static str,
    /// What it did to the books.
    pub effect: &'static str,
}

impl DeliveryLabel {
    fn of(provider: ProviderKind, decision: Decision, effect: Effect) -> Self {
        Self { provider: provider.word(), decision: decision.word(), effect: effect.as_str() }
    }
}

/// What the desk counts. Cheap to clone; all clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    is_recorded: bool,
    /// Requests by what became of their key.
    pub keys: Family<KeyLabel, Counter>,
    /// Those of `keys` by number, so that a request takes no lock to be counted.
    keys_by_number: [Counter; KeyOutcome::ALL.len()],
    /// Seconds of a transaction's phases.
    pub phase_seconds: Family<PhaseLabel, Histogram, fn() -> Histogram>,
    /// Those of `phase_seconds` by number.
    phases_by_number: [Histogram; Phase::ALL.len()],
    /// Tries after the first, by how manieth of its batch each is.
    pub retries: Family<DepthLabel, Counter>,
    /// Seconds that the first command of a batch has waited in its queue; the others have waited for less.
    pub queue_wait_seconds: Histogram,
    /// When the last round of the sweeper began that has reached all that was due, in seconds since 1970.
    pub swept_at: Gauge,
    /// What providers told of, by what was decided about it.
    pub deliveries: Family<DeliveryLabel, Counter>,
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
        let keys = Family::default();
        let new_histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let phase_seconds = Family::new_with_constructor(new_histogram);
        let (conflicts, retries) = (Family::default(), Family::default());
        // From zero on, so that a rate is known from the first one on.
        for conflict in Conflict::ALL {
            drop(conflicts.get_or_create(&ConflictLabel { kind: conflict.as_str() }));
        }
        let deliveries = Family::default();
        for provider in ProviderKind::all() {
            let paid = DeliveryLabel::of(provider, Decision::ApplyPayment, Effect::Settled);
            drop(deliveries.get_or_create(&paid));
        }
        for tries in 1..=DEPTHS {
            drop(retries.get_or_create(&depth(tries)));
        }
        Self {
            is_recorded: true,
            keys_by_number: KeyOutcome::ALL
                .map(|outcome| keys.get_or_create_owned(&KeyLabel { outcome: outcome.as_str() })),
            keys,
            phases_by_number: Phase::ALL
                .map(|phase| phase_seconds.get_or_create_owned(&PhaseLabel { phase: phase.as_str() })),
            phase_seconds,
            retries,
            queue_wait_seconds: new_histogram(),
            swept_at: Gauge::default(),
            deliveries,
            conflicts,
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
    /// Counts nothing of what each request and each batch does: to measure what counting costs.
    pub fn unrecorded() -> Self {
        Self { is_recorded: false, ..Self::default() }
    }

    /// Whether it counts.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Adds all of them to a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("idempotency", "Requests by what became of their key", self.keys.clone());
        registry.register(
            "callback_decisions",
            "What providers told of, by what it asked for and what it did",
            self.deliveries.clone(),
        );
        registry.register("desk_conflicts", "Attempts that met a conflict, by kind", self.conflicts.clone());
        registry.register(
            "desk_retries",
            "Tries of a batch after its first, by how manieth each is",
            self.retries.clone(),
        );
        registry.register_with_unit(
            "desk_phase_duration",
            "Time of a transaction's phases",
            Unit::Seconds,
            self.phase_seconds.clone(),
        );
        registry.register_with_unit(
            "desk_queue_wait",
            "Time that the first command of a batch has waited in its queue",
            Unit::Seconds,
            self.queue_wait_seconds.clone(),
        );
        registry.register_with_unit(
            "sweeper_reached_all_timestamp",
            "When the last round began that has reached all that was due, since 1970",
            Unit::Seconds,
            self.swept_at.clone(),
        );
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
        if self.is_recorded {
            self.keys_by_number[outcome as usize].inc();
        }
    }

    /// Counts a command that a lane has in its queue.
    pub fn queued(&self) {
        if self.is_recorded {
            self.queued.inc();
        }
    }

    /// Counts a batch that a lane has taken out of its queue.
    pub fn batch_taken(&self, commands: usize, waited: Duration) {
        if !self.is_recorded {
            return;
        }
        self.queue_wait_seconds.observe(waited.as_secs_f64());
        self.queued.dec_by(i64::try_from(commands).unwrap_or(i64::MAX));
        self.batch_size.observe(f64::from(u32::try_from(commands).unwrap_or(u32::MAX)));
    }

    /// Counts what a provider told of, once it is committed.
    pub fn delivered(&self, delivery: &DeliveryRecord) {
        if self.is_recorded {
            let label = DeliveryLabel::of(delivery.provider, delivery.decision, delivery.effect);
            self.deliveries.get_or_create(&label).inc();
        }
    }

    /// Counts how long a batch took.
    pub fn batch_ended(&self, took: Duration) {
        if self.is_recorded {
            self.batch_seconds.observe(took.as_secs_f64());
        }
    }

    /// Counts how long a phase of a transaction took.
    pub fn phase_ended(&self, phase: Phase, took: Duration) {
        if self.is_recorded {
            self.phases_by_number[phase as usize].observe(took.as_secs_f64());
        }
    }

    /// Counts that a batch that was tried so often is tried once more.
    pub fn retried(&self, tries: u32) {
        self.retries.get_or_create(&depth(tries)).inc();
    }

    /// Counts a conflict.
    pub fn conflict(&self, conflict: Conflict) {
        self.conflicts.get_or_create(&ConflictLabel { kind: conflict.as_str() }).inc();
    }
}

/// How many labels there are for the depth of retries.
const DEPTHS: u32 = 5;

fn depth(tries: u32) -> DepthLabel {
    let depth = match tries {
        0 | 1 => "1",
        2 => "2",
        3 => "3",
        4 => "4",
        _ => "5_or_more",
    };
    DepthLabel { depth }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_and_phases_stand_at_their_numbers() {
        for (number, outcome) in KeyOutcome::ALL.into_iter().enumerate() {
            assert_eq!(number, outcome as usize);
        }
        for (number, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(number, phase as usize);
        }
    }

    #[test]
    fn however_deep_retries_go_their_labels_are_few() {
        let metrics = Metrics::default();
        (1..1_000).for_each(|tries| metrics.retried(tries));
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert_eq!(text.matches("desk_retries_total{").count(), 5, "{text}");
    }
}
