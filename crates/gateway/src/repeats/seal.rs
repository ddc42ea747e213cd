//! Answers that nobody else can have put into Redis.
//!
//! An answer stands there as its fields and an HMAC-SHA-256 (RFC 2104) over the client, the key, the fingerprint of the
//! request and those fields, under a secret that all servers have. So an answer that was changed, or was put under
//! another client's key or another request's, has a seal that does not fit, and so has one of another secret. What the
//! fields say can be read by whoever can read Redis; the seal hides nothing.

use std::fmt;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac};
use idempotency::issued::{WeakSecret, hmac_under};
use idempotency::{Answer, Fingerprint, Name};
use sha2::Sha256;

use super::value::ANSWER;

/// The largest answer that is put into Redis, in bytes. Those of the API have a few hundred.
pub(super) const SEALED_BYTES_MAX: usize = 64 * 1024;

const SEAL_BYTES: usize = 32;

/// Seals answers, and knows its own again.
#[derive(Clone)]
pub struct Seal {
    newest: Hmac<Sha256>,
    before: Option<Hmac<Sha256>>,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

impl Seal {
    /// Seals with `newest`, and knows what was sealed with `before`, while the one takes the place of the other.
    ///
    /// # Errors
    ///
    /// If one of the two could be guessed.
    pub fn new(newest: &[u8], before: Option<&[u8]>) -> Result<Self, WeakSecret> {
        Ok(Self { newest: hmac_under(newest)?, before: before.map(hmac_under).transpose()? })
    }

    /// A finished answer as it stands in Redis; nothing, if it is too large for that.
    pub fn seal(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
        answer: &Answer,
        expires_at: DateTime<Utc>,
    ) -> Option<Vec<u8>> {
        let mut bytes = vec![ANSWER];
        // Rounded down: never past the record's time.
        bytes.extend(expires_at.timestamp_millis().to_be_bytes());
        bytes.extend(answer.status.to_be_bytes());
        put_text(&mut bytes, &answer.content_type)?;
        bytes.push(u8::from(answer.location.is_some()));
        put_text(&mut bytes, answer.location.as_deref().unwrap_or_default())?;
        bytes.extend(&answer.body);
        let seal = over(&self.newest, name, fingerprint, &bytes).finalize().into_bytes();
        bytes.extend(seal);
        (bytes.len() <= SEALED_BYTES_MAX).then_some(bytes)
    }

    /// The answer that a request was given, and the time until which its record is kept, if these bytes are its own, sealed
    /// here, and that time is not over. Seals are compared in constant time.
    pub fn open(
        &self,
        name: &Name,
        fingerprint: Fingerprint,
        bytes: &[u8],
        now: DateTime<Utc>,
    ) -> Option<(Answer, DateTime<Utc>)> {
        let (fields, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
        let fits = |secret| over(secret, name, fingerprint, fields).verify_slice(seal).is_ok();
        if !fits(&self.newest) && !self.before.as_ref().is_some_and(fits) {
            return None;
        }
        let (expires_at, rest) = fields.get(1..)?.split_first_chunk()?;
        let (status, rest) = rest.split_first_chunk()?;
        let (content_type, rest) = take_text(rest)?;
        let (has_location, rest) = rest.split_first()?;
        let (location, body) = take_text(rest)?;
        let expires_at = DateTime::from_timestamp_millis(i64::from_be_bytes(*expires_at))?;
        let answer = Answer {
            status: u16::from_be_bytes(*status),
            content_type: content_type.to_owned().into(),
            location: (*has_location == 1).then(|| location.to_owned()),
            body: Bytes::copy_from_slice(body),
        };
        (now < expires_at).then_some((answer, expires_at))
    }
}

/// Whatever has no fixed length stands behind its length, so that no part can be read as another one's.
fn over(secret: &Hmac<Sha256>, name: &Name, fingerprint: Fingerprint, fields: &[u8]) -> Hmac<Sha256> {
    let mut hash = secret.clone();
    let key = name.key.as_str().as_bytes();
    hash.update(b"onefold finished answer\0");
    hash.update(name.client_id.0.as_bytes());
    hash.update(&(key.len() as u64).to_be_bytes());
    hash.update(key);
    hash.update(&fingerprint.version().to_be_bytes());
    hash.update(fingerprint.digest());
    hash.update(fields);
    hash
}

fn put_text(bytes: &mut Vec<u8>, text: &str) -> Option<()> {
    bytes.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
    bytes.extend(text.as_bytes());
    Some(())
}

fn take_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use client::ClientId;
    use idempotency::Key;
    use idempotency::fingerprint::Meaning;
    use uuid::Uuid;

    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn seal(secret: &[u8]) -> Seal {
        Seal::new(secret, None).unwrap()
    }

