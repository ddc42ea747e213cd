//! Whose an API key is.

use std::future::Future;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::store::KeyHolder;
use client::{ApiKey, ApiKeyHash};
use futures::FutureExt;
use moka::future::Cache;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::allowance::{Exceeded, Share};
use crate::buckets::Buckets;

/// How many keys are remembered, good and bad ones together: whoever guesses keys cannot fill the memory.
const REMEMBERED_MAX: u64 = 10_000;

/// For how long after its look-up has *begun* a key is taken for what was found: so a key that was revoked is refused a
/// second later, however long a look-up takes.
const REMEMBERED_FOR: Duration = Duration::from_secs(1);

/// For how long a key that was good is looked up even for an address that guesses.
const GOOD_BEFORE_FOR: Duration = Duration::from_secs(60 * 60);

/// How long a look-up may take before what was found last stands in for it, where that is allowed.
const STANDS_IN_AFTER: Duration = Duration::from_millis(100);

/// How many keys that were not good lately are looked up at once: those who guess leave the others their connections.
const STRANGERS_AT_ONCE: usize = 3;

/// How many addresses are known at a time to have guessed too often.
const GUESSERS_MAX: u64 = 100_000;

/// Knows whose keys are. Cheap to clone.
///
/// A look-up is remembered for a second, whatever it found; those that come meanwhile for the same key share one. The key
/// itself is never kept: look-ups go by its SHA-256, and two of those are compared in constant time.
///
/// An address that has shown too many wrong keys is answered without a look-up for a while, whatever it shows, so that
/// guessing on costs the database nothing, and a right guess looks like a wrong one. Keys that were good within the last
/// hour are looked up all the same: who shares an address with a guesser is not locked out.
///
/// While the database says nothing, no key can be looked up. A grace lets one that was good a while ago stand for so long,
/// so that what needs no database is answered: repeats that are remembered. Nobody can learn meanwhile that a key was
/// revoked, so there is none unless it is asked for.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    found: Cache<ApiKeyHash, Found>,
    good_before: Cache<ApiKeyHash, Found>,
    grace: Duration,
    wrong: Option<Buckets<IpAddr>>,
    guessers: Cache<IpAddr, (Instant, Share)>,
    strangers: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
struct Found {
    asked_at: Instant,
    holder: Option<Arc<KeyHolder>>,
}

/// Why a key is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused<E> {
    /// It is nobody's, or not any longer.
    Wrong,
    /// Its address has shown too many wrong ones.
    TooManyWrong(Box<Exceeded>),
    /// The look-up failed.
    NotKnown(E),
}

impl ApiKeys {
    /// Allows each address so many wrong keys a minute; without, any number. `grace` is how long a key that was good
    /// stands while the database says nothing.
    pub fn new(wrong_per_minute: Option<NonZeroU32>, grace: Duration) -> Self {
        let good_before_for = grace.max(GOOD_BEFORE_FOR);
        Self {
            found: Cache::builder().max_capacity(REMEMBERED_MAX).time_to_live(REMEMBERED_FOR).build(),
            good_before: Cache::builder().max_capacity(REMEMBERED_MAX).time_to_live(good_before_for).build(),
            grace,
            wrong: wrong_per_minute.map(|quota| Buckets::per_minute("wrong-keys", quota)),
            strangers: Arc::new(Semaphore::new(STRANGERS_AT_ONCE)),
            guessers: Cache::builder()
                .max_capacity(GUESSERS_MAX)
                .time_to_live(Duration::from_secs(60))
                .build(),
        }
    }

    /// The holder of a key that was found to be good less than a second ago. It waits for nothing; `None` says nothing
    /// about the key.
    pub fn remembered(&self, key: &ApiKey) -> Option<Arc<KeyHolder>> {
        let found = self.found.get(&key.hash()).now_or_never()??;
        found.holder.filter(|_| found.asked_at.elapsed() < REMEMBERED_FOR)
    }

    /// The holder of a key that was shown from an address. `look_up` asks the database, and answers `None` for a key that
    /// is not good here.
    ///
    /// # Errors
    ///
    /// If it is not good, the address has shown too many that were not, or it cannot be looked up.
    pub async fn holder<E, F>(
        &self,
        key: &ApiKey,
        source: Option<IpAddr>,
        look_up: impl Fn(ApiKeyHash) -> F,
    ) -> Result<Arc<KeyHolder>, Refused<E>>
    where
        E: Clone + Send + Sync + 'static,
        F: Future<Output = Result<Option<KeyHolder>, E>>,
    {
        let hash = key.hash();
        let source = source.map(network_of);
        let _place = match self.good_before.contains_key(&hash) {
            true => None,
            false => {
                let place = self.strangers.acquire().await;
                // Behind the wait: of guesses that come at once, those behind the last that is allowed are not looked up.
                self.refuse_guesser(source).await?;
                Some(place)
            }
        };
        match self.find(hash, look_up).await.map_err(Refused::NotKnown)? {
            Some(holder) => Ok(holder),
            None => Err(self.note_wrong(source).await),
        }
    }

