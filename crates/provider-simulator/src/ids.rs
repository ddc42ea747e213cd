//! The ids that providers give, in the shape that each gives them.
//!
//! An event's id is new every time. The id of a payment follows from the payment's number, so that whoever simulates a
//! refund tomorrow means the payment of today, with no books kept between.

use chrono::{DateTime, Utc};
use rand::Rng;
use rand::distr::Alphanumeric;
use ring::digest;
use uuid::Uuid;

use crate::alipay::beijing;
use crate::provider::Provider;
use crate::stripe::hex;

/// The id of a new event.
pub fn event(provider: Provider, at: DateTime<Utc>) -> String {
    match provider {
        Provider::Stripe => format!("evt_{}", letters(24)),
        // The date, a fixed group, the time, and a number.
        Provider::Alipay => {
            let at = beijing(at);
            let number = rand::rng().random_range(0..10_u64.pow(15));
            format!("{}00222{}{number:015}", at.format("%Y%m%d"), at.format("%H%M%S"))
        }
        Provider::WechatPay => Uuid::from_u128(rand::rng().random()).to_string(),
        Provider::Standard => format!("msg_{}", letters(27)),
    }
}

/// The provider's id for the `nth` payment, counted from 1, that it took under a number: a buyer can pay twice.
pub fn payment(provider: Provider, payment_no: &str, nth: u32) -> String {
    let seed = format!("{provider} payment {nth} {payment_no}");
    match provider {
        Provider::Stripe => format!("pi_{}", digest_letters(&seed, 24)),
        // The real ones begin with the day; these are told from them by a year that has not come.
        Provider::Alipay => format!("9999{}", digest_digits(&seed, 24)),
        Provider::WechatPay => format!("42000{}", digest_digits(&seed, 23)),
        Provider::Standard => format!("pay_{}", digest_letters(&seed, 24)),
    }
}

/// The provider's id for the refund that the receiver calls `refund_no`.
pub fn refund(provider: Provider, provider_payment_id: &str, refund_no: &str) -> String {
    let seed = format!("{provider} refund {refund_no} of {provider_payment_id}");
    match provider {
        Provider::Stripe | Provider::Standard => format!("re_{}", digest_letters(&seed, 24)),
        Provider::Alipay => format!("9999{}", digest_digits(&seed, 24)),
        Provider::WechatPay => format!("50300{}", digest_digits(&seed, 23)),
    }
}

/// So many letters and digits, by chance.
pub fn letters(count: usize) -> String {
    rand::rng().sample_iter(Alphanumeric).take(count).map(char::from).collect()
}

/// At most 64 hexadecimal digits that follow from `seed`.
fn digest_letters(seed: &str, count: usize) -> String {
    hex(digest::digest(&digest::SHA256, seed.as_bytes()).as_ref())[..count].to_owned()
}

/// At most 32 decimal digits that follow from `seed`.
fn digest_digits(seed: &str, count: usize) -> String {
    let digest = digest::digest(&digest::SHA256, seed.as_bytes());
    digest.as_ref().iter().take(count).map(|byte| char::from(b'0' + byte % 10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::PROVIDERS;

    #[test]
    fn a_payment_keeps_its_id_and_a_second_one_has_another() {
        for provider in PROVIDERS {
            assert_eq!(payment(provider, "P-1", 1), payment(provider, "P-1", 1));
            assert_ne!(payment(provider, "P-1", 1), payment(provider, "P-1", 2));
            assert_ne!(payment(provider, "P-1", 1), payment(provider, "P-2", 1));
            assert_ne!(refund(provider, "p", "R-1"), refund(provider, "p", "R-2"));
            assert_ne!(event(provider, DateTime::UNIX_EPOCH), event(provider, DateTime::UNIX_EPOCH));
        }
    }

    #[test]
    fn an_id_has_its_providers_shape() {
        let at = DateTime::from_timestamp(1_795_910_399, 0).unwrap();
        let notify_id = event(Provider::Alipay, at);
        assert!(notify_id.starts_with("2026112900222075959") && notify_id.len() == 34, "{notify_id}");
        assert_eq!(payment(Provider::Alipay, "P-1", 1).len(), 28);
        assert_eq!(payment(Provider::WechatPay, "P-1", 1).len(), 28);
        assert!(!event(Provider::Standard, at).contains('.'));
    }
}