    fn ours() -> Seal {
        seal(b"a secret of these tests, 0123456789")
    }

    fn name(client: u128, key: &str) -> Name {
        Name { client_id: ClientId(Uuid::from_u128(client)), key: Key::from_value(key).unwrap() }
    }

    fn request(body: &str) -> Fingerprint {
        Meaning::of("test").field("body", body).fingerprint()
    }

    fn answer(location: Option<&str>) -> Answer {
        Answer {
            status: 201,
            content_type: "application/json".into(),
            location: location.map(str::to_owned),
            body: Bytes::from_static(b"{\"id\":1}"),
        }
    }

    fn later(seconds: i64) -> DateTime<Utc> {
        NOW + chrono::TimeDelta::seconds(seconds)
    }

    #[test]
    fn an_answer_is_given_again_as_it_was_to_the_same_client_for_the_same_request_until_it_expires() {
        for location in [Some("/v1/orders/1"), Some(""), None] {
            let answer = answer(location);
            let sealed = ours().seal(&name(1, "k"), request("a"), &answer, later(60)).unwrap();
            let open = |name: &Name, request, now| ours().open(name, request, &sealed, now);
            assert_eq!(open(&name(1, "k"), request("a"), later(59)), Some((answer, later(60))));
            assert_eq!(open(&name(1, "k"), request("a"), later(60)), None, "past its time");
            assert_eq!(open(&name(2, "k"), request("a"), NOW), None, "to another client");
            assert_eq!(open(&name(1, "l"), request("a"), NOW), None, "under another key");
            assert_eq!(open(&name(1, "k"), request("b"), NOW), None, "for another request");
        }
    }

    #[test]
    fn no_byte_can_be_changed_left_out_or_added() {
        let (name, request) = (name(1, "k"), request("a"));
        let sealed = ours().seal(&name, request, &answer(Some("/v1/orders/1")), later(60)).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(ours().open(&name, request, &changed, NOW), None, "byte {at} was changed");
            assert_eq!(ours().open(&name, request, &sealed[..at], NOW), None, "cut at byte {at}");
        }
        let mut longer = sealed.clone();
        longer.push(0);
        assert_eq!(ours().open(&name, request, &longer, NOW), None);
    }

    #[test]
    fn another_secrets_seal_is_none_and_a_weak_secret_is_refused() {
        let (name, request) = (name(1, "k"), request("a"));
        let theirs = seal(b"another one, of these tests, 987654");
        let sealed = theirs.seal(&name, request, &answer(None), later(60)).unwrap();
        assert_eq!(ours().open(&name, request, &sealed, NOW), None);
        assert!(Seal::new(b"hush", None).is_err());
        let both =
            Seal::new(b"a secret of these tests, 0123456789", Some(b"another one, of these tests, 987654"));
        assert!(
            both.unwrap().open(&name, request, &sealed, NOW).is_some(),
            "the secret before is still known"
        );
    }

    #[test]
    fn what_is_too_large_for_redis_is_not_sealed() {
        let large = Answer { body: vec![b' '; SEALED_BYTES_MAX].into(), ..answer(None) };
        assert_eq!(ours().seal(&name(1, "k"), request("a"), &large, later(60)), None);
    }
}
