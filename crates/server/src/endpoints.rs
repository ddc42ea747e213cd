//! The endpoints that payment providers call: each with its provider, its keys, and the client that it belongs to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::TimeDelta;
use client::ClientId;
use payment_callback::{Provider, ProviderKind, Purpose};
use provider_simulator::demo_keys;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::demo;

/// An endpoint as it is configured.
#[derive(Clone)]
pub struct Endpoint {
    /// Its name, which is the last part of its path.
    pub name: String,
    /// The name of the client that it belongs to.
    pub client: String,
    /// Verifies and reads what comes.
    pub provider: Arc<dyn Provider>,
    /// For how long a payment is awaited, in seconds.
    pub payment_expires_in_s: u32,
    /// For how long the bytes of a delivery are kept that a person has to look at.
    pub body_kept: TimeDelta,
}

/// For how long a payment is awaited unless its endpoint says otherwise, in seconds.
pub const PAYMENT_EXPIRES_IN_S: u32 = 30 * 60;

/// For how many days a quarantined body is kept unless its endpoint says otherwise.
pub const BODY_KEPT_DAYS: u32 = 30;

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("client", &self.client)
            .field("provider", &self.provider.kind())
            .finish_non_exhaustive()
    }
}

/// The endpoints of a server, with their clients found. Cheap to clone.
#[derive(Clone, Default, Debug)]
pub struct Endpoints(Arc<HashMap<String, (Endpoint, ClientId)>>);

impl Endpoints {
    /// Finds the clients of these endpoints.
    ///
    /// # Errors
    ///
    /// If two endpoints have one name, or a client is not there: its callbacks would have nobody to go to.
    pub async fn open(endpoints: Vec<Endpoint>, pool: &PgPool) -> anyhow::Result<Self> {
        let mut opened = HashMap::new();
        for endpoint in endpoints {
            let found = client::store::find_client(pool, &endpoint.client).await;
            let client = found.context("cannot look for the clients of the callback endpoints")?;
            let Some(client) = client else {
                bail!(
                    "callbacks.{}: there is no client named {}; make it with `onefold client create {}`",
                    endpoint.name,
                    endpoint.client,
                    endpoint.client
                );
            };
            opened.insert(endpoint.name.clone(), (endpoint, client));
        }
        Ok(Self(Arc::new(opened)))
    }

    /// The endpoint of this name, and whose it is.
    pub fn find(&self, name: &str) -> Option<(&Endpoint, ClientId)> {
        self.0.get(name).map(|(endpoint, client)| (endpoint, *client))
    }

    /// An endpoint of a client for a provider: the first by name, if there are several.
    pub fn of(&self, client: ClientId, provider: ProviderKind) -> Option<&Endpoint> {
        let its =
            self.0.values().filter(|(endpoint, of)| *of == client && endpoint.provider.kind() == provider);
        its.map(|(endpoint, _)| endpoint).min_by(|a, b| a.name.cmp(&b.name))
    }
}

/// The endpoints of the demo, named after their providers. Everybody knows their keys, so they are there on a loopback
/// listener only.
///
/// # Panics
///
/// If the demo's keys are no configuration, which a test would have shown.
pub fn of_demo() -> Vec<Endpoint> {
    let configured: [(&str, Value); 4] = [
        ("stripe", json!({ "secrets": demo_keys::stripe::SECRETS, "livemode": demo_keys::stripe::LIVEMODE })),
        (
            "alipay",
            json!({
                "app_id": demo_keys::alipay::APP_ID,
                "seller_id": demo_keys::alipay::SELLER_ID,
                "alipay_public_keys": [demo_keys::alipay::PLATFORM_PUBLIC_KEY],
            }),
        ),
        (
            "wechatpay",
            json!({
                "mchid": demo_keys::wechatpay::MCHID,
                "appid": demo_keys::wechatpay::APPID,
                "api_v3_key": demo_keys::wechatpay::API_V3_KEY,
                "keys": [
                    {
                        "kind": "public_key",
                        "id": demo_keys::wechatpay::PUBLIC_KEY_ID,
                        "public_key_pem": demo_keys::wechatpay::PLATFORM_PUBLIC_KEY,
                    },
                    {
                        "kind": "platform_cert",
                        "id": demo_keys::wechatpay::PLATFORM_CERTIFICATE_SERIAL,
                        "certificate_pem": demo_keys::wechatpay::PLATFORM_CERTIFICATE,
                    },
                ],
            }),
        ),
        (
            "standard",
            json!({ "secrets": [
                demo_keys::standard::SECRETS[0],
                demo_keys::standard::SECRETS[1],
                demo_keys::standard::PUBLIC_KEY,
            ] }),
        ),
    ];
    let endpoint = |(name, settings): (&str, Value)| {
        let kind = ProviderKind::from_word(name).expect("the demo's endpoints are named after providers");
        let provider = kind.build(settings, Purpose::Serving);
        Endpoint {
            name: name.to_owned(),
            client: demo::CLIENT_NAME.to_owned(),
            provider: Arc::from(provider.unwrap_or_else(|fault| panic!("the demo's {name}: {fault}"))),
            payment_expires_in_s: PAYMENT_EXPIRES_IN_S,
            body_kept: TimeDelta::days(BODY_KEPT_DAYS.into()),
        }
    };
    configured.into_iter().map(endpoint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_has_an_endpoint_for_each_provider_with_keys_that_are_taken() {
        let names: Vec<String> = of_demo().into_iter().map(|endpoint| endpoint.name).collect();
        let providers: Vec<String> = ProviderKind::all().map(|kind| kind.word().to_owned()).collect();
        assert_eq!(names, providers);
    }
}
