//! What must not be seen: secrets, and the lists in which they are configured.

use std::fmt;

use serde::Deserialize;

/// A secret. It is not printed, and has no comparison but that of a signature made with it.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps what must not be seen.
    pub fn new(secret: impl Into<String>) -> Secret {
        Secret(secret.into())
    }

    /// The secret itself. Do not keep, print or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// One of a list of keys that are all accepted, as a rotation needs it: the key alone, or a table with an id.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a key, or a table with `id` and the key")]
pub(crate) enum ListedKey {
    Bare(Secret),
    Named(NamedKey),
}

/// A key with the name that logs tell it by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedKey {
    pub(crate) id: String,
    #[serde(alias = "secret", alias = "public_key", alias = "certificate")]
    pub(crate) key: Secret,
}

impl ListedKey {
    /// The ids and keys of a list. A key without an id is called by its place, beginning at 1.
    pub(crate) fn named(keys: Vec<ListedKey>) -> Vec<NamedKey> {
        let keys = keys.into_iter().enumerate();
        keys.map(|(index, key)| match key {
            ListedKey::Bare(key) => NamedKey { id: (index + 1).to_string(), key },
            ListedKey::Named(named) => named,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let named = NamedKey { id: "a".to_owned(), key: Secret::new("whsec_hush") };
        assert!(!format!("{named:?} {:?}", ListedKey::Bare(Secret::new("whsec_hush"))).contains("hush"));
    }
}
