//! Keys that the service makes: sealed, so that it knows them again without having kept any.
//!
//! A key is `ik1_` and then, in URL-safe base64, when it was made (8 bytes, milliseconds since 1970, big-endian), 16 random
//! bytes, and an HMAC-SHA-256 (RFC 2104) over the version, the client, the time and the random bytes. The client does not
//! stand in it: a key that another client was given has a seal that does not fit, as a forged one has.
//!
//! Everything here is pure: the time and the random bytes come in as arguments.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use client::ClientId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Key;

/// What keys of this version begin with.
pub const PREFIX: &str = "ik1_";

/// How many random bytes a key has: two keys of one client and millisecond are alike with a probability of 2⁻¹²⁸.
pub const RANDOM_BYTES: usize = 16;

/// The shortest secret, in bytes: what HMAC-SHA-256 gives, of which a shorter one would give less (RFC 2104, 3).
pub const SECRET_BYTES_MIN: usize = 32;

/// How many different bytes a secret has at least. Anything random has far more; a word that is typed again and again has not.
const DIFFERENT_BYTES_MIN: usize = 12;

const TIME_BYTES: usize = size_of::<i64>();
const SEAL_BYTES: usize = 32;

/// The secrets that keys are sealed with: one for new keys, and while it takes the place of another one, that one too.
#[derive(Clone)]
pub struct Seals {
    newest: Hmac<Sha256>,
    before: Option<Hmac<Sha256>>,
}

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seals").finish_non_exhaustive()
    }
}

/// A secret that somebody could guess.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WeakSecret {
    /// It is too short.
    #[error("it has {0} bytes, and {SECRET_BYTES_MIN} are needed")]
    Short(usize),
    /// It repeats itself.
    #[error("it has only {0} different bytes, and anything random has at least {DIFFERENT_BYTES_MIN}")]
    Monotonous(usize),
}

impl Seals {
    /// Seals new keys with `newest`, and knows those again that were sealed with `before`.
    ///
    /// # Errors
    ///
    /// If one of the two could be guessed.
    pub fn new(newest: &[u8], before: Option<&[u8]>) -> Result<Self, WeakSecret> {
        Ok(Self { newest: hmac_under(newest)?, before: before.map(hmac_under).transpose()? })
    }

    /// Makes a key for a client.
    pub fn issue(&self, client: ClientId, at: DateTime<Utc>, random: [u8; RANDOM_BYTES]) -> Key {
        let time = at.timestamp_millis().to_be_bytes();
        let seal = sealing(&self.newest, client, time, random).finalize().into_bytes();
        let text = URL_SAFE_NO_PAD.encode([&time[..], &random, &seal].concat());
        Key::from_value(&format!("{PREFIX}{text}")).expect("base64 is printable, and short enough for a key")
    }

    /// When a key was made for this client, to the millisecond; nothing if it was not made by this service, or not for
    /// this client. Seals are compared in constant time.
    pub fn issued_at(&self, client: ClientId, key: &Key) -> Option<DateTime<Utc>> {
        let text = key.as_str().strip_prefix(PREFIX)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (time, rest) = bytes.split_first_chunk::<TIME_BYTES>()?;
        let (random, seal) = rest.split_first_chunk::<RANDOM_BYTES>()?;
        if seal.len() != SEAL_BYTES {
            return None;
        }
        let fits = |secret: &Hmac<Sha256>| sealing(secret, client, *time, *random).verify_slice(seal).is_ok();
        let known = fits(&self.newest) || self.before.as_ref().is_some_and(fits);
        known.then(|| DateTime::from_timestamp_millis(i64::from_be_bytes(*time))).flatten()
    }
}

/// An HMAC under a secret that nobody can guess, for this and other seals of the service.
///
/// # Errors
///
/// If the secret is too short, or repeats itself.
pub fn hmac_under(secret: &[u8]) -> Result<Hmac<Sha256>, WeakSecret> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(WeakSecret::Short(secret.len()));
    }
    let mut seen = [false; 256];
    secret.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let different = seen.iter().filter(|seen| **seen).count();
    if different < DIFFERENT_BYTES_MIN {
        return Err(WeakSecret::Monotonous(different));
    }
    Ok(Hmac::new_from_slice(secret).expect("HMAC takes a key of any length"))
}

