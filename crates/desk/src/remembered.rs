//! Finished answers, remembered in this process.
//!
//! A record that is `completed` never changes, and neither does one that is `failed` where refusals are replayed. So an
//! answer that was read from the database once, or committed to it, can be given again without asking: nothing could
//! make it wrong, and nothing need be invalidated. It is given until the record's `expires_at`, after which the record
//! may be deleted at any moment and the database must be asked.
//!
//! Only an optimisation: bounded in bytes, empty after a start, and everything holds without it.

use chrono::{DateTime, Utc};
use idempotency::{Answer, FailedPolicy, Fingerprint, Name, Record, RecordStatus};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// What an entry costs beside its texts, in bytes: its place in the map and the headers of its allocations.
const OVERHEAD_BYTES: u64 = 320;

/// How many bytes an entry has, more or less: to guess how many there will be.
const ENTRY_BYTES: u64 = 1024;

/// The remembered answers.
#[derive(Debug)]
pub struct Remembered {
    answers: Option<Cache<Name, Finished, Bytes>>,
    failed: FailedPolicy,
}

#[derive(Clone, Debug)]
struct Finished {
    fingerprint: Fingerprint,
    answer: Answer,
    expires_at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<Name, Finished> for Bytes {
    fn weight(&self, name: &Name, finished: &Finished) -> u64 {
        let location = finished.answer.location.as_ref().map_or(0, String::len);
        let texts = name.key.as_str().len() + finished.answer.body.len() + location;
        OVERHEAD_BYTES + u64::try_from(texts).unwrap_or(u64::MAX / 2)
    }
}

/// What is remembered of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recollection {
    /// The same request was answered so, for ever.
    Replay {
        /// What it was answered.
        answer: Answer,
        /// When the record may be deleted, at the earliest.
        expires_at: DateTime<Utc>,
    },
    /// Another request used the name.
    Reused,
}

impl Remembered {
    /// Remembers answers of about so many bytes together; of none, if that is 0.
    pub fn new(bytes_max: u64, failed: FailedPolicy) -> Self {
        let entries = usize::try_from(bytes_max / ENTRY_BYTES).unwrap_or(usize::MAX);
        let answers = (bytes_max > 0).then(|| {
            // Whoever repeats a request does so soon. Without room of its own for what is new, the cache would give
            // up a new answer for an old one that was asked for twice. Each kind has half.
            let options = OptionsBuilder::new()
                .estimated_items_capacity(entries)
                .weight_capacity(bytes_max)
                .hot_allocation(0.5)
                .build()
                .expect("both capacities are given");
            Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default())
        });
        Self { answers, failed }
    }

    /// What is remembered of a name, if its record cannot have been deleted yet.
    pub fn recall(&self, name: &Name, fingerprint: Fingerprint, now: DateTime<Utc>) -> Option<Recollection> {
        let finished = self.answers.as_ref()?.get(name).filter(|finished| now < finished.expires_at)?;
        Some(if finished.fingerprint == fingerprint {
            Recollection::Replay { answer: finished.answer, expires_at: finished.expires_at }
        } else {
            Recollection::Reused
        })
    }

    /// Remembers a committed record, if it is one that never changes.
    pub fn note(&self, record: &Record) {
        let final_for_ever = match record.status {
            RecordStatus::Completed => true,
            RecordStatus::Failed => self.failed == FailedPolicy::Replay,
        };
        if final_for_ever {
            self.note_final(&record.name, record.fingerprint, &record.answer, record.expires_at);
        }
    }

    /// Remembers an answer of which somebody knows that it is committed, and never changes.
    pub fn note_final(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
        answer: &Answer,
        expires_at: DateTime<Utc>,
    ) {
        if let Some(answers) = &self.answers {
            answers.insert(name.clone(), Finished { fingerprint, answer: answer.clone(), expires_at });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use client::ClientId;
    use idempotency::Key;
    use idempotency::fingerprint::Meaning;
    use uuid::Uuid;

    use super::*;

    fn record(key: &str, status: RecordStatus) -> Record {
        let name = Name { client_id: ClientId(Uuid::nil()), key: Key::from_value(key).expect("a key") };
        let answer = Answer {
            status: 201,
            content_type: "application/json".into(),
            location: None,
            body: vec![b' '; 1000].into(),
        };
        let now = DateTime::UNIX_EPOCH;
        Record {
            name,
            operation: "test".to_owned(),
            fingerprint: Meaning::of("a").fingerprint(),
            status,
            attempts: 1,
            resource: None,
            answer,
            first_seen_at: now,
            completed_at: now,
            expires_at: now + Duration::from_secs(60),
        }
    }

    #[test]
    fn an_answer_is_given_again_until_its_record_may_be_deleted() {
        let remembered = Remembered::new(1 << 20, FailedPolicy::Replay);
        let record = record("k", RecordStatus::Completed);
        remembered.note(&record);
        let at = |seconds| DateTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(
            remembered.recall(&record.name, record.fingerprint, at(59)),
            Some(Recollection::Replay { answer: record.answer.clone(), expires_at: record.expires_at })
        );
        assert_eq!(remembered.recall(&record.name, record.fingerprint, at(60)), None);
    }

    #[test]
    fn another_request_learns_nothing_but_that_the_name_is_used() {
        let remembered = Remembered::new(1 << 20, FailedPolicy::Replay);
        let record = record("k", RecordStatus::Completed);
        remembered.note(&record);
        let other = Meaning::of("b").fingerprint();
        assert_eq!(remembered.recall(&record.name, other, DateTime::UNIX_EPOCH), Some(Recollection::Reused));
    }

    #[test]
    fn a_refusal_that_may_be_tried_again_is_not_remembered() {
        let refused = record("k", RecordStatus::Failed);
        for (policy, remembers) in [(FailedPolicy::Replay, true), (FailedPolicy::Retry, false)] {
            let remembered = Remembered::new(1 << 20, policy);
            remembered.note(&refused);
            let recalled = remembered.recall(&refused.name, refused.fingerprint, DateTime::UNIX_EPOCH);
            assert_eq!(recalled.is_some(), remembers, "{policy:?}");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let remembered = Remembered::new(100_000, FailedPolicy::Replay);
        for number in 0..1000 {
            remembered.note(&record(&format!("k{number}"), RecordStatus::Completed));
        }
        let answers = remembered.answers.as_ref().expect("it remembers");
        assert!(answers.weight() <= 100_000, "{} bytes are remembered", answers.weight());
        assert!(!answers.is_empty());
    }

    #[test]
    fn nothing_is_remembered_where_no_room_is_given() {
        let remembered = Remembered::new(0, FailedPolicy::Replay);
        let record = record("k", RecordStatus::Completed);
        remembered.note(&record);
        assert_eq!(remembered.recall(&record.name, record.fingerprint, DateTime::UNIX_EPOCH), None);
    }
}