    /// Asks, or takes what was found by a question that was asked less than a second ago.
    async fn find<E, F>(
        &self,
        hash: ApiKeyHash,
        look_up: impl Fn(ApiKeyHash) -> F,
    ) -> Result<Option<Arc<KeyHolder>>, E>
    where
        E: Clone + Send + Sync + 'static,
        F: Future<Output = Result<Option<KeyHolder>, E>>,
    {
        let arrived = Instant::now();
        loop {
            let looking = async { self.ask(hash, look_up(hash)).await };
            let found =
                self.found.try_get_with(hash, looking).await.map_err(|error: Arc<E>| E::clone(&error))?;
            if arrived.saturating_duration_since(found.asked_at) < REMEMBERED_FOR {
                return Ok(found.holder);
            }
            // The memory counts from the end of a look-up, and one that was slow is older than it seems. The next one
            // begins after this request has come, so there is no third round.
            self.found.invalidate(&hash).await;
        }
    }

    /// What the database says of a key; or what it said last, if it says nothing and that is not too long ago.
    async fn ask<E>(
        &self,
        hash: ApiKeyHash,
        look_up: impl Future<Output = Result<Option<KeyHolder>, E>>,
    ) -> Result<Found, E> {
        let asked_at = Instant::now();
        let mut look_up = pin!(look_up);
        let looked_up = match timeout(STANDS_IN_AFTER, look_up.as_mut()).await {
            Ok(looked_up) => looked_up,
            Err(_) => match self.stand_in(&hash).await {
                Some(found) => return Ok(found),
                None => look_up.await,
            },
        };
        match looked_up {
            Ok(Some(holder)) => {
                let found = Found { asked_at, holder: Some(Arc::new(holder)) };
                self.good_before.insert(hash, found.clone()).await;
                Ok(found)
            }
            Ok(None) => {
                self.good_before.invalidate(&hash).await;
                Ok(Found { asked_at, holder: None })
            }
            Err(error) => self.stand_in(&hash).await.ok_or(error),
        }
    }

    /// Counts as found now, so that only one request a second finds the database silent.
    async fn stand_in(&self, hash: &ApiKeyHash) -> Option<Found> {
        let good = self.good_before.get(hash).await?;
        (good.asked_at.elapsed() < self.grace).then(|| Found { asked_at: Instant::now(), ..good })
    }

    async fn refuse_guesser<E>(&self, source: Option<IpAddr>) -> Result<(), Refused<E>> {
        let Some(source) = source else { return Ok(()) };
        let Some((until, share)) = self.guessers.get(&source).await else { return Ok(()) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let reset_s = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        Err(too_many(Share { reset_s, ..share }))
    }

    async fn note_wrong<E>(&self, source: Option<IpAddr>) -> Refused<E> {
        let (Some(buckets), Some(source)) = (&self.wrong, source) else { return Refused::Wrong };
        match buckets.take(source) {
            Ok(_) => Refused::Wrong,
            Err(share) => {
                let until = Instant::now() + Duration::from_secs(share.reset_s.max(1));
                self.guessers.insert(source, (until, share)).await;
                too_many(share)
            }
        }
    }
}

fn too_many<E>(share: Share) -> Refused<E> {
    Refused::TooManyWrong(Box::new(Exceeded::alone(share)))
}

/// An address as far as it is counted: an IPv6 customer has a whole network of addresses (RFC 6177), and is one.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use client::{ClientId, Scopes};
    use tokio::sync::Notify;
    use uuid::Uuid;

    use super::*;

    const GUESSER: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn holder() -> KeyHolder {
        KeyHolder {
            client_id: ClientId(Uuid::nil()),
            name: "shop".to_owned(),
            demo: false,
            scopes: Scopes::All,
            key_id: "ba7816bf8f01".to_owned(),
        }
    }

    /// A database that knows the key `right` alone, and counts what it is asked.
    #[derive(Default)]
    struct Database {
        asked: AtomicU32,
    }

    impl Database {
        async fn ask(&self, hash: ApiKeyHash) -> Result<Option<KeyHolder>, ()> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Ok((hash == ApiKey::presented("right").hash()).then(holder))
        }

