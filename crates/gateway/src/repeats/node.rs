//! One Redis: looking something up, and noting something without waiting for it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout_at;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::announcements::{self, CHANNEL, Listener};
use super::circuit::Circuit;
use super::cluster::Address;
use super::counted::{Counted, Noted};
use super::opening::Opening;
use super::seal::SEALED_BYTES_MAX;
use super::value::{Lease, Place, Value};

/// For how long a lease stands: longer than nearly every request runs. One that outlives its server costs each repeat
/// the delay that is allowed, and no more.
const LEASE_FOR: Duration = Duration::from_secs(2);

/// How much may wait to be noted. More is dropped, since what is only a hint must not fill the memory.
const NOTES_MAX: usize = 4_096;

/// How many notes go in one round trip.
pub(super) const NOTES_AT_ONCE: usize = 128;

/// How long Redis may take to take notes.
const NOTED_WITHIN: Duration = Duration::from_millis(500);

/// How long a connection may take to be made.
const CONNECTED_WITHIN: Duration = Duration::from_millis(500);

/// Takes a lease back from who holds it, and from nobody else.
const RELEASE: &str = "\
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0";

/// Something for the other servers to know.
#[derive(Debug)]
pub enum Note {
    /// A request runs here, if none does already.
    Lease {
        /// Under which name.
        place: Place,
        /// Whose.
        lease: Lease,
    },
    /// It has ended without an answer.
    Release {
        /// Under which name.
        place: Place,
        /// The lease that it had.
        lease: Lease,
    },
    /// It was answered.
    Answer {
        /// Under which name.
        place: Place,
        /// What.
        sealed: Vec<u8>,
        /// For how long that may be known.
        kept: Duration,
    },
    /// Redis knows something of the name.
    Announcement(Place),
}

/// One Redis. Its tasks end when it is dropped, or when they are told to stop.
pub struct Node {
    client: Client,
    connection: ConnectionManager,
    /// Opened by look-ups that fail.
    looking: Circuit,
    notes: mpsc::Sender<Note>,
    listener: Arc<Listener>,
    counted: Counted,
    moved: Arc<Notify>,
    _tasks: DropGuard,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("looking", &self.looking).finish_non_exhaustive()
    }
}

impl Node {
    /// A Redis, which need not be there yet.
    ///
    /// # Errors
    ///
    /// If it is at an address where none can be.
    pub(super) fn open(client: Client, opening: &Opening) -> RedisResult<Arc<Self>> {
        let Opening { wait_max, names, counted, moved, stop } = opening;
        let stop = stop.child_token();
        let manager = |response: Duration| {
            let settings = ConnectionManagerConfig::new()
                .set_connection_timeout(Some(CONNECTED_WITHIN))
                .set_response_timeout(Some(response))
                .set_number_of_retries(1);
            ConnectionManager::new_lazy_with_config(client.clone(), settings)
        };
        let listener = Arc::new(Listener::new(Arc::clone(names), counted.clone()));
        let (notes, to_write) = mpsc::channel(NOTES_MAX);
        let writer = Writer {
            connection: manager(NOTED_WITHIN)?,
            circuit: Circuit::default(),
            counted: counted.clone(),
            moved: Arc::clone(moved),
        };
        let node = Self {
            client: client.clone(),
            connection: manager(*wait_max)?,
            looking: Circuit::default(),
            notes,
            listener,
            counted: counted.clone(),
            moved: Arc::clone(moved),
            _tasks: stop.clone().drop_guard(),
        };
        tokio::spawn(announcements::listen(client, Arc::clone(&node.listener), stop.clone()));
        tokio::spawn(writer.run(to_write, stop));
        Ok(Arc::new(node))
    }

    /// What it is reached by.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Where it is.
    pub(super) fn address(&self) -> Address {
        let address = self.client.get_connection_info().addr().to_string();
        let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
        (host.to_owned(), port.parse().unwrap_or_default())
    }

    /// Whether it does not answer, as far as was seen in the last second or two.
    pub(super) fn is_away(&self) -> bool {
        !self.listener.is_listening()
    }

    /// Whether every name that this Redis knows something of was announced here, or will be in the next milliseconds.
    pub(super) fn announces_everything(&self, now: Instant) -> bool {
        self.listener.has_heard_everything(now)
    }

    /// Whether to ask it anything.
    pub(super) fn may_be_asked(&self, now: Instant) -> bool {
        self.looking.admits(now)
    }

    /// Takes a lease on a name, if nothing is known of it, and answers what is known then: the lease itself, for instance.
    /// `None` if Redis does not say in time; the lease may have been taken all the same.
    pub(super) async fn lease_or_look(
        &self,
        place: &Place,
        lease: Lease,
        deadline: Instant,
    ) -> Option<Option<Value>> {
        let mut question = redis::pipe();
        set_if_absent(&mut question, place, lease);
        question.add_command(value_of(place));
        let mut connection = self.connection.clone();
        let asking = async { question.query_async::<(Vec<u8>,)>(&mut connection).await };
        match timeout_at(deadline.into(), asking).await {
            Ok(answer) => Some(found(self.answered(answer)?.0)),
            Err(_) => {
                self.note_failure(None);
                None
            }
        }
    }

