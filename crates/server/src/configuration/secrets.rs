//! Secrets, as far as they stand in the file or in files of their own.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize, Serializer};

/// A secret that stands in the file. It is not printed, and not written either.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct InlineSecret(String);

impl InlineSecret {
    /// A secret.
    pub fn new(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for InlineSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InlineSecret")
    }
}

impl Serialize for InlineSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("…")
    }
}

/// The secrets of `{key}s`, or of the files of `{key}_files`: the newest first. None, if neither is given.
///
/// # Errors
///
/// If both are given, a file cannot be read, or there are more than `count_max`. No error shows a secret.
pub(super) fn secrets(
    key: &str,
    inline: &[InlineSecret],
    files: &[PathBuf],
    count_max: usize,
) -> anyhow::Result<Vec<String>> {
    let secrets: Vec<String> = match (inline, files) {
        (inline, []) => inline.iter().map(|secret| secret.0.clone()).collect(),
        ([], files) => files.iter().map(|file| read(key, file)).collect::<anyhow::Result<_>>()?,
        (_, _) => bail!("{key}s and {key}_files are both given: leave one out"),
    };
    if secrets.len() > count_max {
        bail!("{key}s (or {key}_files) has {} values, and {count_max} are enough", secrets.len());
    }
    Ok(secrets)
}

fn read(key: &str, path: &PathBuf) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{key}_files: cannot read {}", path.display()))?;
    Ok(text.trim().to_owned())
}
