//! By what a delivery is believed, so that endpoints can be compared without seeing a key.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// One key of an endpoint, and for whom a delivery must be that is signed with it.
///
/// Two endpoints that have one in common believe the same bytes. If they belong to two clients, the money of one could be
/// booked for the other by sending it there again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trust {
    /// The key.
    pub key: KeyMark,
    /// The account, merchant or app that a delivery names; empty where the provider names none.
    pub recipient: String,
}

/// A key, known again when it is met again. The key does not follow from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyMark([u8; 32]);

impl KeyMark {
    /// The mark of a secret, or of a public key.
    pub(crate) fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Debug for KeyMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMark")
    }
}
