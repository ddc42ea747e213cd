//! API keys: shown once, kept only as a hash.

use std::fmt;
use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The secret with which a client authenticates: `Authorization: Bearer <api key>` (RFC 6750).
///
/// It can be shown once, when it is made; [`fmt::Debug`] never prints it.
pub struct ApiKey(String);

impl ApiKey {
    /// A new key: `onefold_` and 256 random bits in URL-safe base64.
    pub fn generate() -> Self {
        let secret: [u8; 32] = rand::random();
        Self(format!("onefold_{}", URL_SAFE_NO_PAD.encode(secret)))
    }

    /// The key that a caller presented. Any text is a key; whether it is anybody's is the store's to say.
    pub fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// What the service keeps of the key.
    ///
    /// SHA-256 without salt or stretching is enough for a secret of 256 random bits: there is no dictionary
    /// to try, and every request must compute it.
    pub fn hash(&self) -> ApiKeyHash {
        ApiKeyHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The secret itself, to be printed once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(secret)")
    }
}

/// The SHA-256 of an [`ApiKey`].
///
/// Equality takes the same time wherever two hashes differ, so that an answer's delay tells nothing.
#[derive(Clone, Copy, Debug)]
pub struct ApiKeyHash(pub [u8; 32]);

impl ApiKeyHash {
    /// How many hexadecimal digits [`id`](Self::id) has: enough that no client has two keys of one id, and too few to say
    /// anything of the key.
    pub const ID_DIGITS: usize = 12;

    /// What a person calls the key: the hash's first digits. It is no secret.
    pub fn id(&self) -> String {
        self.0[..Self::ID_DIGITS / 2].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl PartialEq for ApiKeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for ApiKeyHash {}

impl Hash for ApiKeyHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generated_keys_differ_and_are_long_enough_to_be_unguessable() {
        let (one, other) = (ApiKey::generate(), ApiKey::generate());
        assert_ne!(one.reveal(), other.reveal());
        assert_eq!(one.reveal().len(), "onefold_".len() + 43);
        assert_ne!(one.hash(), other.hash());
    }

    #[test]
    fn a_key_is_never_printed_for_debugging() {
        let key = ApiKey::presented("demo-key");
        assert_eq!(format!("{key:?}"), "ApiKey(secret)");
    }

    #[test]
    fn the_hash_is_sha_256() {
        assert_eq!(
            ApiKey::presented("abc").hash().0[..4],
            [0xba, 0x78, 0x16, 0xbf],
            "the first bytes of the test vector in FIPS 180-4"
        );
        assert_eq!(ApiKey::presented("abc").hash().id(), "ba7816bf8f01");
    }
}
