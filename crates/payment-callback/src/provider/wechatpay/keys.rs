//! The keys of an endpoint: those that sign what WeChat Pay sends, and the one that encrypts its content.

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::provider::{ConfigFault, Purpose};
use crate::secret::Secret;
use crate::signature::{PlatformCertificate, RsaPublicKey};

/// A key as it is configured.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ListedPlatformKey {
    /// WeChat Pay's public key, from the merchant's console. It does not expire.
    PublicKey {
        /// `PUB_KEY_ID_…`.
        id: String,
        #[serde(alias = "public_key")]
        public_key_pem: String,
    },
    /// A platform certificate. It expires, and another follows it.
    PlatformCert {
        /// The serial number; it is read from the certificate where it is left out.
        id: Option<String>,
        #[serde(alias = "certificate")]
        certificate_pem: String,
    },
}

/// A key that signs what WeChat Pay sends.
#[derive(Clone, Debug)]
pub(super) struct PlatformKey {
    /// As it stands in `Wechatpay-Serial`.
    pub(super) id: String,
    pub(super) public_key: RsaPublicKey,
    /// That of a certificate; a public key has no end.
    certificate: Option<PlatformCertificate>,
}

impl PlatformKey {
    pub(super) fn new(listed: ListedPlatformKey) -> Result<PlatformKey, ConfigFault> {
        match listed {
            ListedPlatformKey::PublicKey { id, public_key_pem } => {
                if !id.starts_with("PUB_KEY_ID_") {
                    return Err(ConfigFault(format!(
                        "keys: the id of a public key begins with PUB_KEY_ID_, {id} does not"
                    )));
                }
                let public_key = RsaPublicKey::parse(&public_key_pem, &format!("keys: {id}"))?;
                Ok(PlatformKey { id, public_key, certificate: None })
            }
            ListedPlatformKey::PlatformCert { id, certificate_pem } => {
                let setting = format!("keys: {}", id.as_deref().unwrap_or("a certificate"));
                let certificate = PlatformCertificate::parse(&certificate_pem, &setting)?;
                if id.is_some_and(|id| !id.eq_ignore_ascii_case(&certificate.serial)) {
                    return Err(ConfigFault(format!(
                        "{setting}: the certificate has another serial number, {}",
                        certificate.serial
                    )));
                }
                Ok(PlatformKey {
                    id: certificate.serial.clone(),
                    public_key: certificate.public_key.clone(),
                    certificate: Some(certificate),
                })
            }
        }
    }

    /// A serial number is hexadecimal, in upper case by custom; the id of a public key is taken as it is.
    pub(super) fn is_called(&self, serial: &str) -> bool {
        match self.certificate {
            Some(_) => self.id.eq_ignore_ascii_case(serial),
            None => self.id == serial,
        }
    }

    pub(super) fn is_public_key(&self) -> bool {
        self.certificate.is_none()
    }

    pub(super) fn is_valid_at(&self, now: DateTime<Utc>) -> bool {
        self.certificate.as_ref().is_none_or(|certificate| certificate.is_valid_at(now))
    }
}

/// The APIv3 key as it is configured: one, or several while it is changed.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an APIv3 key, or a list of them")]
pub(super) enum ApiV3Secrets {
    One(Secret),
    Several(Vec<Secret>),
}

/// The APIv3 keys. A merchant has one; between its change in WeChat Pay's console and here, notifications come that were
/// encrypted with the other.
pub(super) struct ApiV3Keys(Vec<Aes256Gcm>);

impl ApiV3Keys {
    /// Reads them. A key of a wrong length decrypts nothing; for a diagnosis it is left out.
    pub(super) fn new(secrets: &ApiV3Secrets, purpose: Purpose) -> Result<ApiV3Keys, ConfigFault> {
        let secrets = match secrets {
            ApiV3Secrets::One(secret) => std::slice::from_ref(secret),
            ApiV3Secrets::Several(secrets) => secrets,
        };
        if secrets.is_empty() {
            return Err(ConfigFault("api_v3_key is an empty list: nothing could be decrypted".to_owned()));
        }
        let mut ciphers = Vec::with_capacity(secrets.len());
        for secret in secrets {
            let key = secret.expose().as_bytes();
            match Aes256Gcm::new_from_slice(key) {
                Ok(cipher) => ciphers.push(cipher),
                Err(_) if purpose == Purpose::Diagnosis => {}
                Err(_) => {
                    let bytes = key.len();
                    return Err(ConfigFault(format!(
                        "api_v3_key has {bytes} bytes, where an APIv3 key has 32"
                    )));
                }
            }
        }
        Ok(ApiV3Keys(ciphers))
    }

    /// What `ciphertext` (the tag at its end included) says, if one of these keys made it together with
    /// `associated_data`.
    pub(super) fn decrypt(&self, nonce: &[u8], associated_data: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
        let nonce = Nonce::try_from(nonce).ok()?;
        let decrypted = |cipher: &Aes256Gcm| {
            cipher.decrypt(&nonce, Payload { msg: ciphertext, aad: associated_data }).ok()
        };
        self.0.iter().find_map(decrypted)
    }
}

impl std::fmt::Debug for ApiV3Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiV3Keys")
    }
}
