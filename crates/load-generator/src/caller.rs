//! A client that keeps asking, under the same key, until it has an answer that is final.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::answer::{self, Answer};
use crate::connection::{Connection, Fault};

/// The slug that says that the first request under the key is still running.
const IN_PROGRESS: &str = "idempotency-in-progress";

/// The first pause after a fault of the connection; each further one is twice as long, up to [`PAUSE_MAX`].
const FAULT_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause. A server that asks for more has to be asked in vain: a run is short.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// One connection's client.
#[derive(Debug)]
pub struct Caller {
    connection: Connection,
}

/// Something other than success: counted, whatever is done about it.
#[derive(Clone, Copy, Debug)]
pub enum Trouble<'a> {
    /// A problem, by its slug.
    Problem(&'a str),
    /// An answer that is neither a success nor a problem, by its status.
    Status(u16),
    /// No answer.
    Fault(Fault),
}

impl fmt::Display for Trouble<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(slug) => formatter.write_str(slug),
            Self::Status(status) => write!(formatter, "status {status}"),
            Self::Fault(fault) => fault.fmt(formatter),
        }
    }
}

/// What one sending came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// A final answer: asking again would give the same.
    Final(Answer),
    /// To be asked again under the same key.
    Again {
        /// What the server asks for, if it asks for a pause.
        pause: Option<Duration>,
        /// Whether it was because the first request under the key is still running.
        in_progress: bool,
    },
}

/// What asking until there is a final answer came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The final answer.
    pub answer: Answer,
    /// How often the request was sent for it.
    pub sendings: u32,
}

impl Caller {
    /// A client with a connection of its own.
    pub fn new(address: SocketAddr) -> Self {
        Self { connection: Connection::new(address) }
    }

    /// Sends a request once.
    pub async fn send(&mut self, request: &str, note: &mut impl FnMut(Trouble<'_>)) -> Sent {
        let answer = match self.connection.exchange(request.as_bytes()).await {
            Ok(answer) => answer,
            Err(fault) => {
                note(Trouble::Fault(fault));
                return Sent::Again { pause: None, in_progress: false };
            }
        };
        if (200..300).contains(&answer.status) {
            return Sent::Final(answer);
        }
        let problem = answer.is_problem.then(|| answer::problem(self.connection.body(&answer))).flatten();
        let (again, in_progress) = match problem {
            Some(problem) => {
                note(Trouble::Problem(problem.slug));
                (problem.retryable, problem.slug == IN_PROGRESS)
            }
            None => {
                // Something between here and the server: what it says of the request is that it may not have arrived.
                note(Trouble::Status(answer.status));
                (matches!(answer.status, 429 | 502 | 503 | 504), false)
            }
        };
        if again {
            let pause =
                answer.retry_after_s.map(|seconds| Duration::from_secs(seconds.into()).min(PAUSE_MAX));
            Sent::Again { pause, in_progress }
        } else {
            Sent::Final(answer)
        }
    }

    /// Sends a request until it has a final answer, or `None` when there was none by `give_up_at`.
    pub async fn ask(
        &mut self,
        request: &str,
        give_up_at: Instant,
        mut note: impl FnMut(Trouble<'_>),
    ) -> Option<Asked> {
        let mut fault_pause = FAULT_PAUSE;
        for sendings in 1.. {
            let pause = match self.send(request, &mut note).await {
                Sent::Final(answer) => return Some(Asked { answer, sendings }),
                Sent::Again { pause: Some(pause), .. } => pause,
                Sent::Again { pause: None, .. } => {
                    let pause = fault_pause;
                    fault_pause = (fault_pause * 2).min(PAUSE_MAX);
                    pause
                }
            };
            if Instant::now() + pause >= give_up_at {
                return None;
            }
            sleep(pause).await;
        }
        None
    }

    /// The body of the last answer, which must be that of this caller.
    pub fn body(&self, answer: &Answer) -> &[u8] {
        self.connection.body(answer)
    }
}
