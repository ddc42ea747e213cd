//! What is told of each delivery: a line for people, or a line of JSON.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use crate::exchange::{Answer, Fault};
use crate::provider::Provider;

/// Characters of an answer's body that a line for people shows.
const BODY_SHOWN: usize = 60;

/// One attempt to deliver an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When it was sent.
    pub at: DateTime<Utc>,
    /// By whom.
    pub provider: Provider,
    /// The event's id, which every copy and every attempt carries.
    pub event_id: String,
    /// What the event is about.
    pub what: String,
    /// Which copy of it, from 1.
    pub copy: u32,
    /// Which attempt to deliver this copy, from 1.
    pub attempt: u32,
    /// What was done to it.
    pub sent: Sent,
    /// What was answered.
    pub answer: Result<Answer, Fault>,
    /// What follows from the answer.
    pub next: Next,
}

/// What was done to a delivery on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Nothing.
    Whole,
    /// Its body was changed.
    Tampered,
    /// Its signature was old.
    Stale,
    /// Its answer was lost.
    AnswerLost,
    /// The sender hung up on it.
    HungUp,
}

/// What the provider does about an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing more: it is acknowledged.
    Acknowledged,
    /// It tries again.
    Again {
        /// After this pause, by the provider's schedule.
        pause: Duration,
        /// Which takes as long as this here.
        here: Duration,
    },
    /// It has tried for the last time.
    GivenUp,
}

impl Sent {
    const fn name(self) -> &'static str {
        match self {
            Self::Whole => "ok",
            Self::Tampered => "tampered",
            Self::Stale => "stale",
            Self::AnswerLost => "answer-lost",
            Self::HungUp => "hung-up",
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}  {:9}  {}  {}, copy {} attempt {}  {}  ",
            self.at.format("%H:%M:%S%.3f"),
            self.provider,
            self.event_id,
            self.what,
            self.copy,
            self.attempt,
            self.sent.name(),
        )?;
        match &self.answer {
            Ok(answer) => {
                let body: String =
                    String::from_utf8_lossy(&answer.body).chars().take(BODY_SHOWN).collect::<String>();
                write!(formatter, "-> {} {:?}  ", answer.status, body)?;
            }
            Err(fault) => write!(formatter, "-> {fault}  ")?,
        }
        match self.next {
            Next::Acknowledged => formatter.write_str("acknowledged"),
            Next::Again { pause, here } => {
                write!(formatter, "not acknowledged: again in {} ({here:.1?} here)", Spoken(pause))
            }
            Next::GivenUp => formatter.write_str("not acknowledged: given up"),
        }
    }
}

/// A pause as a schedule names it: in its largest unit that is whole.
struct Spoken(Duration);

impl fmt::Display for Spoken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            s if s > 0 && s.is_multiple_of(3600) => write!(formatter, "{} h", s / 3600),
            s if s > 0 && s.is_multiple_of(60) => write!(formatter, "{} min", s / 60),
            s => write!(formatter, "{s} s"),
        }
    }
}

/// A line as one object of JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineObject {
    /// When it was sent: RFC 3339, UTC, milliseconds.
    pub at: String,
    /// The provider's name.
    pub provider: String,
    /// The event's id.
    pub event_id: String,
    /// What the event is about.
    pub event: String,
    /// Which copy of it, from 1.
    pub copy: u32,
    /// Which attempt to deliver this copy, from 1.
    pub attempt: u32,
    /// `ok`, `tampered`, `stale`, `answer-lost` or `hung-up`.
    pub sent: String,
    /// The answer's status; `null` without an answer.
    pub status: Option<u16>,
    /// The answer's body; `null` without an answer.
    pub body: Option<String>,
    /// What came instead of an answer.
    pub fault: Option<String>,
    /// Whether the provider takes it for acknowledged.
    pub acknowledged: bool,
    /// After how many seconds, by its schedule, it tries again; `null` when it does not.
    pub again_in_s: Option<u64>,
    /// The same for people.
    pub text: String,
}

impl From<&Line> for LineObject {
    fn from(line: &Line) -> Self {
        let answer = line.answer.as_ref();
        Self {
            at: line.at.to_rfc3339_opts(SecondsFormat::Millis, true),
            provider: line.provider.to_string(),
            event_id: line.event_id.clone(),
            event: line.what.clone(),
            copy: line.copy,
            attempt: line.attempt,
            sent: line.sent.name().to_owned(),
            status: answer.ok().map(|answer| answer.status),
            body: answer.ok().map(|answer| String::from_utf8_lossy(&answer.body).into_owned()),
            fault: answer.err().map(ToString::to_string),
            acknowledged: line.next == Next::Acknowledged,
            again_in_s: match line.next {
                Next::Again { pause, .. } => Some(pause.as_secs()),
                Next::Acknowledged | Next::GivenUp => None,
            },
            text: line.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(answer: Result<Answer, Fault>, next: Next) -> Line {
        Line {
            at: DateTime::from_timestamp(1_795_910_398, 0).unwrap(),
            provider: Provider::Alipay,
            event_id: "N-1".to_owned(),
            what: "payment succeeded".to_owned(),
            copy: 2,
            attempt: 1,
            sent: Sent::Whole,
            answer,
            next,
        }
    }

    #[test]
    fn a_line_says_what_was_answered_and_what_follows() {
        let answer = Answer { status: 200, body: b"success".to_vec() };
        assert_eq!(
            line(Ok(answer), Next::Acknowledged).to_string(),
            "23:59:58.000  alipay     N-1  payment succeeded, copy 2 attempt 1  ok  -> 200 \"success\"  acknowledged"
        );
        let again = Next::Again { pause: Duration::from_secs(240), here: Duration::from_millis(67) };
        assert!(
            line(Err(Fault::TimedOut), again)
                .to_string()
                .ends_with("-> no answer in time  not acknowledged: again in 4 min (67.0ms here)")
        );
    }

    #[test]
    fn an_object_has_the_answer_or_the_fault() {
        let unread = LineObject::from(&line(Err(Fault::Unread), Next::GivenUp));
        assert_eq!((unread.status, unread.fault.as_deref()), (None, Some("answer lost")));
        assert_eq!((unread.acknowledged, unread.again_in_s), (false, None));
        let written = serde_json::to_string(&unread).unwrap();
        assert_eq!(serde_json::from_str::<LineObject>(&written).unwrap(), unread);
    }
}
