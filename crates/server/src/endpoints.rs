//! The endpoints that payment providers call: each with its provider, its keys, and the client that it belongs to.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};
use client::ClientId;
use payment_callback::{KeyMark, Provider, ProviderKind, Purpose, Trust};
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
    /// How old a payment is when its provider is first asked about it; never, if not given.
    pub polled_after: Option<TimeDelta>,
    /// For how long the bytes of a delivery are kept that a person has to look at.
    pub body_kept: TimeDelta,
}

/// For how long a payment is awaited unless its endpoint says otherwise, in seconds.
pub const PAYMENT_EXPIRES_IN_S: u32 = 30 * 60;

/// How old a payment is when its provider is first asked about it unless its endpoint says otherwise, in seconds.
pub const POLL_AFTER_S: u32 = 60;

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

/// Refuses endpoints whose keys do not keep forgers out: those of the demo, which everybody knows, where others can call;
/// and any with which two clients would believe the same bytes.
///
/// # Errors
///
/// A sentence that names the endpoints, and no key.
pub fn refuse_unsafe(endpoints: &[Endpoint], reached_by_others: bool) -> anyhow::Result<()> {
    if reached_by_others {
        let known: HashSet<KeyMark> = of_demo(None).iter().flat_map(keys_of).collect();
        if let Some(endpoint) =
            endpoints.iter().find(|endpoint| keys_of(endpoint).any(|key| known.contains(&key)))
        {
            bail!(
                "callbacks.{}: it has a key of the demo, which everybody knows: give the provider's own, or listen on a loopback address",
                endpoint.name
            );
        }
    }
    let mut believers: HashMap<(ProviderKind, Trust), &Endpoint> = HashMap::new();
    for endpoint in endpoints {
        for trust in endpoint.provider.trusts() {
            let other = *believers.entry((endpoint.provider.kind(), trust)).or_insert(endpoint);
            if other.client != endpoint.client {
                bail!(
                    "callbacks.{} and callbacks.{} have a key in common: what is sent to {} could be sent again to {}; give each client keys of its own",
                    other.name,
                    endpoint.name,
                    other.client,
                    endpoint.client
                );
            }
        }
    }
    Ok(())
}

fn keys_of(endpoint: &Endpoint) -> impl Iterator<Item = KeyMark> {
    endpoint.provider.trusts().into_iter().map(|trust| trust.key)
}

/// The endpoints of a server, with their clients found. Cheap to clone.
#[derive(Clone, Default, Debug)]
pub struct Endpoints(Arc<HashMap<String, (Endpoint, ClientId)>>);