        fn asked(&self) -> u32 {
            self.asked.load(Ordering::Relaxed)
        }
    }

    async fn show(keys: &ApiKeys, database: &Database, key: &str) -> Result<Arc<KeyHolder>, Refused<()>> {
        keys.holder(&ApiKey::presented(key), GUESSER, |hash| database.ask(hash)).await
    }

    #[tokio::test]
    async fn a_key_is_looked_up_once_for_many_requests() {
        let (keys, database) = (ApiKeys::new(None, Duration::ZERO), Database::default());
        for _ in 0..10 {
            assert!(show(&keys, &database, "right").await.is_ok());
            assert_eq!(show(&keys, &database, "wrong").await, Err(Refused::Wrong));
        }
        assert_eq!(database.asked(), 2);
    }

    #[tokio::test]
    async fn who_guesses_is_answered_without_a_look_up_and_a_right_guess_looks_like_a_wrong_one() {
        let (keys, database) = (ApiKeys::new(NonZeroU32::new(3), Duration::ZERO), Database::default());
        for guess in ["a", "b", "c"] {
            assert_eq!(show(&keys, &database, guess).await, Err(Refused::Wrong));
        }
        for guess in ["d", "e", "right"] {
            let Err(Refused::TooManyWrong(exceeded)) = show(&keys, &database, guess).await else {
                panic!("{guess} was looked up");
            };
            assert!((1..=20).contains(&exceeded.retry_after_s()));
        }
        assert_eq!(database.asked(), 4, "one guess too many is what shows that they are too many");
    }

    #[tokio::test]
    async fn a_key_that_was_good_is_good_beside_a_guesser() {
        let (keys, database) = (ApiKeys::new(NonZeroU32::new(1), Duration::ZERO), Database::default());
        assert!(show(&keys, &database, "right").await.is_ok());
        for guess in ["a", "b", "c"] {
            assert!(show(&keys, &database, guess).await.is_err());
        }
        assert!(show(&keys, &database, "right").await.is_ok());
    }

    #[tokio::test]
    async fn what_a_slow_look_up_has_found_is_as_old_as_its_beginning() {
        let keys = ApiKeys::new(None, Duration::ZERO);
        let right = ApiKey::presented("right").hash();
        let two_seconds_ago = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let old = Found { asked_at: two_seconds_ago, holder: Some(Arc::new(holder())) };
        keys.found.insert(right, old).await;
        let shown = ApiKey::presented("right");
        let revoked = keys.holder(&shown, None, |_| async { Ok::<_, ()>(None) });
        assert_eq!(revoked.await, Err(Refused::Wrong));
    }

    #[tokio::test]
    async fn requests_that_come_together_share_a_look_up() {
        let (keys, asked, go) = (ApiKeys::new(None, Duration::ZERO), AtomicU32::new(0), Notify::new());
        let look_up = |_| async {
            asked.fetch_add(1, Ordering::Relaxed);
            go.notified().await;
            Ok::<_, ()>(Some(holder()))
        };
        let right = ApiKey::presented("right");
        let both =
            async { tokio::join!(keys.holder(&right, None, look_up), keys.holder(&right, None, look_up)) };
        let (both, ()) = tokio::join!(both, async { go.notify_one() });
        assert!(both.0.is_ok() && both.1.is_ok());
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_was_found_good_is_remembered_without_asking_and_nothing_else_is() {
        let (keys, database) = (ApiKeys::new(None, Duration::ZERO), Database::default());
        let right = ApiKey::presented("right");
        assert_eq!(keys.remembered(&right), None);
        let found = show(&keys, &database, "right").await.unwrap();
        assert_eq!(keys.remembered(&right), Some(found));
        assert_eq!(show(&keys, &database, "wrong").await, Err(Refused::Wrong));
        assert_eq!(keys.remembered(&ApiKey::presented("wrong")), None);
        let two_seconds_ago = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        keys.found
            .insert(right.hash(), Found { asked_at: two_seconds_ago, holder: Some(Arc::new(holder())) })
            .await;
        assert_eq!(keys.remembered(&right), None, "what a slow look-up has found is old");
    }

    /// Shows the right key while the database fails, or says nothing.
    async fn show_in_vain(keys: &ApiKeys, silent: bool) -> Result<Arc<KeyHolder>, Refused<()>> {
        let in_vain = |_| async move {
            if silent {
                std::future::pending::<()>().await;
            }
            Err::<Option<KeyHolder>, ()>(())
        };
        // The memory of a second ago would else answer.
        keys.found.invalidate_all();
        keys.holder(&ApiKey::presented("right"), None, in_vain).await
    }

    #[tokio::test]
    async fn a_key_that_was_good_stands_for_its_grace_while_the_database_says_nothing() {
        let (keys, database) = (ApiKeys::new(None, Duration::from_secs(600)), Database::default());
        assert_eq!(show_in_vain(&keys, false).await, Err(Refused::NotKnown(())), "it was never good");
        assert!(show(&keys, &database, "right").await.is_ok());
        for silent in [false, true] {
            assert!(show_in_vain(&keys, silent).await.is_ok(), "silent: {silent}");
        }
        let strict = ApiKeys::new(None, Duration::ZERO);
        assert!(show(&strict, &database, "right").await.is_ok());
        assert_eq!(show_in_vain(&strict, false).await, Err(Refused::NotKnown(())));
    }

    #[tokio::test]
    async fn a_key_that_was_found_to_be_revoked_has_no_grace() {
        let (keys, database) = (ApiKeys::new(None, Duration::from_secs(600)), Database::default());
        assert!(show(&keys, &database, "right").await.is_ok());
        keys.found.invalidate_all();
        let shown = ApiKey::presented("right");
        let revoked = keys.holder(&shown, None, |_| async { Ok::<_, ()>(None) });
        assert_eq!(revoked.await, Err(Refused::Wrong));
        assert_eq!(show_in_vain(&keys, false).await, Err(Refused::NotKnown(())));
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_are_one() {
        let network = |text: &str| network_of(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
