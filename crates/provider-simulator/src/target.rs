//! A server, by its address.

use std::fmt;
use std::str::FromStr;

/// A server, by `http://HOST` or `http://HOST:PORT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Host and port as they stand in the `Host` header.
    authority: String,
    host: String,
    port: u16,
}

impl Target {
    /// The host and port to connect to.
    pub fn endpoint(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// What stands in the `Host` header.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}", self.authority)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let Some(authority) = url.strip_prefix("http://") else {
            return Err("must begin with http:// (the simulator does not speak TLS)".to_owned());
        };
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let parsed: http::uri::Authority = authority
            .parse()
            .map_err(|_| "must be http://HOST or http://HOST:PORT, without a path".to_owned())?;
        if authority.contains('@') {
            return Err("must not name a user".to_owned());
        }
        let port = match authority.strip_prefix(parsed.host()) {
            None | Some("") => 80,
            Some(port) => {
                port.trim_start_matches(':').parse().map_err(|_| "the port is not one".to_owned())?
            }
        };
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("names no host".to_owned());
        }
        Ok(Self { authority: authority.to_owned(), host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port() {
        for (url, endpoint) in [
            ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
            ("http://localhost:1/", ("localhost", 1)),
            ("http://orders.example", ("orders.example", 80)),
            ("http://[::1]:8080", ("::1", 8080)),
        ] {
            assert_eq!(url.parse::<Target>().as_ref().map(Target::endpoint), Ok(endpoint), "{url}");
        }
    }

    #[test]
    fn what_is_no_plain_http_server_is_refused() {
        for url in [
            "https://x",
            "127.0.0.1:8080",
            "http://",
            "http://x:port",
            "http://x:70000",
            "http://x:",
            "http://x/v1",
            "http://u@x",
            "http://x\r\nA: b",
        ] {
            assert!(url.parse::<Target>().is_err(), "{url:?}");
        }
    }
}
