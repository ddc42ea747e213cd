//! What this server's audits have found of the books.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// What is known of the books. As long as nothing is, nothing is told: 0 differences would be a finding.
#[derive(Default, Debug)]
pub struct Books {
    every: Mutex<Option<Duration>>,
    found: Mutex<Option<Found>>,
    done: AtomicU64,
    failed: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    differences: u64,
    taken_at: DateTime<Utc>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

impl Books {
    /// Notes that they are audited here, so often.
    pub fn note_interval(&self, every: Duration) {
        *self.every.lock().unwrap_or_else(PoisonError::into_inner) = Some(every);
    }

    /// Notes what an audit has found, of the books of a time.
    pub fn note_audit(&self, differences: u64, taken_at: DateTime<Utc>) {
        self.done.fetch_add(1, Ordering::Relaxed);
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(Found { differences, taken_at });
    }

    /// Notes that they could not be audited.
    pub fn note_failure(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Collector for Books {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let every = *self.every.lock().unwrap_or_else(PoisonError::into_inner);
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let gauges = [
            (
                "books_differ",
                "Differences that the last audit of the books has found",
                found.map(|found| i64::try_from(found.differences).unwrap_or(i64::MAX)),
            ),
            (
                "books_audited_timestamp_seconds",
                "Of when the books are that were audited last, since 1970",
                found.map(|found| found.taken_at.timestamp()),
            ),
            (
                "books_audit_interval_seconds",
                "Between two audits of the books by this server",
                every.map(|every| i64::try_from(every.as_secs()).unwrap_or(i64::MAX)),
            ),
        ];
        for (name, help, value) in gauges {
            let described = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            if let Some(value) = value {
                ConstGauge::new(value).encode(described)?;
            }
        }
        let help = "Audits of the books by this server: done, or failed without a finding";
        let mut audits = encoder.encode_descriptor("books_audits", help, None, MetricType::Counter)?;
        for (outcome, count) in [("done", &self.done), ("failed", &self.failed)] {
            let label = OutcomeLabel { outcome };
            ConstCounter::new(count.load(Ordering::Relaxed)).encode(audits.encode_family(&label)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    fn told(books: &Arc<Books>) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Arc::clone(books)));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn books_that_were_never_audited_are_not_said_to_be_right() {
        let books = Arc::new(Books::default());
        books.note_interval(Duration::from_secs(60));
        books.note_failure();
        let text = told(&books);
        assert!(!text.contains("books_differ") && !text.contains("books_audited"), "{text}");
        assert!(text.contains("books_audit_interval_seconds 60"), "{text}");
        assert!(text.contains("books_audits_total{outcome=\"failed\"} 1"), "{text}");
    }

    #[test]
    fn what_the_last_audit_found_stays_told() {
        let books = Arc::new(Books::default());
        books.note_audit(2, DateTime::UNIX_EPOCH);
        books.note_failure();
        let text = told(&books);
        assert!(
            text.contains("books_differ 2") && text.contains("books_audited_timestamp_seconds 0"),
            "{text}"
        );
    }
}
