//! From a name to addresses that may be called.
//!
//! The addresses that were checked are the ones that are connected to: a name that answers with a public address first and a
//! private one later (DNS rebinding) gains nothing. One address that is not public refuses the name, for a name of the
//! public Internet has no reason to have one.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use notifications::Reach;
use thiserror::Error;
use tokio::net::lookup_host;
use tower::Service;

/// Looks names up, and answers addresses that may be called.
#[derive(Clone, Copy, Debug)]
pub struct Resolver(pub Reach);

/// A name leads nowhere that may be called.
#[derive(Debug, Error)]
pub enum Unresolved {
    /// It cannot be looked up.
    #[error("the name cannot be looked up: {0}")]
    LookUp(#[from] io::Error),
    /// It leads to nothing.
    #[error("the name has no address")]
    NoAddress,
    /// It leads to an address that is not called.
    #[error("the name leads to {0}, which is not of the public Internet and is not called")]
    NotPublic(IpAddr),
}

impl Resolver {
    /// The addresses of a host that may be called.
    async fn resolve(self, host: String) -> Result<std::vec::IntoIter<SocketAddr>, Unresolved> {
        // The port is the connector's to set.
        let found: Vec<SocketAddr> = lookup_host((host, 0)).await?.collect();
        if found.is_empty() {
            return Err(Unresolved::NoAddress);
        }
        match found.iter().find(|address| !self.0.allows(address.ip())) {
            Some(address) => Err(Unresolved::NotPublic(address.ip())),
            None => Ok(found.into_iter()),
        }
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Unresolved;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.resolve(name.as_str().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_this_machine_is_called_only_where_that_is_allowed() {
        let refused = Resolver(Reach::Public).resolve("localhost".to_owned()).await;
        assert!(matches!(refused, Err(Unresolved::NotPublic(address)) if address.is_loopback()));
        let found = Resolver(Reach::Anywhere).resolve("localhost".to_owned()).await.unwrap();
        assert!(found.into_iter().all(|address| address.ip().is_loopback()));
    }
}