    /// What is known of a name now. `None` if Redis does not say in time, which is no failure of its own: it has been
    /// asked before within that time, and has answered.
    pub(super) async fn look(&self, place: &Place, deadline: Instant) -> Option<Option<Value>> {
        let question = value_of(place);
        let mut connection = self.connection.clone();
        let asking = async { question.query_async::<Vec<u8>>(&mut connection).await };
        let answer = timeout_at(deadline.into(), asking).await.ok()?;
        Some(found(self.answered(answer)?))
    }

    fn answered<T>(&self, answer: RedisResult<T>) -> Option<T> {
        match answer {
            Ok(answer) => {
                self.looking.note_success();
                Some(answer)
            }
            // It is well, and another one has the name.
            Err(error) if is_moved(&error) => {
                self.looking.note_success();
                self.moved.notify_one();
                None
            }
            Err(error) => {
                self.note_failure(Some(&error));
                None
            }
        }
    }

    fn note_failure(&self, error: Option<&RedisError>) {
        if self.looking.note_failure(Instant::now()) {
            warn("is not asked for a while: the desk decides alone", error);
        }
    }

    /// Sends something on its way, unless too much waits already.
    pub(super) fn note(&self, note: Note) {
        match self.notes.try_send(note) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => self.counted.noted(Noted::Dropped, 1),
        }
    }
}

/// Asks for no more than the largest answer: whoever writes to Redis must not fill this server's memory. What is longer is
/// cut, and its seal does not fit.
fn value_of(place: &Place) -> Cmd {
    let mut question = redis::cmd("GETRANGE");
    question.arg(&place.key).arg(0).arg(SEALED_BYTES_MAX - 1);
    question
}

/// Of what is not there, Redis gives no bytes.
fn found(bytes: Vec<u8>) -> Option<Value> {
    (!bytes.is_empty()).then(|| Value::read(bytes))
}

fn is_moved(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask))
}

fn set_if_absent(pipeline: &mut Pipeline, place: &Place, lease: Lease) {
    pipeline
        .cmd("SET")
        .arg(&place.key)
        .arg(lease.bytes())
        .arg("NX")
        .arg("PX")
        .arg(millis(LEASE_FOR))
        .ignore();
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// The error of a Redis names its address and never its password.
fn warn(what: &str, error: Option<&RedisError>) {
    match error {
        Some(error) => tracing::warn!(error = %error, "a Redis of the filter for repeats {what}"),
        None => tracing::warn!(error = "no answer in time", "a Redis of the filter for repeats {what}"),
    }
}

/// Writes notes down, many in a round trip.
struct Writer {
    connection: ConnectionManager,
    circuit: Circuit,
    counted: Counted,
    moved: Arc<Notify>,
}

impl Writer {
    async fn run(mut self, mut notes: mpsc::Receiver<Note>, stop: CancellationToken) {
        let mut batch = Vec::with_capacity(NOTES_AT_ONCE);
        loop {
            tokio::select! {
                received = notes.recv_many(&mut batch, NOTES_AT_ONCE) => if received == 0 { return },
                () = stop.cancelled() => return,
            }
            let noted = if self.circuit.admits(Instant::now()) {
                match pipeline_of(&batch).query_async::<()>(&mut self.connection).await {
                    Ok(()) => {
                        self.circuit.note_success();
                        Noted::Written
                    }
                    Err(error) if is_moved(&error) => {
                        self.circuit.note_success();
                        self.moved.notify_one();
                        Noted::Failed
                    }
                    Err(error) => {
                        if self.circuit.note_failure(Instant::now()) {
                            warn("is told nothing for a while", Some(&error));
                        }
                        Noted::Failed
                    }
                }
            } else {
                Noted::Dropped
            };
            self.counted.noted(noted, batch.len());
            batch.clear();
        }
    }
}

/// What is announced is announced behind what it tells of, so that whoever hears it finds it.
fn pipeline_of(notes: &[Note]) -> Pipeline {
    let mut pipeline = redis::pipe();
    let mut announced: Vec<u8> = Vec::with_capacity(notes.len() * size_of::<u64>());
    for note in notes {
        match note {
            Note::Lease { place, lease } => {
                set_if_absent(&mut pipeline, place, *lease);
                announced.extend(place.hash.to_be_bytes());
            }
            Note::Answer { place, sealed, kept } => {
                pipeline.cmd("SET").arg(&place.key).arg(sealed).arg("PX").arg(millis(*kept)).ignore();
                announced.extend(place.hash.to_be_bytes());
            }
            Note::Release { place, lease } => {
                pipeline.cmd("EVAL").arg(RELEASE).arg(1).arg(&place.key).arg(lease.bytes()).ignore();
            }
            Note::Announcement(place) => announced.extend(place.hash.to_be_bytes()),
        }
    }
    if !announced.is_empty() {
        pipeline.cmd("PUBLISH").arg(CHANNEL).arg(announced).ignore();
    }
    pipeline
}
