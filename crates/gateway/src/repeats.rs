//! Stopping the bulk of repeats before they come to the database, with what several servers tell each other by Redis.
//!
//! Everything in it is a hint. An answer is given from Redis only with its [seal], to the same client for the same
//! request, and never past its record's `expires_at`; anything else that Redis says, or does not say, costs a request some
//! milliseconds at most, and then the desk decides. So nothing in Redis can be lost, old, forged or slow in a way that
//! does an effect twice, or refuses one. In reading order:
//!
//! - this file: the way of a request through the filter;
//! - [`names`]: a Bloom filter of the names that Redis may know something of;
//! - [`node`]: one Redis: looking something up, and noting something without waiting for it;
//! - [`announcements`]: how a server learns the names that others have noted;
//! - [`value`]: what stands in Redis;
//! - [`seal`]: answers that nobody else can have put there;
//! - [`circuit`]: leaving a Redis alone that does not answer;
//! - [`counted`]: what is counted.

pub mod announcements;
pub mod circuit;
pub mod counted;
pub mod names;
pub mod node;
pub mod seal;
pub mod value;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use idempotency::{Answer, Fingerprint, Name};
use tokio_util::sync::CancellationToken;

use self::counted::{Counted, Outcome};
use self::names::Names;
use self::node::{Node, Note};
use self::seal::Seal;
use self::value::{Lease, Place, ServerId, Value};

/// What is configured about the filter.
#[derive(Clone)]
pub struct Settings {
    /// Where each Redis is, as URLs: names are spread over them by their hashes.
    pub redis: Vec<String>,
    /// What answers are sealed with.
    pub seal: Seal,
    /// How long a request may be delayed by it, at most.
    pub wait_max: Duration,
    /// How long a finished answer stays in Redis.
    pub answers_kept: Duration,
    /// For how many names of that time the Bloom filter has room.
    pub names_max: usize,
}

impl fmt::Debug for Settings {
    /// Without the URLs, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { redis, wait_max, answers_kept, names_max, seal: _ } = self;
        f.debug_struct("Settings")
            .field("nodes", &redis.len())
            .field("wait_max", wait_max)
            .field("answers_kept", answers_kept)
            .field("names_max", names_max)
            .finish_non_exhaustive()
    }
}

/// The filter of one server. Its connections are made when they are first needed, and lost ones again by themselves.
#[derive(Debug)]
pub struct Repeats {
    nodes: Vec<Arc<Node>>,
    names: Arc<Names>,
    server: ServerId,
    seal: Seal,
    wait_max: Duration,
    answers_kept: Duration,
    counted: Counted,
}

/// What the filter says to a request.
#[derive(Debug)]
pub enum Asked {
    /// It was answered before, and its record is committed for ever.
    Answered {
        /// So.
        answer: Answer,
        /// When the record may be deleted, at the earliest.
        expires_at: DateTime<Utc>,
    },
    /// The desk shall decide. When it has, the [errand](Errand) is to be ended.
    Undecided(Errand),
}

/// A request on its way through the desk.
#[derive(Debug)]
pub struct Errand {
    place: Place,
    lease: Option<Lease>,
}

impl Repeats {
    /// A filter that works until it is told to stop.
    ///
    /// # Errors
    ///
    /// If one of the URLs is none that leads to a Redis; it is not repeated, since it may hold a password.
    pub fn open(
        settings: Settings,
        counted: Counted,
        stop: &CancellationToken,
    ) -> Result<Self, redis::RedisError> {
        let Settings { redis, seal, wait_max, answers_kept, names_max } = settings;
        let names = Arc::new(Names::new(names_max, answers_kept));
        let nodes = redis.iter().map(|url| Node::open(url, wait_max, &names, &counted, stop));
        let nodes = nodes.collect::<Result<_, _>>()?;
        Ok(Self { nodes, names, server: ServerId(rand::random()), seal, wait_max, answers_kept, counted })
    }

