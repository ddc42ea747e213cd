//! Which amounts can be asked for at a provider.
//!
//! A payment is settled by exactly its amount. What a provider cannot count exactly, or does not take, would wait for money
//! that can never be right; so it is refused before anybody pays.

use money::{Amount, Currency};
use thiserror::Error;

use crate::amount_reading::{IntegerScale, step_of, write_integer};

/// Why a payment could never be settled exactly at its provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Unpayable {
    /// The provider takes no payments in it, or does not count it in a way that is known for sure.
    #[error("it takes no payments in {0}, or counts them in a way that is not known for sure")]
    Currency(Currency),
    /// The amount is finer than the provider counts.
    #[error("it counts {} in steps of {step}", step.currency())]
    Step {
        /// The smallest difference between two amounts.
        step: Amount,
    },
    /// The amount is larger than the provider writes.
    #[error("it takes {most} {} at most", most.currency())]
    TooMuch {
        /// The largest amount.
        most: Amount,
    },
}

/// Whether a provider that counts the amount's currency on this scale, if on any that is known, can be paid exactly so
/// much.
pub(crate) fn payable_on_scale(amount: Amount, scale: Option<IntegerScale>) -> Result<(), Unpayable> {
    let currency = amount.currency();
    let scale = scale.ok_or(Unpayable::Currency(currency))?;
    match write_integer(amount, Some(scale)) {
        Some(_) => Ok(()),
        None => Err(Unpayable::Step { step: step_of(currency, scale) }),
    }
}

#[cfg(test)]
mod tests {
    use crate::ProviderKind;

    use super::*;

    fn payable(provider: &str, amount: &str, code: &str) -> Result<(), String> {
        let amount = Amount::parse(amount, Currency::from_code(code).unwrap()).unwrap();
        let kind = ProviderKind::from_word(provider).unwrap();
        kind.payable(amount).map_err(|unpayable| unpayable.to_string())
    }

    #[test]
    fn what_a_provider_counts_exactly_can_be_asked_for() {
        for (provider, amount, code) in [
            ("stripe", "88.80", "USD"),
            ("stripe", "500", "JPY"),
            ("stripe", "5", "ISK"),
            ("stripe", "1.010", "KWD"),
            ("stripe", "5.00", "MGA"),
            ("alipay", "0.01", "CNY"),
            ("alipay", "999999999.99", "CNY"),
            ("wechatpay", "88.80", "CNY"),
            ("standard", "1.001", "KWD"),
            ("standard", "999999999999999999.99", "CNY"),
        ] {
            assert_eq!(payable(provider, amount, code), Ok(()), "{provider} {amount} {code}");
        }
    }

    #[test]
    fn what_it_does_not_take_or_count_is_refused_with_the_reason() {
        let no_such = |code: &str| {
            format!("it takes no payments in {code}, or counts them in a way that is not known for sure")
        };
        for (provider, amount, code, why) in [
            ("stripe", "500", "UGX", no_such("UGX")),
            ("stripe", "1.001", "KWD", "it counts KWD in steps of 0.010".to_owned()),
            ("stripe", "5.50", "MGA", "it counts MGA in steps of 1.00".to_owned()),
            ("alipay", "88.80", "USD", no_such("USD")),
            ("alipay", "1000000000.00", "CNY", "it takes 999999999.99 CNY at most".to_owned()),
            ("wechatpay", "88.80", "USD", no_such("USD")),
            ("coffer", "1.001", "KWD", "it counts KWD in steps of 0.010".to_owned()),
        ] {
            assert_eq!(payable(provider, amount, code), Err(why), "{provider} {amount} {code}");
        }
    }
}
