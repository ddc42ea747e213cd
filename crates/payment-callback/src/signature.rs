//! Signatures: HMAC-SHA256, RSA (PKCS #1 v1.5 with SHA-256) and ed25519, and the keys for them.
//!
//! Which algorithm is used follows from the configured key, never from what a delivery says of itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rsa::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use rsa::traits::PublicKeyParts as _;
use sha2::Sha256;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem as _, Encode as _};

use crate::provider::ConfigFault;
use crate::secret::Secret;
use crate::trust::KeyMark;

/// Shorter RSA keys can be factored, and then anybody can sign.
const RSA_BYTES_MIN: usize = 2_048 / 8;

/// The code of what was signed, so far; each of several signatures can be compared with it.
#[derive(Clone)]
pub(crate) struct HmacSha256(Hmac<Sha256>);

impl HmacSha256 {
    /// The code of `parts`, one behind the other.
    pub(crate) fn of(key: &[u8], parts: &[&[u8]]) -> HmacSha256 {
        let mut code = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
        for part in parts {
            code.update(part);
        }
        HmacSha256(code)
    }

    /// Whether `code` is this one: all of its 32 bytes, compared in constant time.
    pub(crate) fn is(&self, code: &[u8]) -> bool {
        self.0.clone().verify_slice(code).is_ok()
    }

    /// The 32 bytes.
    #[cfg(test)]
    pub(crate) fn bytes(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
}

/// An RSA public key of 2048 to 8192 bits.
#[derive(Clone, Debug)]
pub(crate) struct RsaPublicKey(rsa::PublicKey);

impl RsaPublicKey {
    /// Reads PEM (`BEGIN PUBLIC KEY`), or what stands between its lines, as merchant consoles show it.
    pub(crate) fn parse(text: &str, setting: &str) -> Result<RsaPublicKey, ConfigFault> {
        if text.contains("PRIVATE KEY") {
            return Err(ConfigFault(format!("{setting} is a private key: give the provider's public key")));
        }
        if text.contains("BEGIN CERTIFICATE") {
            return Ok(PlatformCertificate::parse(text, setting)?.public_key);
        }
        let key = if text.contains("-----BEGIN") {
            rsa::PublicKey::from_public_key_pem(text).ok()
        } else {
            let base64: String = text.split_whitespace().collect();
            STANDARD.decode(base64).ok().and_then(|der| rsa::PublicKey::from_public_key_der(&der).ok())
        };
        let key = key.ok_or_else(|| {
            ConfigFault(format!("{setting} is no RSA public key in PEM (SubjectPublicKeyInfo) or its base64"))
        })?;
        RsaPublicKey::long_enough(key, setting)
    }

    /// Whether `signature` is that of `content` under this key.
    pub(crate) fn verifies(&self, content: &[u8], signature: &[u8]) -> bool {
        self.0.pkcs1v15_verify::<Sha256>(content, signature).is_ok()
    }

    /// Its mark, however it was written.
    pub(crate) fn mark(&self) -> KeyMark {
        let (modulus, exponent) = (self.0.n_bytes(), self.0.e_bytes());
        KeyMark::of(&[&modulus[..], b" ", &exponent[..]].concat())
    }

    fn long_enough(key: rsa::PublicKey, setting: &str) -> Result<RsaPublicKey, ConfigFault> {
        if key.size() < RSA_BYTES_MIN {
            return Err(ConfigFault(format!("{setting} has fewer than 2048 bits: it could be broken")));
        }
        Ok(RsaPublicKey(key))
    }
}

/// Our own RSA key, for what we ask a provider.
#[derive(Clone)]
pub(crate) struct RsaPrivateKey(rsa::PrivateKey);

impl RsaPrivateKey {
    /// Reads PKCS #8 in PEM (`BEGIN PRIVATE KEY`), or the base64 between its lines.
    pub(crate) fn parse(key: &Secret, setting: &str) -> Result<RsaPrivateKey, ConfigFault> {
        let text = key.expose();
        let read = if text.contains("-----BEGIN") {
            rsa::PrivateKey::from_pkcs8_pem(text.trim()).ok()
        } else {
            let base64: String = text.split_whitespace().collect();
            STANDARD.decode(base64).ok().and_then(|der| rsa::PrivateKey::from_pkcs8_der(&der).ok())
        };
        let key = read.ok_or_else(|| {
            ConfigFault(format!(
                "{setting} is no RSA private key in PKCS #8: in PEM (BEGIN PRIVATE KEY) or its base64"
            ))
        })?;
        if key.size() < RSA_BYTES_MIN {
            return Err(ConfigFault(format!("{setting} has fewer than 2048 bits")));
        }
        Ok(RsaPrivateKey(key))
    }

