//! Proxies in front of the service, in `[http]`: whose word counts for where a request comes from.

use gateway::forwarded::{ForwardedHeader, NoProxyNetwork, ProxyNetwork, TrustedProxies};
use serde::{Deserialize, Serialize};

/// A network of proxies, such as `10.0.0.0/8`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrustedProxy(pub ProxyNetwork);

impl TryFrom<String> for TrustedProxy {
    type Error = NoProxyNetwork;

    fn try_from(text: String) -> Result<Self, NoProxyNetwork> {
        text.parse().map(Self)
    }
}

impl From<TrustedProxy> for String {
    fn from(TrustedProxy(network): TrustedProxy) -> Self {
        network.to_string()
    }
}

/// The header in which those proxies say whom they were called by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyHeader {
    /// `X-Forwarded-For`
    XForwardedFor,
    /// `Forwarded` (RFC 7239)
    Forwarded,
}

impl ProxyHeader {
    /// These proxies, with this header.
    pub fn of(self, proxies: &[TrustedProxy]) -> TrustedProxies {
        TrustedProxies {
            networks: proxies.iter().map(|TrustedProxy(network)| *network).collect(),
            header: match self {
                Self::XForwardedFor => ForwardedHeader::XForwardedFor,
                Self::Forwarded => ForwardedHeader::Forwarded,
            },
        }
    }
}
