//! What to do.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

/// A run, as it is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the requests go.
    pub target: Target,
    /// Where the load itself goes, if that is another server on the same database than the one where it is prepared.
    pub load_target: Option<Target>,
    /// What the shell is to do when everything is prepared and there is no load yet, such as counting or stopping something.
    pub before_load: Option<String>,
    /// The client's API key.
    pub api_key: String,
    /// When a request is sent.
    pub pace: Pace,
    /// What is sent.
    pub work: Work,
    /// How the orders spread over the accounts.
    pub spread: Spread,
    /// Connections at the same time; at least 1.
    pub connections: usize,
    /// Threads of the generator, each with its share of the connections; at least 1.
    pub threads: usize,
    /// How long there is load before anything is measured.
    pub warm_up: Duration,
    /// How long is measured.
    pub measured: Duration,
    /// Accounts that are opened and funded for the run; at least 1. One hot account needs no others.
    pub accounts: usize,
    /// The database, to let the audit count in it; without it the audit asks the API.
    pub database: Option<PgConnectOptions>,
    /// Whether to compare what was answered with what is there.
    pub audit: bool,
}

impl Plan {
    /// How many accounts the run opens.
    pub fn accounts_opened(&self) -> usize {
        match self.spread {
            Spread::Hot => 1,
            Spread::Uniform | Spread::Zipf => self.accounts,
        }
    }
}

/// When a request is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Each connection sends its next request when it has the answer to the last: as many as the server takes.
    Closed,
    /// Requests are due at a fixed rate, whatever the server does.
    Open {
        /// How many a second.
        per_second: NonZeroU32,
    },
}

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// New orders, of which this share is sent again: concurrently on a second connection, or right after the answer, in
    /// turns.
    Orders {
        /// 0 to 100.
        duplicates_percent: u8,
    },
    /// Only requests that were answered before the load began, each under its key.
    Replays,
}

/// How the orders spread over the accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Each account is as likely as every other.
    Uniform,
    /// The k-th account is 1/k as likely as the first.
    Zipf,
    /// All on one account.
    Hot,
}

/// A server, by `http://HOST` or `http://HOST:PORT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The host and the port, as they stand in the `Host` header.
    authority: String,
    /// The port, that of HTTP when none is named.
    port: u16,
    /// The host alone, without the brackets of an IPv6 address.
    host: String,
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
            return Err("must begin with http:// (the generator does not speak TLS)".to_owned());
        };
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        if authority.contains(|c: char| "/?#@".contains(c) || c.is_whitespace() || c.is_control()) {
            return Err("must be http://HOST or http://HOST:PORT, without a path".to_owned());
        }
        // The colons of an IPv6 address stand inside its brackets.
        let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
            Some(at) => (&authority[..at], authority[at + 1..].parse().map_err(|_| "the port is not one")?),
            None => (authority, 80),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err("names no host".to_owned());
        }
        Ok(Self { authority: authority.to_owned(), port, host: host.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port() {
        let endpoints = [
            ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
            ("http://localhost:1/", ("localhost", 1)),
            ("http://orders.example", ("orders.example", 80)),
            ("http://[::1]:8080", ("::1", 8080)),
            ("http://[::1]", ("::1", 80)),
        ];
        for (url, endpoint) in endpoints {
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
            "http://x/v1",
            "http://u@x",
            "http://x\r\nA: b",
        ] {
            assert!(url.parse::<Target>().is_err(), "{url:?}");
        }
    }
}