impl Endpoints {
    /// Finds the clients of these endpoints.
    ///
    /// # Errors
    ///
    /// If a client is not there: its callbacks would have nobody to go to. If two endpoints of a client can ask the same
    /// provider: nobody could say which of the two is to be asked about a payment.
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
        let opened = Self(Arc::new(opened));
        let mut asked = HashSet::new();
        for (endpoint, client) in opened.askable() {
            let provider = endpoint.provider.kind();
            if !asked.insert((client, provider)) {
                bail!(
                    "callbacks.{}: another endpoint of {} has an api of {provider} too: keep the one that is to be asked",
                    endpoint.name,
                    endpoint.client
                );
            }
        }
        Ok(opened)
    }

    /// Warns of keys whose time is over, or has not begun: what they sign is refused, and the server starts all the same,
    /// since the endpoint may have others, and its provider comes again.
    pub fn warn_of_keys_out_of_time(&self, now: DateTime<Utc>) {
        for endpoint in self.all() {
            let out_of_time = endpoint.provider.keys_out_of_time(now);
            for key in &out_of_time {
                tracing::warn!(
                    endpoint = endpoint.name,
                    key,
                    "the time of a provider's key is over or has not begun: what it signs is refused; give the current one"
                );
            }
            if !out_of_time.is_empty() && out_of_time.len() == endpoint.provider.trusts().len() {
                tracing::warn!(
                    endpoint = endpoint.name,
                    "the endpoint has no key of this time: every callback to it is refused until it is given one"
                );
            }
        }
    }

    /// Every endpoint.
    pub fn all(&self) -> impl Iterator<Item = &Endpoint> {
        self.0.values().map(|(endpoint, _)| endpoint)
    }

    /// The endpoints whose configuration says how their provider is asked, with their clients.
    pub fn askable(&self) -> impl Iterator<Item = (&Endpoint, ClientId)> {
        let askable = self.0.values().filter(|(endpoint, _)| endpoint.provider.api().is_some());
        askable.map(|(endpoint, client)| (endpoint, *client))
    }

    /// The providers that can be asked for a client.
    pub fn askable_of(&self, client: ClientId) -> impl Iterator<Item = ProviderKind> {
        self.askable().filter(move |(_, of)| *of == client).map(|(endpoint, _)| endpoint.provider.kind())
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
/// listener only. `asked_at` is where the simulated providers answer, if they are to be asked.
///
/// # Panics
///
/// If the demo's keys are no configuration, which a test would have shown.
pub fn of_demo(asked_at: Option<&str>) -> Vec<Endpoint> {
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
    let endpoint = |(name, mut settings): (&str, Value)| {
        if let Some(base_url) = asked_at {
            settings["api"] = demo_api(name, base_url);
        }
        let kind = ProviderKind::from_word(name).expect("the demo's endpoints are named after providers");
        let provider = kind.build(settings, Purpose::Serving);
        Endpoint {
            name: name.to_owned(),
            client: demo::CLIENT_NAME.to_owned(),
            provider: Arc::from(provider.unwrap_or_else(|fault| panic!("the demo's {name}: {fault}"))),
            payment_expires_in_s: PAYMENT_EXPIRES_IN_S,
            polled_after: Some(TimeDelta::seconds(POLL_AFTER_S.into())),
            body_kept: TimeDelta::days(BODY_KEPT_DAYS.into()),
        }
    };
    configured.into_iter().map(endpoint).collect()
}

/// How one of the demo's providers is asked.
fn demo_api(name: &str, base_url: &str) -> Value {
    match name {
        "stripe" => json!({ "key": demo_keys::stripe::API_KEY, "base_url": base_url }),
        "alipay" => json!({ "app_private_key": demo_keys::alipay::APP_PRIVATE_KEY, "base_url": base_url }),
        "wechatpay" => json!({
            "merchant_serial": demo_keys::wechatpay::MERCHANT_SERIAL,
            "merchant_private_key": demo_keys::wechatpay::MERCHANT_PRIVATE_KEY,
            "base_url": base_url,
        }),
        _ => json!({ "key": demo_keys::standard::API_KEY, "base_url": format!("{base_url}/standard") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_has_an_endpoint_for_each_provider_with_keys_that_are_taken() {
        let names: Vec<String> = of_demo(None).into_iter().map(|endpoint| endpoint.name).collect();
        let providers: Vec<String> = ProviderKind::all().map(|kind| kind.word().to_owned()).collect();
        assert_eq!(names, providers);
    }

    fn of_client(client: &str) -> Vec<Endpoint> {
        let endpoints = of_demo(None).into_iter();
        endpoints
            .map(|endpoint| Endpoint {
                name: format!("{}-of-{client}", endpoint.name),
                client: client.to_owned(),
                ..endpoint
            })
            .collect()
    }

    #[test]
    fn the_demos_keys_are_refused_where_others_can_call() {
        for endpoint in of_client("acme") {
            assert!(refuse_unsafe(std::slice::from_ref(&endpoint), false).is_ok(), "{}", endpoint.name);
            let refused = refuse_unsafe(std::slice::from_ref(&endpoint), true).unwrap_err().to_string();
            assert!(refused.contains(&endpoint.name), "{refused}");
        }
    }

    #[test]
    fn two_clients_do_not_believe_the_same_bytes() {
        for (acmes, others) in of_client("acme").into_iter().zip(of_client("other")) {
            let refused = refuse_unsafe(&[acmes.clone(), others.clone()], false).unwrap_err().to_string();
            assert!(refused.contains(&acmes.name) && refused.contains(&others.name), "{refused}");
            let moved = Endpoint { name: "moved".to_owned(), ..acmes.clone() };
            assert!(refuse_unsafe(&[acmes, moved], false).is_ok(), "one client may have it twice");
        }
    }

    #[test]
    fn the_demos_providers_can_be_asked_where_they_are_simulated() {
        assert!(of_demo(None).iter().all(|endpoint| endpoint.provider.api().is_none()));
        let asked = of_demo(Some("http://127.0.0.1:8090"));
        assert!(asked.iter().all(|endpoint| endpoint.provider.api().is_some()));
    }
}
