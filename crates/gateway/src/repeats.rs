//! Stopping the bulk of repeats before they come to the database, with what several servers tell each other by Redis.
//!
//! Everything in it is a hint. An answer is given from Redis only with its [seal], to the same client for the same
//! request, and never past its record's `expires_at`; anything else that Redis says, or does not say, costs a request some
//! milliseconds at most, and then the desk decides. So nothing in Redis can be lost, old, forged or slow in a way that
//! does an effect twice, or refuses one. In reading order:
//!
//! - this file: the way of a request through the filter;
//! - [`names`]: a Bloom filter of the names that Redis may know something of;
//! - [`nodes`]: which Redis a name is at: one of several, or one of a [`cluster`];
//! - [`node`]: one Redis: looking something up, and noting something without waiting for it;
//! - [`opening`]: how it is reached;
//! - [`announcements`]: how a server learns the names that others have noted;
//! - [`value`]: what stands in Redis;
//! - [`seal`]: answers that nobody else can have put there;
//! - [`circuit`]: leaving a Redis alone that does not answer;
//! - [`counted`]: what is counted.

pub mod announcements;
pub mod circuit;
pub mod cluster;
pub mod counted;
pub mod names;
pub mod node;
pub mod nodes;
pub mod opening;
pub mod seal;
pub mod value;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use idempotency::{Answer, Fingerprint, Name};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::counted::{Counted, Outcome};
use self::names::Names;
use self::node::{Node, Note};
use self::nodes::Nodes;
use self::opening::Opening;
use self::seal::Seal;
use self::value::{Lease, Place, ServerId, Value};

/// What is configured about the filter.
#[derive(Clone)]
pub struct Settings {
    /// Where each Redis is, as URLs: names are spread over them by their hashes. Of a cluster: some of its nodes.
    pub redis: Vec<String>,
    /// Whether they are nodes of a Redis Cluster, which says itself where a name is.
    pub is_cluster: bool,
    /// The certificates that a Redis over TLS may be vouched for by, in PEM; without, those that the system trusts.
    pub redis_ca: Option<Vec<u8>>,
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
        let Self { redis, is_cluster, wait_max, answers_kept, names_max, redis_ca: _, seal: _ } = self;
        f.debug_struct("Settings")
            .field("nodes", &redis.len())
            .field("is_cluster", is_cluster)
            .field("wait_max", wait_max)
            .field("answers_kept", answers_kept)
            .field("names_max", names_max)
            .finish_non_exhaustive()
    }
}

/// The filter of one server. Its connections are made when they are first needed, and lost ones again by themselves.
#[derive(Debug)]
pub struct Repeats {
    nodes: Nodes,
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
    /// The desk shall decide. When it has, the [errand](Errand) is to be [finished](Repeats::finished), or dropped.
    Undecided(Errand),
}

/// A request on its way through the desk. Dropped, as when its client hangs up, it gives its lease back: the other servers
/// are told that nobody here will tell them how it ends. It waits for nothing.
#[derive(Debug)]
pub struct Errand {
    place: Place,
    /// Where it is noted; nowhere, if the cluster is not known yet.
    node: Option<Arc<Node>>,
    lease: Option<Lease>,
}

impl Drop for Errand {
    fn drop(&mut self) {
        if let (Some(node), Some(lease)) = (&self.node, self.lease) {
            node.note(Note::Release { place: self.place.clone(), lease });
        }
    }
}

impl Repeats {
    /// A filter that works until it is told to stop.
    ///
    /// # Errors
    ///
    /// If one of the URLs is none that leads to a Redis, or the certificates are none; no URL is repeated, since it may hold
    /// a password.
    pub fn open(
        settings: Settings,
        counted: Counted,
        stop: &CancellationToken,
    ) -> Result<Self, redis::RedisError> {
        let Settings { redis, is_cluster, redis_ca, seal, wait_max, answers_kept, names_max } = settings;
        let names = Arc::new(Names::new(names_max, answers_kept));
        let opening = Opening {
            wait_max,
            names: Arc::clone(&names),
            counted: counted.clone(),
            moved: Arc::new(Notify::new()),
            stop: stop.clone(),
        };
        let clients = redis.iter().map(|url| opening::client(url, redis_ca.as_deref()));
        let nodes = Nodes::open(clients.collect::<Result<_, _>>()?, is_cluster, opening)?;
        Ok(Self { nodes, names, server: ServerId(rand::random()), seal, wait_max, answers_kept, counted })
    }