    /// The signature of `content`, in base64.
    pub(crate) fn sign(&self, content: &[u8]) -> String {
        let signature = self.0.pkcs1v15_sign::<Sha256>(content);
        STANDARD.encode(signature.expect("a key of 2048 bits has room for a digest of 256"))
    }
}

impl std::fmt::Debug for RsaPrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RsaPrivateKey")
    }
}

/// A provider's certificate: its key, and when it may be used.
#[derive(Clone, Debug)]
pub(crate) struct PlatformCertificate {
    pub(crate) public_key: RsaPublicKey,
    /// Upper-case hexadecimal, without the zero that DER puts before a high bit.
    pub(crate) serial: String,
    not_before: u64,
    not_after: u64,
}

impl PlatformCertificate {
    /// Reads PEM (`BEGIN CERTIFICATE`). Nobody is asked whether the certificate is to be trusted: it was put into the
    /// configuration by who trusts it.
    pub(crate) fn parse(pem: &str, setting: &str) -> Result<PlatformCertificate, ConfigFault> {
        let fault = || ConfigFault(format!("{setting} is no X.509 certificate with an RSA key, in PEM"));
        let certificate = Certificate::from_pem(pem.trim()).map_err(|_| fault())?;
        let certificate = certificate.tbs_certificate();
        let key = certificate.subject_public_key_info().to_der().map_err(|_| fault())?;
        let key = rsa::PublicKey::from_public_key_der(&key).map_err(|_| fault())?;
        let serial = certificate.serial_number().as_bytes();
        let serial = serial.strip_prefix(&[0]).unwrap_or(serial);
        let validity = certificate.validity();
        Ok(PlatformCertificate {
            public_key: RsaPublicKey::long_enough(key, setting)?,
            serial: serial.iter().map(|byte| format!("{byte:02X}")).collect(),
            not_before: validity.not_before.to_unix_duration().as_secs(),
            not_after: validity.not_after.to_unix_duration().as_secs(),
        })
    }

    /// Whether the certificate may be used at that time.
    pub(crate) fn is_valid_at(&self, now: DateTime<Utc>) -> bool {
        u64::try_from(now.timestamp()).is_ok_and(|now| (self.not_before..=self.not_after).contains(&now))
    }
}

/// Base64 with the usual alphabet, padded, and with no bit that does not count: each value has one spelling.
pub(crate) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// 64 lower-case hexadecimal digits, as the 32 bytes that they are.
pub(crate) fn lower_hex_32(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = lower_hex_digit(digits[0])? << 4 | lower_hex_digit(digits[1])?;
    }
    Some(bytes)
}

fn lower_hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_lower_case_and_complete() {
        let good = "0123456789abcdef".repeat(4);
        assert_eq!(lower_hex_32(&good).map(|bytes| bytes[1]), Some(0x23));
        assert_eq!(lower_hex_32(&good.to_uppercase()), None);
        assert_eq!(lower_hex_32(&good[2..]), None);
        assert_eq!(lower_hex_32(&format!("{}é", &good[2..])), None);
    }

    #[test]
    fn base64_has_one_spelling() {
        assert_eq!(base64_bytes("AA=="), Some(vec![0]));
        for text in ["AB==", "AA", "AA=", "A A=", "AA==\n", "_-A="] {
            assert_eq!(base64_bytes(text), None, "{text}");
        }
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_code_is_that_of_rfc_4231() {
        let code = HmacSha256::of(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let expected =
            lower_hex_32("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843").unwrap();
        assert!(code.is(&expected));
        assert!(!code.is(&expected[..31]));
        assert!(!code.is(&[]));
    }
}
