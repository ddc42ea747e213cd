//! What is remembered under a key, and what it says to a request that comes under the same key.

use std::borrow::Cow;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use client::ClientId;

use crate::{Fingerprint, Key};

/// The full name of an operation: a key belongs to the client that sent it, so the client is part of the name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name {
    /// Whose key it is.
    pub client_id: ClientId,
    /// The key.
    pub key: Key,
}

/// An answer as it went to the client, and as it is replayed: byte for byte.
///
/// It holds no secret: no operation that is recorded answers with one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: Cow<'static, str>,
    /// The `Location`, where the answer has one.
    pub location: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// How the operation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordStatus {
    /// It had its effect. A record never leaves this status.
    Completed,
    /// A business rule refused it.
    Failed,
}

impl RecordStatus {
    /// The word for it in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// The status of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// What is remembered of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The name it was asked under.
    pub name: Name,
    /// What was asked for: method and path template, such as `POST /v1/orders`.
    pub operation: String,
    /// The hash of what exactly was asked.
    pub fingerprint: Fingerprint,
    /// How it ended.
    pub status: RecordStatus,
    /// How often it was run: 1, unless refusals are retried ([`FailedPolicy::Retry`]).
    pub attempts: i32,
    /// The path of what it made or changed, such as `/v1/orders/0190…`; none for a refusal.
    pub resource: Option<String>,
    /// What was answered.
    pub answer: Answer,
    /// When the first request under this name was taken.
    pub first_seen_at: DateTime<Utc>,
    /// When the answer was decided.
    pub completed_at: DateTime<Utc>,
    /// The earliest time at which the record may be deleted.
    pub expires_at: DateTime<Utc>,
}

/// What a record of a refusal does to the same request when it comes again: the setting `idempotency.failed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FailedPolicy {
    /// The refusal is replayed like a success.
    #[default]
    Replay,
    /// The request runs again, and the record counts the attempt.
    Retry,
}

/// What a record says to a request under its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Another request used the key: nothing of that one is told.
    Reused,
    /// The same request has been answered: give that answer.
    Replay,
    /// The same request was refused, and refusals are to be tried again.
    RunAgain,
}

impl Record {
    /// Judges a request under this record's key. The fingerprint is compared before anything else is said.
    pub fn judge(&self, fingerprint: Fingerprint, policy: FailedPolicy) -> Verdict {
        if self.fingerprint != fingerprint {
            return Verdict::Reused;
        }
        match (self.status, policy) {
            (RecordStatus::Completed, _) | (RecordStatus::Failed, FailedPolicy::Replay) => Verdict::Replay,
            (RecordStatus::Failed, FailedPolicy::Retry) => Verdict::RunAgain,
        }
    }
}
