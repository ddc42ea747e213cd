//! A known number of requests, each sent until it is answered, over connections that each send their next request when they
//! have the answer to the last.

use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::answer;
use crate::caller::{Asked, Caller, Trouble};
use crate::plan::Target;

/// How long one request is tried, under one key.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Where requests go.
#[derive(Clone, Copy, Debug)]
pub struct Volley<'a> {
    /// The server's address.
    pub address: SocketAddr,
    /// The server's name, for whoever reads of an error.
    pub target: &'a Target,
    /// Connections at the same time.
    pub connections: usize,
}

/// How one request was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The final status.
    pub status: u16,
    /// Which problem, if it was one: its slug.
    pub problem: Option<String>,
    /// What the answer tells of a thing that has an id.
    pub thing: Thing,
    /// When it was sent, counted from the first one's sending.
    pub sent: Duration,
    /// When it was answered finally, counted likewise.
    pub answered: Duration,
}

/// What the generator reads of a thing: what the answer does not have is empty.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(default)]
pub struct Thing {
    /// Its id.
    pub id: String,
    /// The state it is in.
    pub status: String,
}

impl Volley<'_> {
    /// Sends a number of requests, which `write` puts together; answers in their order. What a request waits for before a
    /// connection is free is no part of its time.
    ///
    /// # Errors
    ///
    /// When one of them has no final answer after a minute of trying.
    pub async fn send(
        &self,
        requests: usize,
        write: impl Fn(&mut String, usize),
    ) -> Result<Vec<Answered>, Error> {
        let next = Cell::new(0);
        let began = Instant::now();
        let connections = (0..self.connections.min(requests)).map(async |_| {
            let mut caller = Caller::new(self.address);
            let (mut request, mut answers) = (String::new(), Vec::new());
            while next.get() < requests {
                let index = next.replace(next.get() + 1);
                write(&mut request, index);
                answers.push((index, self.ask(&mut caller, &request, began).await?));
            }
            Ok::<_, Error>(answers)
        });
        let mut answers: Vec<(usize, Answered)> =
            try_join_all(connections).await?.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(index, _)| *index);
        Ok(answers.into_iter().map(|(_, answered)| answered).collect())
    }

    async fn ask(&self, caller: &mut Caller, request: &str, began: Instant) -> Result<Answered, Error> {
        let sent = began.elapsed();
        let mut last = String::new();
        let note = |trouble: Trouble<'_>| last = trouble.to_string();
        let Some(Asked { answer, .. }) = caller.ask(request, Instant::now() + ANSWER_WITHIN, note).await
        else {
            let what = "a request had no answer";
            return Err(Error::Unanswered { what, target: self.target.clone(), last });
        };
        let answered = began.elapsed();
        let body = caller.body(&answer);
        let problem = answer.is_problem.then(|| answer::problem(body)).flatten();
        Ok(Answered {
            status: answer.status,
            problem: problem.map(|problem| problem.slug.to_owned()),
            thing: serde_json::from_slice(body).unwrap_or_default(),
            sent,
            answered,
        })
    }
}

/// What was measured of some answers. Latencies are in microseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Timing {
    /// How many there were.
    pub answered: u64,
    /// A second, from the first one's sending to the last one's answer.
    pub per_second: u64,
    /// The mean latency.
    pub mean_us: u64,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// 99 in a hundred took no longer.
    pub p99_us: u64,
}

impl Timing {
    /// Of these answers; zeros, if there are none.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answered>) -> Self {
        let answers: Vec<&Answered> = answers.into_iter().collect();
        let first = answers.iter().map(|answered| answered.sent).min();
        let last = answers.iter().map(|answered| answered.answered).max();
        let (Some(first), Some(last)) = (first, last) else { return Self::default() };
        let mut latencies: Vec<u64> =
            answers.iter().map(|answered| microseconds(answered.answered - answered.sent)).collect();
        latencies.sort_unstable();
        let count = count(latencies.len());
        let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
        Self {
            answered: count,
            per_second: count * 1_000_000 / microseconds(last - first).max(1),
            mean_us: latencies.iter().sum::<u64>() / count,
            p50_us: at(50),
            p99_us: at(99),
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, per_second, mean_us, p50_us, p99_us } = self;
        write!(formatter, "{answered} at {per_second}/s")?;
        for (name, us) in [("mean", mean_us), ("p50", p50_us), ("p99", p99_us)] {
            write!(formatter, "  {name} {}.{:02} ms", us / 1000, us % 1000 / 10)?;
        }
        Ok(())
    }
}

/// A length as the reports count.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(sent_ms: u64, answered_ms: u64) -> Answered {
        let (sent, answered) = (Duration::from_millis(sent_ms), Duration::from_millis(answered_ms));
        Answered { status: 201, problem: None, thing: Thing::default(), sent, answered }
    }

    #[test]
    fn a_timing_begins_with_the_first_sending_and_ends_with_the_last_answer() {
        let timing = Timing::of(&[answered(1_000, 1_010), answered(1_005, 3_000), answered(1_001, 1_031)]);
        assert_eq!((timing.answered, timing.per_second), (3, 1));
        assert_eq!((timing.mean_us, timing.p50_us, timing.p99_us), (678_333, 30_000, 30_000));
        assert_eq!(timing.to_string(), "3 at 1/s  mean 678.33 ms  p50 30.00 ms  p99 30.00 ms");
    }

    #[test]
    fn no_answers_have_no_timing() {
        assert_eq!(Timing::of(&[]), Timing::default());
    }
}
