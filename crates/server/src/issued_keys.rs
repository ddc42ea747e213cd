//! Keys that the server makes: for whoever asks, and for some clients the only ones that are taken.

use std::collections::HashSet;

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use desk::LookedUp;
use idempotency::issued::{RANDOM_BYTES, Seals};
use idempotency::{Key, Name};
use sqlx::PgPool;

use crate::app::AppState;
use crate::look_up::look_up;
use crate::metrics::IssuedKey;
use crate::problem::{Problem, Slug};

/// For how many hours a key may be used for the first time, unless configured.
pub const VALID_HOURS: u32 = 24;

/// What keys are sealed with in the demo. Everybody knows it, so it is good on a loopback listener only.
pub const DEMO_SECRET: &[u8] = b"demo: everybody knows this secret, 1f8a0c";

/// What is configured about keys that the server makes.
#[derive(Clone, Debug)]
pub struct Issuing {
    /// What they are sealed with. Without, each process has a secret of its own, and knows no keys but its own.
    pub seals: Option<Seals>,
    /// How long one may wait for its first use.
    pub valid_for: TimeDelta,
    /// The clients that may use no other keys, by name.
    pub required_of: Vec<String>,
}

impl Default for Issuing {
    fn default() -> Self {
        Self { seals: None, valid_for: TimeDelta::hours(VALID_HOURS.into()), required_of: Vec::new() }
    }
}

/// Makes keys, and judges those that requests come with.
#[derive(Debug)]
pub struct Issuer {
    seals: Seals,
    valid_for: TimeDelta,
    required_of: HashSet<ClientId>,
}

/// What the server knows of a key by its look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It was made here for this client, and may be used for the first time.
    Issued,
    /// It was made here for this client, and its time for a first use is over.
    Expired,
    /// It was not made here, or not for this client.
    NotIssued,
}

impl Issuer {
    /// Finds the clients that must use issued keys.
    ///
    /// # Errors
    ///
    /// If one is not there: its owner would believe in a rule that nobody keeps. If there are some, and nothing that all
    /// servers seal with.
    pub async fn open(issuing: Issuing, demo_is_usable: bool, pool: &PgPool) -> anyhow::Result<Self> {
        let Issuing { seals, valid_for, required_of: names } = issuing;
        let shared = match seals {
            None if demo_is_usable => Some(Seals::new(DEMO_SECRET, None)?),
            seals => seals,
        };
        if shared.is_none() && !names.is_empty() {
            bail!(
                "idempotency.require_issued needs idempotency.issue_secrets (or issue_secret_files): keys must be known again after a restart and by other servers"
            );
        }
        let mut required_of = HashSet::new();
        for name in names {
            let found = client::store::find_client(pool, &name).await;
            match found.context("cannot look for the clients of idempotency.require_issued")? {
                Some(client) => required_of.insert(client),
                None => bail!("idempotency.require_issued: there is no client named {name}"),
            };
        }
        let seals = match shared {
            Some(seals) => seals,
            None => Seals::new(&rand::random::<[u8; 32]>(), None)?,
        };
        Ok(Self { seals, valid_for, required_of })
    }

    /// Makes a key for a client; answers until when it may be used for the first time.
    pub fn issue(&self, client: ClientId, now: DateTime<Utc>) -> (Key, DateTime<Utc>) {
        let key = self.seals.issue(client, now, rand::random::<[u8; RANDOM_BYTES]>());
        let issued_at = self.seals.issued_at(client, &key).unwrap_or(now);
        (key, issued_at + self.valid_for)
    }

    /// What is known of a client's key. A clock that is behind the one that made it counts as its first moment.
    pub fn standing(&self, client: ClientId, key: &Key, now: DateTime<Utc>) -> Standing {
        match self.seals.issued_at(client, key) {
            Some(issued_at) if now < issued_at + self.valid_for => Standing::Issued,
            Some(_) => Standing::Expired,
            None => Standing::NotIssued,
        }
    }

    /// Whether a client may use issued keys only.
    pub fn is_required_of(&self, client: ClientId) -> bool {
        self.required_of.contains(&client)
    }
}

/// Lets a request on, if its key may begin something: for clients that must use issued keys, one that was made here, for
/// them, and not too long ago. A key that has a record, or is running, begins nothing, and so it is never refused: what was
/// answered under it is answered again, however old it is.
///
/// # Errors
///
/// `idempotency-key-not-issued`, `idempotency-key-expired`; nothing is stored.
pub async fn admit_key(state: &AppState, name: &Name) -> Result<Standing, Problem> {
    // The server names what needs no key by itself.
    if name.key.is_of_service() {
        return Ok(Standing::NotIssued);
    }
    let standing = state.issuer.standing(name.client_id, &name.key, state.clock.now());
    if standing == Standing::Issued || !state.issuer.is_required_of(name.client_id) {
        return Ok(standing);
    }
    let known = look_up(state.database.pool(), || state.desk.look_up(name)).await?;
    if !matches!(known, LookedUp::Unknown) {
        return Ok(standing);
    }
    let (slug, detail, counted) = match standing {
        Standing::Expired => (
            Slug::IdempotencyKeyExpired,
            "the key was made too long ago, and nothing was done under it",
            IssuedKey::Expired,
        ),
        Standing::Issued | Standing::NotIssued => (
            Slug::IdempotencyKeyNotIssued,
            "this client must use keys that the server has made for it, and this is none",
            IssuedKey::NotIssued,
        ),
    };
    state.metrics.issued_key(counted);
    Err(Problem::new(slug, detail))
}
