//! `[repeats]`: the filter for repeats, off unless there is a Redis.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use gateway::repeats::Settings;
use gateway::repeats::seal::Seal;
use serde::{Deserialize, Serialize};
use validator::Validate;

use super::secrets::{InlineSecret, secrets};
use super::{Configuration, millis};

/// How many Redis there may be.
const NODES_MAX: usize = 64;

/// How many secrets there may be: the one that answers are sealed with, and the one before it.
const SECRETS_MAX: usize = 2;

/// What a certificate in PEM begins with (RFC 7468).
const BEGIN_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// `[repeats]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct RepeatsSection {
    /// Where each Redis is, the same on all servers and in the same order.
    pub redis_urls: Vec<InlineSecret>,
    /// The files of those URLs, where they hold a password and do not stand here.
    pub redis_url_files: Vec<PathBuf>,
    /// Whether they are nodes of a Redis Cluster: some of them are enough then, in any order.
    pub redis_cluster: bool,
    /// The certificates, in PEM, by which Redis over TLS (`rediss://`) are vouched for; none: those that the system trusts.
    pub redis_ca_files: Vec<PathBuf>,
    /// What answers are sealed with: the secret for new ones, and the one before it.
    pub seal_secrets: Vec<InlineSecret>,
    /// The files of those secrets, where they do not stand here.
    pub seal_secret_files: Vec<PathBuf>,
    /// By how much a request may be delayed, in milliseconds.
    #[validate(range(min = 1, max = 1_000))]
    pub wait_ms_max: u32,
    /// How long a finished answer is kept in Redis, in seconds.
    #[validate(range(min = 5, max = 86_400))]
    pub answers_kept_s: u32,
    /// Names in that time, about, for which the Bloom filter has room.
    #[validate(range(min = 1_000, max = 100_000_000))]
    pub names_max: u32,
}

impl Default for RepeatsSection {
    fn default() -> Self {
        Self {
            redis_urls: Vec::new(),
            redis_url_files: Vec::new(),
            redis_cluster: false,
            redis_ca_files: Vec::new(),
            seal_secrets: Vec::new(),
            seal_secret_files: Vec::new(),
            wait_ms_max: 10,
            answers_kept_s: 120,
            names_max: 1_000_000,
        }
    }
}

impl Configuration {
    /// What the filter for repeats is to be opened with, its secrets read from where they are; nothing, if there is no
    /// Redis.
    ///
    /// # Errors
    ///
    /// A secret that cannot be read or could be guessed, or is missing; no error shows one.
    pub fn repeats_settings(&self) -> anyhow::Result<Option<Settings>> {
        let section = &self.repeats;
        let redis = secrets("repeats.redis_url", &section.redis_urls, &section.redis_url_files, NODES_MAX)?;
        if redis.is_empty() {
            return Ok(None);
        }
        let key = "repeats.seal_secret";
        let sealing = secrets(key, &section.seal_secrets, &section.seal_secret_files, SECRETS_MAX)?;
        let Some(newest) = sealing.first() else {
            bail!(
                "repeats.redis_urls needs {key}s (or {key}_files): without a seal anybody who can write to Redis could answer for the service"
            );
        };
        if self.desk.remembered_mb == 0 {
            bail!(
                "repeats.redis_urls needs desk.remembered_mb: what is told to other servers is taken from the answers that this one remembers"
            );
        }
        let seal = Seal::new(newest.as_bytes(), sealing.get(1).map(String::as_bytes)).with_context(|| {
            format!("{key}s: a secret could be guessed; `openssl rand -base64 48` makes one that cannot")
        })?;
        Ok(Some(Settings {
            redis,
            is_cluster: section.redis_cluster,
            redis_ca: section.certificates()?,
            seal,
            wait_max: millis(section.wait_ms_max),
            answers_kept: Duration::from_secs(section.answers_kept_s.into()),
            names_max: section.names_max as usize,
        }))
    }
}

