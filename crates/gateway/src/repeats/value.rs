//! What stands in Redis under which key.

use idempotency::Name;
use sha2::{Digest, Sha256};

/// Where something about a name stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The key in Redis. It holds a hash, since idempotency keys are the clients' and may say something.
    pub key: String,
    /// 64 bits of the same hash: which node it is, and its place in the Bloom filter.
    pub hash: u64,
}

impl Place {
    /// The place of a name.
    pub fn of(name: &Name) -> Self {
        let mut digest = Sha256::new();
        digest.update(name.client_id.0.as_bytes());
        digest.update(name.key.as_str().as_bytes());
        let digest: [u8; 32] = digest.finalize().into();
        let (head, _) = digest.split_first_chunk().expect("32 bytes are more than 8");
        let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { key: format!("onefold:1:{hex}"), hash: u64::from_be_bytes(*head) }
    }
}

/// Tells a server's leases from those of others. Drawn at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerId(pub [u8; 8]);

/// Says that a server runs a request. Its bytes are the owner's token: only who knows them takes it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Whose it is.
    pub server: ServerId,
    /// Which of the server's.
    pub number: [u8; 8],
}

impl Lease {
    /// As it stands in Redis.
    pub fn bytes(self) -> Vec<u8> {
        [&[LEASE], &self.server.0[..], &self.number[..]].concat()
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A server runs the request.
    Lease(Lease),
    /// What may be an answer, if its seal is good.
    Sealed(Vec<u8>),
    /// Nothing that this version has put there.
    Unknown,
}

impl Value {
    /// Reads what was found.
    pub fn read(bytes: Vec<u8>) -> Self {
        match bytes.split_first() {
            Some((&ANSWER, _)) => Self::Sealed(bytes),
            Some((&LEASE, rest)) => match rest.split_first_chunk() {
                Some((server, number)) => match number.try_into() {
                    Ok(number) => Self::Lease(Lease { server: ServerId(*server), number }),
                    Err(_) => Self::Unknown,
                },
                None => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

/// What a lease begins with.
const LEASE: u8 = b'L';

/// What an answer begins with.
pub const ANSWER: u8 = b'A';

#[cfg(test)]
mod tests {
    use client::ClientId;
    use idempotency::Key;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_lease_is_read_back_and_what_is_none_is_unknown() {
        let lease = Lease { server: ServerId([7; 8]), number: [9; 8] };
        assert_eq!(Value::read(lease.bytes()), Value::Lease(lease));
        let mut long = lease.bytes();
        long.push(0);
        for bytes in [vec![], b"L".to_vec(), b"Lshort".to_vec(), long, b"OK".to_vec()] {
            assert_eq!(Value::read(bytes), Value::Unknown);
        }
    }

    #[test]
    fn names_have_places_of_their_own_and_a_place_does_not_show_its_name() {
        let place = |client, key: &str| {
            Place::of(&Name {
                client_id: ClientId(Uuid::from_u128(client)),
                key: Key::from_value(key).unwrap(),
            })
        };
        assert_eq!(place(1, "a"), place(1, "a"));
        assert_ne!(place(1, "a"), place(2, "a"));
        assert_ne!(place(1, "secret-of-mine").hash, place(1, "b").hash);
        assert!(!place(1, "secret-of-mine").key.contains("secret"));
    }
}
