//! The keys that the server makes, as far as they are configured: `idempotency.issue_secrets` and what belongs to it.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, bail};
use chrono::TimeDelta;
use idempotency::issued::Seals;
use serde::{Deserialize, Serialize, Serializer};

use super::IdempotencySection;
use crate::issued_keys::Issuing;

/// How many secrets there may be: the one for new keys, and the one before it.
const SECRETS_MAX: usize = 2;

/// A secret that stands in the file. It is not printed, and not written either.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct InlineSecret(String);

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

impl IdempotencySection {
    /// What is to be done about keys that the server makes, with the secrets read from where they are.
    ///
    /// # Errors
    ///
    /// A secret that cannot be read or could be guessed, or too many of them. No error shows one.
    pub fn issuing(&self) -> anyhow::Result<Issuing> {
        Ok(Issuing {
            seals: self.seals()?,
            valid_for: TimeDelta::hours(self.issued_valid_hours.into()),
            required_of: self.require_issued.clone(),
        })
    }

    fn seals(&self) -> anyhow::Result<Option<Seals>> {
        let (key, secrets) = match (&self.issue_secrets[..], &self.issue_secret_files[..]) {
            ([], []) => return Ok(None),
            (inline, []) => {
                ("idempotency.issue_secrets", inline.iter().map(|secret| secret.0.clone()).collect())
            }
            ([], files) => (
                "idempotency.issue_secret_files",
                files.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?,
            ),
            (_, _) => bail!(
                "idempotency.issue_secrets and idempotency.issue_secret_files are both given: leave one out"
            ),
        };
        if secrets.len() > SECRETS_MAX {
            bail!(
                "{key} has {} secrets, and {SECRETS_MAX} are enough: the new one, and the one before",
                secrets.len()
            );
        }
        let before = secrets.get(1).map(String::as_bytes);
        let seals = Seals::new(secrets[0].as_bytes(), before).with_context(|| {
            format!("{key}: a secret could be guessed; `openssl rand -base64 48` makes one that cannot")
        })?;
        Ok(Some(seals))
    }
}

fn read(path: &PathBuf) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("idempotency.issue_secret_files: cannot read {}", path.display()))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::DateTime;
    use client::ClientId;
    use uuid::Uuid;

    use super::*;

    const STRONG: &str = "kX2vU9fJ0sQmT7aZpL4wRb6yGd1hNc8e";

    fn section(inline: &[&str], files: &[PathBuf]) -> IdempotencySection {
        IdempotencySection {
            issue_secrets: inline.iter().map(|secret| InlineSecret((*secret).to_owned())).collect(),
            issue_secret_files: files.to_vec(),
            ..IdempotencySection::default()
        }
    }

    fn fault(section: &IdempotencySection) -> String {
        format!("{:#}", section.issuing().unwrap_err())
    }

    #[test]
    fn a_weak_secret_stops_the_start_and_is_not_shown() {
        let weak = fault(&section(&["hush-hush"], &[]));
        assert!(weak.starts_with("idempotency.issue_secrets: a secret could be guessed"), "{weak}");
        assert!(weak.contains("9 bytes") && !weak.contains("hush"), "{weak}");
        assert!(fault(&section(&[STRONG, "hush"], &[])).contains("could be guessed"));
        assert!(fault(&section(&[STRONG, STRONG, STRONG], &[])).contains("3 secrets"));
        assert!(fault(&section(&[STRONG], &["/x".into()])).contains("both given"));
        assert!(fault(&section(&[], &["/nowhere/at/all".into()])).contains("cannot read /nowhere/at/all"));
        assert!(!format!("{:?}", section(&[STRONG], &[])).contains(STRONG));
    }

    #[test]
    fn a_secret_of_a_file_is_the_same_as_one_of_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        fs::write(&file, format!("{STRONG}\n")).unwrap();
        let client = ClientId(Uuid::from_u128(1));
        let inline = section(&[STRONG], &[]).issuing().unwrap().seals.unwrap();
        let filed = section(&[], &[file]).issuing().unwrap().seals.unwrap();
        let key = inline.issue(client, DateTime::UNIX_EPOCH, [1; 16]);
        assert!(filed.issued_at(client, &key).is_some());
        assert!(IdempotencySection::default().issuing().unwrap().seals.is_none());
    }
}
