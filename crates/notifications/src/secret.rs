//! What deliveries are signed with.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What every secret begins with as text.
const PREFIX: &str = "whsec_";

/// How many bytes a secret has: the specification says 24 to 64.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret that an endpoint shares with the service. It is printed nowhere by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret of these bytes, which must be random.
    pub fn of_random(bytes: [u8; 32]) -> Self {
        Self(bytes.to_vec())
    }

    /// The secret of that text, if it is one: `whsec_` and 24 to 64 bytes in base64.
    pub fn from_text(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        BYTES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The secret as text, for whoever needs it to verify.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
