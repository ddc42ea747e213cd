//! Keys of Standard Webhooks, and what each can verify.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{Signature, VerifyingKey};

use crate::provider::ConfigFault;
use crate::secret::NamedKey;
use crate::signature::HmacSha256;
use crate::trust::KeyMark;

/// A key is written with or without padding: libraries differ in what they print.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Refuses a secret that others know: the bytes of a public key, or one byte over and over.
pub(super) fn secrets_are_secret(keys: &[WebhookKey]) -> Result<(), ConfigFault> {
    for key in keys {
        let Material::Secret(secret) = &key.material else { continue };
        let is_public = |other: &WebhookKey| match &other.material {
            Material::PublicKey(public) => public.as_bytes()[..] == secret[..],
            Material::Secret(_) => false,
        };
        if keys.iter().any(is_public) {
            return Err(ConfigFault(format!(
                "secrets: {} is a public key: anybody could sign with it",
                key.id
            )));
        }
        if secret.iter().all(|byte| *byte == secret[0]) {
            let id = &key.id;
            return Err(ConfigFault(format!(
                "secrets: {id} is one byte over and over: anybody could guess it"
            )));
        }
    }
    Ok(())
}

/// What a signature covers.
#[derive(Clone, Copy)]
pub(super) struct Signed<'a> {
    pub(super) id: &'a str,
    pub(super) timestamp: &'a str,
    pub(super) body: &'a [u8],
}

impl Signed<'_> {
    fn parts(&self) -> [&[u8]; 5] {
        [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", self.body]
    }
}

/// A key that deliveries are verified with.
pub(super) struct WebhookKey {
    pub(super) id: String,
    material: Material,
}

enum Material {
    /// For `v1`.
    Secret(Vec<u8>),
    /// For `v1a`.
    PublicKey(VerifyingKey),
}

impl WebhookKey {
    pub(super) fn new(key: NamedKey) -> Result<WebhookKey, ConfigFault> {
        let fault = |problem: &str| ConfigFault(format!("secrets: {} {problem}", key.id));
        let decoded =
            |base64: &str| BASE64.decode(base64).map_err(|_| fault("is not base64 behind its prefix"));
        let text = key.key.expose();
        let material = if let Some(base64) = text.strip_prefix("whsec_") {
            let secret = decoded(base64)?;
            // The specification's own bounds. With an empty secret anybody can sign.
            if !(24..=64).contains(&secret.len()) {
                return Err(fault("is not 24 to 64 bytes long: anybody could sign with a short one"));
            }
            Material::Secret(secret)
        } else if let Some(base64) = text.strip_prefix("whpk_") {
            let bytes = decoded(base64)?
                .try_into()
                .map_err(|_| fault("is not 32 bytes long, as an ed25519 key is"))?;
            let public_key = VerifyingKey::from_bytes(&bytes).map_err(|_| fault("is no ed25519 key"))?;
            if public_key.is_weak() {
                return Err(fault("is a weak ed25519 key: one signature would do for any content"));
            }
            Material::PublicKey(public_key)
        } else if text.starts_with("whsk_") {
            return Err(fault("is a private key: give the sender's public key, whpk_"));
        } else {
            return Err(fault("begins neither with whsec_ nor with whpk_, so its algorithm is not known"));
        };
        Ok(WebhookKey { id: key.id, material })
    }

    pub(super) fn mark(&self) -> KeyMark {
        match &self.material {
            Material::Secret(secret) => KeyMark::of(secret),
            Material::PublicKey(key) => KeyMark::of(key.as_bytes()),
        }
    }

    /// How entries of `webhook-signature` begin that this key can verify.
    pub(super) fn version(&self) -> &'static str {
        match self.material {
            Material::Secret(_) => "v1",
            Material::PublicKey(_) => "v1a",
        }
    }

    /// Whether one of `signatures` is that of `signed` under this key.
    pub(super) fn has_signed(
        &self,
        signed: &Signed<'_>,
        signatures: impl IntoIterator<Item = Vec<u8>>,
    ) -> bool {
        let mut signatures = signatures.into_iter();
        match &self.material {
            Material::Secret(secret) => {
                let code = HmacSha256::of(secret, &signed.parts());
                signatures.any(|signature| code.is(&signature))
            }
            Material::PublicKey(public_key) => {
                let content = signed.parts().concat();
                signatures
                    .filter_map(|signature| Signature::from_slice(&signature).ok())
                    .any(|signature| public_key.verify_strict(&content, &signature).is_ok())
            }
        }
    }
}

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookKey").field("id", &self.id).finish_non_exhaustive()
    }
}
