//! `[callbacks.NAME]`: an endpoint that a payment provider calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use chrono::TimeDelta;
use payment_callback::configuration::with_files_read;
use payment_callback::{ConfigFault, ProviderKind, Purpose};
use serde::Deserialize;
use serde_json::Value;
use validator::Validate;

use crate::endpoints::{BODY_KEPT_DAYS, Endpoint, PAYMENT_EXPIRES_IN_S, POLL_AFTER_S};

/// An endpoint: what is the same for every provider, and the provider's own settings.
#[derive(Clone, PartialEq, Eq, Deserialize, Validate)]
pub struct CallbackSection {
    /// `stripe`, `alipay`, `wechatpay` or `standard`.
    pub provider: String,
    /// The name of the client whose payments it tells of.
    pub client: String,
    /// For how long a payment is awaited, in seconds.
    #[serde(default = "payment_expires_in_s")]
    #[validate(range(min = 1, max = 31_536_000))]
    pub payment_expires_in_s: u32,
    /// How old a payment is, in seconds, when its provider is first asked about it, if `api` says how; 0: never.
    #[serde(default = "poll_after_s")]
    #[validate(range(max = 86_400))]
    pub poll_after_s: u32,
    /// For how many days the bytes of a delivery are kept that a person has to look at.
    #[serde(default = "body_kept_days")]
    #[validate(range(min = 1, max = 3_650))]
    pub body_kept_days: u32,
    /// What the provider's adapter is configured with: keys above all, so it is not printed.
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

fn payment_expires_in_s() -> u32 {
    PAYMENT_EXPIRES_IN_S
}

fn poll_after_s() -> u32 {
    POLL_AFTER_S
}

fn body_kept_days() -> u32 {
    BODY_KEPT_DAYS
}

impl fmt::Debug for CallbackSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackSection")
            .field("provider", &self.provider)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl CallbackSection {
    /// The endpoint, its keys read from where they are.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without any of its values: whatever could accept a forgery is.
    pub fn endpoint(&self, name: &str) -> Result<Endpoint, ConfigFault> {
        if !is_name(name) {
            return Err(ConfigFault("an endpoint's name is 1 to 64 of 0-9 a-z _ -".to_owned()));
        }
        let Some(kind) = ProviderKind::from_word(&self.provider) else {
            let known: Vec<&str> = ProviderKind::all().map(ProviderKind::word).collect();
            return Err(ConfigFault(format!("provider must be one of {}", known.join(", "))));
        };
        let settings = Value::Object(self.settings.clone().into_iter().collect());
        let settings = with_files_read(settings, &mut |path| std::fs::read_to_string(path))?;
        Ok(Endpoint {
            name: name.to_owned(),
            client: self.client.clone(),
            provider: Arc::from(kind.build(settings, Purpose::Serving)?),
            payment_expires_in_s: self.payment_expires_in_s,
            polled_after: (self.poll_after_s > 0).then(|| TimeDelta::seconds(self.poll_after_s.into())),
            body_kept: TimeDelta::days(self.body_kept_days.into()),
        })
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-'))
}
