//! The keys that the server makes, as far as they are configured: `idempotency.issue_secrets` and what belongs to it.

use anyhow::Context;
use chrono::TimeDelta;
use idempotency::issued::Seals;

use super::IdempotencySection;
use super::secrets::secrets;
use crate::issued_keys::Issuing;

/// How many secrets there may be: the one for new keys, and the one before it.
const SECRETS_MAX: usize = 2;

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
        let key = "idempotency.issue_secret";
        let secrets = secrets(key, &self.issue_secrets, &self.issue_secret_files, SECRETS_MAX)?;
        let Some(newest) = secrets.first() else { return Ok(None) };
        let before = secrets.get(1).map(String::as_bytes);
        let seals = Seals::new(newest.as_bytes(), before).with_context(|| {
            format!("{key}s: a secret could be guessed; `openssl rand -base64 48` makes one that cannot")
        })?;
        Ok(Some(seals))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use chrono::DateTime;
    use client::ClientId;
    use uuid::Uuid;

    use super::*;
    use crate::configuration::InlineSecret;

    const STRONG: &str = "kX2vU9fJ0sQmT7aZpL4wRb6yGd1hNc8e";

    fn section(inline: &[&str], files: &[PathBuf]) -> IdempotencySection {
        IdempotencySection {
            issue_secrets: inline.iter().map(|secret| InlineSecret::new(secret)).collect(),
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
        assert!(fault(&section(&[STRONG, STRONG, STRONG], &[])).contains("3 values"));
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