    /// Whether a request was answered before, as far as that can be said within [`Settings::wait_max`].
    pub async fn ask(&self, name: &Name, fingerprint: Fingerprint, now: DateTime<Utc>) -> Asked {
        let begun = Instant::now();
        let place = Place::of(name);
        let lease = Lease { server: self.server, number: rand::random() };
        let (outcome, asked) = match self.look(&place, lease, begun).await {
            Looked::Unasked(outcome) => {
                self.node(&place).note(Note::Lease { place: place.clone(), lease });
                (outcome, Asked::Undecided(Errand { place, lease: Some(lease) }))
            }
            Looked::Leased => {
                self.node(&place).note(Note::Announcement(place.clone()));
                (Outcome::NothingKnown, Asked::Undecided(Errand { place, lease: Some(lease) }))
            }
            Looked::Undecided(outcome) => (outcome, Asked::Undecided(Errand { place, lease: None })),
            Looked::Sealed(sealed) => match self.seal.open(name, fingerprint, &sealed, now) {
                Some((answer, expires_at)) => (Outcome::Answered, Asked::Answered { answer, expires_at }),
                None => (Outcome::Unsealed, Asked::Undecided(Errand { place, lease: None })),
            },
        };
        self.counted.asked(outcome, begun.elapsed());
        asked
    }

    async fn look(&self, place: &Place, lease: Lease, begun: Instant) -> Looked {
        let node = self.node(place);
        let may_be_known = self.names.note(place.hash);
        if !may_be_known && node.announces_everything(Instant::now()) {
            return Looked::Unasked(Outcome::SurelyNew);
        }
        if !node.may_be_asked(Instant::now()) {
            return Looked::Unasked(Outcome::Unavailable);
        }
        let deadline = begun + self.wait_max;
        let Some(mut found) = node.lease_or_look(place, lease, deadline).await else {
            return Looked::Undecided(Outcome::Unavailable);
        };
        loop {
            match found {
                // Its time was over between the two questions, or its request has ended without an answer.
                None => return Looked::Undecided(Outcome::NothingKnown),
                Some(Value::Lease(held)) if held == lease => return Looked::Leased,
                // The desk knows what runs in its own process, and tells at once.
                Some(Value::Lease(held)) if held.server == self.server => {
                    return Looked::Undecided(Outcome::RunsHere);
                }
                Some(Value::Lease(_)) => {}
                Some(Value::Sealed(sealed)) => return Looked::Sealed(sealed),
                Some(Value::Unknown) => return Looked::Undecided(Outcome::Unsealed),
            }
            let next = Instant::now() + LEASE_ASKED_EVERY;
            if next >= deadline {
                return Looked::Undecided(Outcome::LeaseHeld);
            }
            tokio::time::sleep_until(next.into()).await;
            match node.look(place, deadline).await {
                Some(again) => found = again,
                None => return Looked::Undecided(Outcome::LeaseHeld),
            }
        }
    }

    /// Tells the other servers what a request was answered: its record is committed, and never changes any more. It
    /// waits for nothing.
    pub fn finished(
        &self,
        errand: Errand,
        name: &Name,
        fingerprint: Fingerprint,
        answer: &Answer,
        expires_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let left = (expires_at - now).to_std().unwrap_or_default();
        let kept = self.answers_kept.min(left);
        let Some(sealed) = self.seal.seal(name, fingerprint, answer, expires_at) else {
            return self.given_up(errand);
        };
        if kept.is_zero() {
            return self.given_up(errand);
        }
        self.node(&errand.place).note(Note::Answer { place: errand.place.clone(), sealed, kept });
    }

    /// Tells the other servers that a request has ended without an answer for ever. It waits for nothing.
    pub fn given_up(&self, errand: Errand) {
        if let Some(lease) = errand.lease {
            self.node(&errand.place).note(Note::Release { place: errand.place.clone(), lease });
        }
    }

    fn node(&self, place: &Place) -> &Node {
        let count = self.nodes.len() as u64;
        let index = usize::try_from(place.hash % count).expect("less than the number of nodes");
        &self.nodes[index]
    }
}

/// How often it is asked whether another server's request has ended.
const LEASE_ASKED_EVERY: Duration = Duration::from_millis(2);

enum Looked {
    /// Redis was not asked; the lease is noted without waiting for it.
    Unasked(Outcome),
    /// Redis knew nothing, and has the lease.
    Leased,
    /// Redis said nothing that helps, and has not got the lease.
    Undecided(Outcome),
    /// What may be an answer.
    Sealed(Vec<u8>),
}
