//! Signing a delivery by the Standard Webhooks specification: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Secret;

/// The value of `webhook-signature`: `v1,` and the signature, for each secret, with a blank between.
///
/// `id` is the value of `webhook-id` and `at` that of `webhook-timestamp`, in seconds since 1970. A receiver verifies over
/// exactly the bytes of the body, and takes no timestamp that is more than some minutes from its own clock.
pub fn sign(secrets: &[Secret], id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
    let signatures = secrets.iter().map(|secret| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("HMAC takes a key of any length");
        mac.update(format!("{id}.{}.", at.timestamp()).as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    });
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn the_signature_is_that_of_the_specifications_libraries() {
        let secret = Secret::from_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let at = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        let signed = sign(
            std::slice::from_ref(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = sign(&[secret.clone(), secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b"{}");
        assert_eq!(both.split(' ').count(), 2, "one for each secret");
    }

    #[test]
    fn a_secret_has_its_prefix_and_its_length_and_is_not_printed() {
        let secret = Secret::of_random([7; 32]);
        assert_eq!(Secret::from_text(&secret.reveal()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_*"] {
            assert_eq!(Secret::from_text(text), None, "{text}");
        }
    }
}
