//! How a Redis is reached, and what all of a server's share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisResult, TlsCertificates};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::counted::Counted;
use super::names::Names;

/// What all Redis of a server are opened with. Cheap to clone.
#[derive(Clone)]
pub struct Opening {
    /// How long one may take to answer.
    pub wait_max: Duration,
    /// The names that any of them may know.
    pub names: Arc<Names>,
    /// What is counted.
    pub counted: Counted,
    /// Told when one says that another one is asked for a name: a cluster has changed.
    pub moved: Arc<Notify>,
    /// Ends all of them.
    pub stop: CancellationToken,
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("wait_max", &self.wait_max).finish_non_exhaustive()
    }
}

/// A client for a URL; `rediss://` is over TLS. Certificates are checked against `ca`, in PEM, if there is one, else against
/// those that the system trusts.
///
/// # Errors
///
/// If it is no URL of a Redis, or `ca` holds something that is no certificate.
pub(super) fn client(url: &str, ca: Option<&[u8]>) -> RedisResult<Client> {
    let info = url.into_connection_info()?;
    match (info.addr(), ca) {
        (ConnectionAddr::TcpTls { .. }, Some(ca)) => {
            let trusted = TlsCertificates { client_tls: None, root_cert: Some(ca.to_vec()) };
            Client::build_with_tls(info, trusted)
        }
        _ => Client::open(info),
    }
}

/// A client for another address, reached in the same way: with the same user and password, and over TLS if that one is.
pub(super) fn client_like(known: &Client, host: &str, port: u16) -> RedisResult<Client> {
    let info = known.get_connection_info().clone();
    let host = host.to_owned();
    let address = match info.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    Client::open(info.set_addr(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_a_cluster_is_reached_as_the_one_that_has_named_it() {
        let of = |url: &str| {
            let other = client_like(&client(url, None).unwrap(), "10.0.0.9", 7001).unwrap();
            let info = other.get_connection_info();
            let settings = info.redis_settings();
            let over_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
            (info.addr().to_string(), over_tls, settings.password().map(str::to_owned))
        };
        assert_eq!(of("redis://:hush@10.0.0.1:7000"), ("10.0.0.9:7001".into(), false, Some("hush".into())));
        assert_eq!(of("rediss://10.0.0.1:7000"), ("10.0.0.9:7001".into(), true, None));
    }

    #[test]
    fn what_is_no_redis_is_refused() {
        for url in ["http://127.0.0.1", "redis//127.0.0.1", ""] {
            assert!(client(url, None).is_err(), "{url:?}");
        }
        let no_certificate = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        assert!(client("rediss://127.0.0.1", Some(no_certificate)).is_err());
    }
}