impl RepeatsSection {
    fn certificates(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let mut all = Vec::new();
        for file in &self.redis_ca_files {
            let name = file.display();
            let text = fs::read_to_string(file)
                .with_context(|| format!("repeats.redis_ca_files: cannot read {name}"))?;
            if !text.contains(BEGIN_CERTIFICATE) {
                bail!("repeats.redis_ca_files: {name} holds no certificate in PEM ({BEGIN_CERTIFICATE})");
            }
            all.extend(text.into_bytes());
            all.push(b'\n');
        }
        Ok((!all.is_empty()).then_some(all))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const STRONG: &str = "kX2vU9fJ0sQmT7aZpL4wRb6yGd1hNc8e";

    fn settings(text: &str) -> anyhow::Result<Option<Settings>> {
        Configuration::parse(Path::new("onefold.toml"), text).unwrap().repeats_settings()
    }

    fn fault(text: &str) -> String {
        format!("{:#}", settings(text).unwrap_err())
    }

    #[test]
    fn what_docker_compose_starts_is_configured_so_that_it_starts() {
        let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
        let text = fs::read_to_string(format!("{deploy}/onefold/onefold.toml")).unwrap();
        let text = text.replace("/run/secrets/", &format!("{deploy}/secrets/"));
        let configuration = Configuration::parse(Path::new("onefold.toml"), &text).unwrap();
        assert!(configuration.repeats_settings().unwrap().is_some());
        assert!(configuration.events.address().is_ok());
    }

    #[test]
    fn without_a_redis_there_is_no_filter() {
        assert!(settings("[repeats]\nwait_ms_max = 5").unwrap().is_none());
    }

    #[test]
    fn a_filter_that_could_be_forged_or_would_say_nothing_stops_the_start() {
        let redis = "redis_urls = [\"redis://127.0.0.1\"]";
        let missing = fault(&format!("[repeats]\n{redis}"));
        assert!(missing.contains("needs repeats.seal_secrets (or repeats.seal_secret_files)"), "{missing}");
        let weak = fault(&format!("[repeats]\n{redis}\nseal_secrets = [\"hush-hush\"]"));
        assert!(weak.starts_with("repeats.seal_secrets: a secret could be guessed"), "{weak}");
        assert!(!weak.contains("hush"), "{weak}");
        let silent =
            fault(&format!("[desk]\nremembered_mb = 0\n[repeats]\n{redis}\nseal_secrets = [\"{STRONG}\"]"));
        assert!(silent.contains("needs desk.remembered_mb"), "{silent}");
    }

    #[test]
    fn a_url_may_stand_in_a_file_and_is_not_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        fs::write(&file, "redis://:password@redis.example:6379\n").unwrap();
        let text = format!("[repeats]\nredis_url_files = [{file:?}]\nseal_secrets = [\"{STRONG}\"]");
        let settings = settings(&text).unwrap().unwrap();
        assert!(!settings.is_cluster && settings.redis_ca.is_none());
        assert_eq!(settings.redis, ["redis://:password@redis.example:6379"]);
        assert!(!format!("{settings:?}").contains("password"));
    }

    #[test]
    fn a_file_that_holds_no_certificate_stops_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().join("ca"), folder.path().join("key"));
        fs::write(&good, "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n").unwrap();
        fs::write(&bad, "-----BEGIN PRIVATE KEY-----\n").unwrap();
        let with = |files: &str| {
            let redis = "redis_urls = [\"rediss://redis.example\"]\nredis_cluster = true";
            settings(&format!("[repeats]\n{redis}\nredis_ca_files = {files}\nseal_secrets = [\"{STRONG}\"]"))
        };
        let settings = with(&format!("[{good:?}, {good:?}]")).unwrap().unwrap();
        assert!(settings.is_cluster);
        let both = String::from_utf8(settings.redis_ca.unwrap()).unwrap();
        assert_eq!(both.matches(BEGIN_CERTIFICATE).count(), 2);
        for (files, why) in [(bad, "holds no certificate"), (folder.path().join("none"), "cannot read")] {
            let fault = format!("{:#}", with(&format!("[{files:?}]")).unwrap_err());
            assert!(fault.starts_with("repeats.redis_ca_files: ") && fault.contains(why), "{fault}");
        }
    }
}
