//! Where a client wants to be told, and of what.

use std::net::IpAddr;

use client::ClientId;
use thiserror::Error;
use url::{Host, Url};
use uuid::Uuid;

use crate::Secret;
use crate::address::is_public;

/// How long a URL may be, in bytes.
const URL_BYTES_MAX: usize = 2_048;

/// Identifies an endpoint: UUID version 7.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, derive_more::Display, derive_more::From,
)]
pub struct EndpointId(pub Uuid);

/// An endpoint of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Whose it is.
    pub client_id: ClientId,
    /// Its identity.
    pub id: EndpointId,
    /// Where it is, as it was given.
    pub url: String,
    /// What deliveries are signed with: one secret, or two while the receiver goes over from one to the other.
    pub secrets: Vec<Secret>,
    /// The types of events that it is told of; all, if there are none.
    pub event_types: Vec<String>,
}

impl Endpoint {
    /// Whether it is told of events of this type. A type that ends in `*` stands for all that begin so.
    pub fn wants(&self, event_type: &str) -> bool {
        let fits = |wanted: &String| match wanted.strip_suffix('*') {
            Some(beginning) => event_type.starts_with(beginning),
            None => wanted == event_type,
        };
        self.event_types.is_empty() || self.event_types.iter().any(fits)
    }
}

/// How far endpoints may be away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Public addresses alone, over TLS.
    Public,
    /// Any address, this machine's own too, and without TLS: for local runs and tests.
    Anywhere,
}

impl Reach {
    /// Whether this address may be called.
    pub fn allows(self, address: IpAddr) -> bool {
        self == Self::Anywhere || is_public(address)
    }
}

/// The URL of an endpoint, in the one spelling that every reader of URLs understands alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointUrl(Url);

/// What is wrong with a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EndpointFault {
    /// It is no URL.
    #[error("it must be a URL such as https://shop.example/webhooks, of {URL_BYTES_MAX} bytes at most")]
    NoUrl,
    /// It is not secret on its way.
    #[error("it must begin with https://, so that nobody on the way reads or changes what it is told")]
    NotEncrypted,
    /// It has a name and a password in it, which would be sent nowhere.
    #[error("it must not have a user or a password in it")]
    HasCredentials,
    /// It names an address that is not of the public Internet.
    #[error(
        "it must be of the public Internet: an address of this machine or of a private network is not called"
    )]
    NotPublic,
}

impl EndpointUrl {
    /// Reads a URL. A name in it is not looked up: where it leads is judged each time that it is called.
    ///
    /// # Errors
    ///
    /// [`EndpointFault`].
    pub fn parse(text: &str, reach: Reach) -> Result<Self, EndpointFault> {
        let url =
            Url::parse(text).ok().filter(|_| text.len() <= URL_BYTES_MAX).ok_or(EndpointFault::NoUrl)?;
        match (url.scheme(), reach) {
            ("https", _) | ("http", Reach::Anywhere) => {}
            ("http", Reach::Public) => return Err(EndpointFault::NotEncrypted),
            _ => return Err(EndpointFault::NoUrl),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointFault::HasCredentials);
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err(EndpointFault::NoUrl),
        };
        match address {
            Some(address) if !reach.allows(address) => Err(EndpointFault::NotPublic),
            _ => Ok(Self(url)),
        }
    }

    /// The URL in its one spelling.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Option<EndpointFault> {
        EndpointUrl::parse(text, Reach::Public).err()
    }

    #[test]
    fn a_url_is_public_and_encrypted_and_has_no_password() {
        assert_eq!(fault("https://shop.example/hooks?a=1"), None);
        assert_eq!(fault("https://8.8.8.8/"), None);
        assert_eq!(fault("http://shop.example/"), Some(EndpointFault::NotEncrypted));
        assert_eq!(fault("https://user:secret@shop.example/"), Some(EndpointFault::HasCredentials));
        for text in
            ["", "shop.example", "ftp://shop.example/", "file:///etc/passwd", "https://", "gopher://x/"]
        {
            assert_eq!(fault(text), Some(EndpointFault::NoUrl), "{text}");
        }
        assert_eq!(fault(&format!("https://shop.example/{}", "x".repeat(2_048))), Some(EndpointFault::NoUrl));
    }

    #[test]
    fn an_address_in_whatever_spelling_is_the_address_that_it_is() {
        for text in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest",
            "https://0/",
            "https://１２７.0.0.1/",
        ] {
            assert_eq!(fault(text), Some(EndpointFault::NotPublic), "{text}");
            assert!(EndpointUrl::parse(text, Reach::Anywhere).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_endpoint_is_told_of_what_it_asked_for() {
        let endpoint = |types: &[&str]| Endpoint {
            client_id: ClientId(Uuid::nil()),
            id: EndpointId(Uuid::nil()),
            url: String::new(),
            secrets: Vec::new(),
            event_types: types.iter().map(|text| (*text).to_owned()).collect(),
        };
        let paid = "onefold.order.paid.v1";
        assert!(endpoint(&[]).wants(paid));
        assert!(endpoint(&["onefold.order.*"]).wants(paid));
        assert!(endpoint(&["onefold.sku.set.v1", paid]).wants(paid));
        assert!(!endpoint(&["onefold.order.paid"]).wants(paid));
        assert!(!endpoint(&["onefold.movement.*"]).wants(paid));
    }
}
