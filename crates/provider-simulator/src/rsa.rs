//! RSA signatures as Alipay and WeChat Pay make them: RSASSA-PKCS1-v1_5 with SHA-256, in base64.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey};

/// What stands before the two numbers of an RSA key of 2048 bits in its SPKI (RFC 5280, 4.1.2.7): the algorithm
/// rsaEncryption without parameters, and the length of a bit string of 270 bytes.
const SPKI_2048: [u8; 24] = [
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
    0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00,
];

/// A key that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not an RSA key in PEM: PKCS #8, or SPKI of 2048 bits")]
pub struct BadKey;

/// The private half.
pub struct SigningKey(RsaKeyPair);

/// It says no more of the key than that there is one.
impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// A key from PKCS #8 in PEM.
    ///
    /// # Errors
    ///
    /// When it is something else, or has fewer than 2048 bits.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        RsaKeyPair::from_pkcs8(&der(pem)?).map(Self).map_err(|_| BadKey)
    }

    /// The signature of `message`, in base64.
    pub fn sign(&self, message: &[u8]) -> String {
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .expect("a buffer of the modulus' length takes the signature");
        BASE64_STANDARD.encode(signature)
    }
}

/// The public half.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    /// Modulus and exponent, as PKCS #1 has them.
    numbers: Vec<u8>,
}

impl VerifyingKey {
    /// A key from SPKI in PEM.
    ///
    /// # Errors
    ///
    /// When it is something else, or has not 2048 bits.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        let der = der(pem)?;
        let numbers = der.strip_prefix(&SPKI_2048).ok_or(BadKey)?;
        Ok(Self { numbers: numbers.to_vec() })
    }

    /// Whether `signature`, in base64, is that of `message`.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let Ok(signature) = BASE64_STANDARD.decode(signature) else { return false };
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.numbers);
        key.verify(message, &signature).is_ok()
    }
}

fn der(pem: &str) -> Result<Vec<u8>, BadKey> {
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    BASE64_STANDARD.decode(base64.trim()).map_err(|_| BadKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo_keys::{alipay, wechatpay};

    #[test]
    fn each_public_key_of_the_demo_belongs_to_its_private_one() {
        for (private, public) in [
            (alipay::PLATFORM_PRIVATE_KEY, alipay::PLATFORM_PUBLIC_KEY),
            (alipay::APP_PRIVATE_KEY, alipay::APP_PUBLIC_KEY),
            (wechatpay::PLATFORM_PRIVATE_KEY, wechatpay::PLATFORM_PUBLIC_KEY),
            (wechatpay::MERCHANT_PRIVATE_KEY, wechatpay::MERCHANT_PUBLIC_KEY),
        ] {
            let signature = SigningKey::from_pem(private).unwrap().sign(b"message");
            let verifying = VerifyingKey::from_pem(public).unwrap();
            assert!(verifying.verifies(b"message", &signature));
            assert!(!verifying.verifies(b"another", &signature));
            assert!(!verifying.verifies(b"message", "no base64"));
        }
    }

    #[test]
    fn a_key_of_another_kind_is_refused() {
        assert_eq!(SigningKey::from_pem(alipay::APP_PUBLIC_KEY).err(), Some(BadKey));
        assert_eq!(VerifyingKey::from_pem(alipay::APP_PRIVATE_KEY).err(), Some(BadKey));
        assert_eq!(VerifyingKey::from_pem("-----BEGIN PUBLIC KEY-----\n?\n").err(), Some(BadKey));
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let key = SigningKey::from_pem(alipay::APP_PRIVATE_KEY).unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey(..)");
    }
}
