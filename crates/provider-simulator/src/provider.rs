//! The four providers, and what each takes for an acknowledgement, and when it tries again.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A payment provider.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Stripe: JSON, HMAC-SHA256.
    Stripe,
    /// Alipay's open platform: a form, RSA.
    Alipay,
    /// WeChat Pay, API v3: JSON around an encrypted resource, RSA and AES-256-GCM.
    WechatPay,
    /// Whoever follows Standard Webhooks 1.0.0: JSON, HMAC-SHA256 or ed25519.
    Standard,
}

/// All of them.
pub const PROVIDERS: [Provider; 4] =
    [Provider::Stripe, Provider::Alipay, Provider::WechatPay, Provider::Standard];

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Stripe publishes no table, only that it backs off exponentially for up to three days: doubled from five minutes, the
/// last of these tries falls in the 43rd hour, and the next would fall outside.
const STRIPE_RETRIES_S: [u64; 9] = [
    5 * MINUTE,
    10 * MINUTE,
    20 * MINUTE,
    40 * MINUTE,
    80 * MINUTE,
    160 * MINUTE,
    320 * MINUTE,
    640 * MINUTE,
    1280 * MINUTE,
];

/// Eight deliveries within some 25 hours.
const ALIPAY_RETRIES_S: [u64; 7] =
    [4 * MINUTE, 10 * MINUTE, 10 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 15 * HOUR];

/// Sixteen deliveries within 24 hours and four minutes.
const WECHATPAY_RETRIES_S: [u64; 15] = [
    15,
    15,
    30,
    3 * MINUTE,
    10 * MINUTE,
    20 * MINUTE,
    30 * MINUTE,
    30 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    3 * HOUR,
    3 * HOUR,
    6 * HOUR,
    6 * HOUR,
];

/// The example of the Standard Webhooks specification.
const STANDARD_RETRIES_S: [u64; 9] =
    [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

impl Provider {
    /// Its name, which is also that of its endpoint in the demo.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::Alipay => "alipay",
            Self::WechatPay => "wechatpay",
            Self::Standard => "standard",
        }
    }

    /// The pauses after each delivery that was not acknowledged, in seconds; after the last it gives up.
    pub const fn retries_s(self) -> &'static [u64] {
        match self {
            Self::Stripe => &STRIPE_RETRIES_S,
            Self::Alipay => &ALIPAY_RETRIES_S,
            Self::WechatPay => &WECHATPAY_RETRIES_S,
            Self::Standard => &STANDARD_RETRIES_S,
        }
    }

    /// How long it waits for an answer. WeChat Pay says 5 s and Standard Webhooks suggests 15 to 30; the other two do not
    /// say, and are given as long as a patient client.
    pub const fn answer_within(self) -> Duration {
        match self {
            Self::WechatPay => Duration::from_secs(5),
            Self::Stripe | Self::Alipay | Self::Standard => Duration::from_secs(20),
        }
    }

    /// Whether it takes this answer for an acknowledgement. A redirect is none, for none of them.
    pub fn takes_for_acknowledged(self, status: u16, body: &[u8]) -> bool {
        match self {
            Self::Stripe | Self::Standard => (200..300).contains(&status),
            // Seven bytes: neither quoted nor with a newline, nor in capitals.
            Self::Alipay => status == 200 && body == b"success",
            // Whatever the body says: 200 with FAIL in it is a success.
            Self::WechatPay => matches!(status, 200 | 204),
        }
    }

    /// Whether this answer makes it stop trying: to a follower of Standard Webhooks, 410 says that nobody is there any more.
    pub const fn ends_on(self, status: u16) -> bool {
        matches!((self, status), (Self::Standard, 410))
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        PROVIDERS
            .into_iter()
            .find(|provider| provider.name() == name)
            .ok_or_else(|| "must be stripe, alipay, wechatpay or standard".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_its_own_acknowledgement_and_no_other() {
        let cases: [(Provider, u16, &[u8], bool); 14] = [
            (Provider::Stripe, 200, b"", true),
            (Provider::Stripe, 204, b"", true),
            (Provider::Stripe, 302, b"", false),
            (Provider::Standard, 299, b"", true),
            (Provider::Standard, 410, b"", false),
            (Provider::Alipay, 200, b"success", true),
            (Provider::Alipay, 200, b"success\n", false),
            (Provider::Alipay, 200, b"\"success\"", false),
            (Provider::Alipay, 200, b"SUCCESS", false),
            (Provider::Alipay, 204, b"success", false),
            (Provider::WechatPay, 204, b"", true),
            (Provider::WechatPay, 200, br#"{"code":"FAIL"}"#, true),
            (Provider::WechatPay, 201, b"", false),
            (Provider::WechatPay, 500, b"", false),
        ];
        for (provider, status, body, acknowledged) in cases {
            assert_eq!(
                provider.takes_for_acknowledged(status, body),
                acknowledged,
                "{provider} {status} {}",
                String::from_utf8_lossy(body)
            );
        }
    }

    #[test]
    fn the_schedules_last_as_long_as_the_providers_say() {
        let hours = |provider: Provider| provider.retries_s().iter().sum::<u64>() / HOUR;
        assert_eq!(PROVIDERS.map(hours), [42, 24, 24, 75]);
        let minutes = Provider::WechatPay.retries_s().iter().sum::<u64>() / MINUTE;
        assert_eq!(minutes, 24 * 60 + 4);
    }

    #[test]
    fn a_provider_is_found_by_its_name() {
        for provider in PROVIDERS {
            assert_eq!(provider.to_string().parse(), Ok(provider));
        }
        assert!("Stripe".parse::<Provider>().is_err());
    }
}