/// Every part has a fixed length, so no part can be read as another one's.
fn sealing(
    secret: &Hmac<Sha256>,
    client: ClientId,
    time: [u8; TIME_BYTES],
    random: [u8; RANDOM_BYTES],
) -> Hmac<Sha256> {
    let mut hash = secret.clone();
    hash.update(b"onefold issued key\0");
    hash.update(PREFIX.as_bytes());
    hash.update(client.0.as_bytes());
    hash.update(&time);
    hash.update(&random);
    hash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const SECRET: &[u8] = b"a secret of these tests, 0123456789";
    const OTHER: &[u8] = b"another one, of these tests, 987654";

    fn seals(newest: &[u8], before: Option<&[u8]>) -> Seals {
        Seals::new(newest, before).unwrap()
    }

    fn at(millis: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(millis).unwrap()
    }

    #[test]
    fn keys_stay_what_they_are_over_versions_of_the_service() {
        let key = seals(SECRET, None).issue(ClientId(Uuid::from_u128(7)), at(1_800_000_000_123), [9; 16]);
        let by_another_program =
            "ik1_AAABoxhcUHsJCQkJCQkJCQkJCQkJCQkJdDdW2FgYE7b034JEA-UmLk1Ud7V1xa5pfYf0OTpWers";
        assert_eq!(key.as_str(), by_another_program);
    }

    #[test]
    fn a_secret_that_could_be_guessed_is_refused() {
        let refused = |secret: &[u8]| Seals::new(secret, None).unwrap_err();
        assert_eq!(refused(b"secret"), WeakSecret::Short(6));
        assert_eq!(refused(&[b'x'; 64]), WeakSecret::Monotonous(1));
        assert_eq!(refused(&b"change me!".repeat(5)), WeakSecret::Monotonous(9));
        assert_eq!(Seals::new(SECRET, Some(b"short")).unwrap_err(), WeakSecret::Short(5));
    }

    #[test]
    fn a_key_is_known_while_its_secret_is_the_newest_or_the_one_before() {
        let client = ClientId(Uuid::from_u128(1));
        let key = seals(SECRET, None).issue(client, at(5), [1; 16]);
        assert_eq!(seals(OTHER, Some(SECRET)).issued_at(client, &key), Some(at(5)));
        assert_eq!(seals(OTHER, None).issued_at(client, &key), None);
    }

    #[test]
    fn nothing_of_a_secret_is_printed() {
        assert_eq!(format!("{:?}", seals(SECRET, Some(OTHER))), "Seals { .. }");
    }

    proptest! {
        #[test]
        fn a_key_is_known_by_its_client_and_by_no_other(
            client: u128, other: u128, millis in 0_i64..4_000_000_000_000, random: [u8; 16]
        ) {
            let seals = seals(SECRET, None);
            let client = ClientId(Uuid::from_u128(client));
            let key = seals.issue(client, at(millis), random);
            prop_assert!(Key::parse(key.as_str().as_bytes()).is_ok(), "it needs no quotes");
            prop_assert_eq!(seals.issued_at(client, &key), Some(at(millis)));
            prop_assume!(other != client.0.as_u128());
            prop_assert_eq!(seals.issued_at(ClientId(Uuid::from_u128(other)), &key), None);
        }

        #[test]
        fn a_key_that_was_changed_anywhere_is_forged(random: [u8; 16], place: prop::sample::Index, to in "[ -~]") {
            let seals = seals(SECRET, None);
            let client = ClientId(Uuid::from_u128(1));
            let mut text = seals.issue(client, at(9), random).as_str().to_owned();
            let place = place.index(text.len());
            prop_assume!(text[place..=place] != to);
            text.replace_range(place..=place, &to);
            prop_assert_eq!(seals.issued_at(client, &Key::from_value(&text).unwrap()), None);
        }

        #[test]
        fn no_key_makes_the_reader_panic(value in "(ik1_)?[ -~]{1,120}") {
            let key = Key::from_value(&value).unwrap();
            prop_assert_eq!(seals(SECRET, None).issued_at(ClientId(Uuid::nil()), &key), None);
        }
    }
}