    /// Whether a Redis does not answer, as far as was seen in the last second or two.
    pub fn is_away(&self) -> bool {
        self.nodes.is_away()
    }

    /// Whether a request was answered before, as far as that can be said within [`Settings::wait_max`].
    pub async fn ask(&self, name: &Name, fingerprint: Fingerprint, now: DateTime<Utc>) -> Asked {
        let begun = Instant::now();
        let place = Place::of(name);
        let node = self.nodes.of(&place);
        let lease = Lease { server: self.server, number: rand::random() };
        // From here on, so that a lease which was asked for is given back whoever hangs up.
        let mut errand = Errand { place, node, lease: Some(lease) };
        let (outcome, asked) = match self.look(&errand, lease, begun).await {
            Looked::Unasked(outcome) => {
                errand.note(|place| Note::Lease { place, lease });
                (outcome, Asked::Undecided(errand))
            }
            Looked::Leased => {
                errand.note(Note::Announcement);
                (Outcome::NothingKnown, Asked::Undecided(errand))
            }
            Looked::Silent => (Outcome::Unavailable, Asked::Undecided(errand)),
            Looked::Undecided(outcome) => {
                errand.lease = None;
                (outcome, Asked::Undecided(errand))
            }
            Looked::Sealed(sealed) => {
                errand.lease = None;
                match self.seal.open(name, fingerprint, &sealed, now) {
                    Some((answer, expires_at)) => (Outcome::Answered, Asked::Answered { answer, expires_at }),
                    None => (Outcome::Unsealed, Asked::Undecided(errand)),
                }
            }
        };
        self.counted.asked(outcome, begun.elapsed());
        asked
    }

    async fn look(&self, errand: &Errand, lease: Lease, begun: Instant) -> Looked {
        let Errand { place, node, lease: _ } = errand;
        let may_be_known = self.names.note(place.hash);
        let Some(node) = node else { return Looked::Unasked(Outcome::Unavailable) };
        if !may_be_known && node.announces_everything(Instant::now()) {
            return Looked::Unasked(Outcome::SurelyNew);
        }
        if !node.may_be_asked(Instant::now()) {
            return Looked::Unasked(Outcome::Unavailable);
        }
        let deadline = begun + self.wait_max;
        let Some(mut found) = node.lease_or_look(place, lease, deadline).await else {
            return Looked::Silent;
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
        mut errand: Errand,
        name: &Name,
        fingerprint: Fingerprint,
        answer: &Answer,
        expires_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let left = (expires_at - now).to_std().unwrap_or_default();
        let kept = self.answers_kept.min(left);
        if kept.is_zero() {
            return;
        }
        if let Some(sealed) = self.seal.seal(name, fingerprint, answer, expires_at) {
            // The answer takes the lease's place.
            errand.lease = None;
            errand.note(|place| Note::Answer { place, sealed, kept });
        }
    }
}

impl Errand {
    fn note(&self, note: impl FnOnce(Place) -> Note) {
        if let Some(node) = &self.node {
            node.note(note(self.place.clone()));
        }
    }
}

/// How often it is asked whether another server's request has ended.
const LEASE_ASKED_EVERY: Duration = Duration::from_millis(2);

enum Looked {
    /// Redis was not asked; the lease is noted without waiting for it.
    Unasked(Outcome),
    /// Redis knew nothing, and has the lease.
    Leased,
    /// Redis did not answer in time; it may have the lease all the same.
    Silent,
    /// Redis said nothing that helps, and has not got the lease.
    Undecided(Outcome),
    /// What may be an answer.
    Sealed(Vec<u8>),
}
