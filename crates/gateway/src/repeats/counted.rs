//! What the filter counts.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// What came of asking the filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A sealed answer was given.
    Answered,
    /// The Bloom filter knows that no server has noted the name: Redis was not asked.
    SurelyNew,
    /// Redis knew nothing that helps.
    NothingKnown,
    /// This server itself runs a request under the name.
    RunsHere,
    /// Another server ran the request for as long as may be waited.
    LeaseHeld,
    /// What stood there has no seal for this request: forged, damaged, another request's, or another version's.
    Unsealed,
    /// Redis did not answer in time, or is left alone since it has not.
    Unavailable,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Answered,
        Self::SurelyNew,
        Self::NothingKnown,
        Self::RunsHere,
        Self::LeaseHeld,
        Self::Unsealed,
        Self::Unavailable,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::SurelyNew => "surely_new",
            Self::NothingKnown => "nothing_known",
            Self::RunsHere => "runs_here",
            Self::LeaseHeld => "lease_held",
            Self::Unsealed => "unsealed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What became of something that was to be noted in Redis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    /// Redis has it.
    Written,
    /// Nobody knows whether Redis has it.
    Failed,
    /// It was not sent: too much waits to be, or Redis is left alone.
    Dropped,
}

impl Noted {
    const ALL: [Self; 3] = [Self::Written, Self::Failed, Self::Dropped];

    fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// What became of a message in which a server tells of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Announced {
    /// The names are known.
    Heard,
    /// No server can have published it: it is longer than any, or no list of hashes.
    Dropped,
}

impl Announced {
    const ALL: [Self; 2] = [Self::Heard, Self::Dropped];

    fn label(self) -> OutcomeLabel {
        let outcome = match self {
            Self::Heard => "heard",
            Self::Dropped => "dropped",
        };
        OutcomeLabel { outcome }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// From the Bloom filter alone (10 µs) to the largest delay that can be configured (1 s).
const SECONDS: [f64; 12] =
    [0.000_01, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.1, 1.0];

/// The counters. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Counted {
    is_recorded: bool,
    asked: Family<OutcomeLabel, Counter>,
    seconds: Histogram,
    noted: Family<OutcomeLabel, Counter>,
    announced: Family<OutcomeLabel, Counter>,
}

impl Default for Counted {
    fn default() -> Self {
        let (asked, noted, announced) = (Family::default(), Family::default(), Family::default());
        // From zero on, so that a rate is known from the first one on.
        for outcome in Outcome::ALL {
            drop(asked.get_or_create(&OutcomeLabel { outcome: outcome.word() }));
        }
        for outcome in Noted::ALL {
            drop(noted.get_or_create(&OutcomeLabel { outcome: outcome.word() }));
        }
        for outcome in Announced::ALL {
            drop(announced.get_or_create(&outcome.label()));
        }
        Self { is_recorded: true, asked, seconds: Histogram::new(SECONDS), noted, announced }
    }
}

impl Counted {
    /// Counts, or not: to measure what counting costs.
    #[must_use]
    pub fn recorded(self, is_recorded: bool) -> Self {
        Self { is_recorded, ..self }
    }

    /// Makes them known.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "repeat_filter_asked",
            "Requests that the filter for repeats was asked about, by what came of it",
            self.asked.clone(),
        );
        registry.register_with_unit(
            "repeat_filter_delay",
            "Time for which the filter for repeats has delayed requests",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            "repeat_filter_notes",
            "Leases and answers for other servers, by whether Redis has them",
            self.noted.clone(),
        );
        registry.register(
            "repeat_filter_announcements",
            "Messages in which servers tell of names, by whether they are heard",
            self.announced.clone(),
        );
    }

    /// Counts a request.
    pub fn asked(&self, outcome: Outcome, delay: Duration) {
        if !self.is_recorded {
            return;
        }
        self.asked.get_or_create(&OutcomeLabel { outcome: outcome.word() }).inc();
        self.seconds.observe(delay.as_secs_f64());
    }

    /// Counts what was to be noted.
    pub fn noted(&self, noted: Noted, count: usize) {
        if self.is_recorded {
            self.noted.get_or_create(&OutcomeLabel { outcome: noted.word() }).inc_by(count as u64);
        }
    }

    /// Counts a message in which a server tells of names.
    pub fn announced(&self, announced: Announced) {
        if self.is_recorded {
            self.announced.get_or_create(&announced.label()).inc();
        }
    }

    /// How many of these there were.
    pub fn announcements(&self, announced: Announced) -> u64 {
        self.announced.get_or_create(&announced.label()).get()
    }
}
