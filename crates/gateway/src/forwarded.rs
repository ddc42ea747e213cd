//! Which address a request comes from, where proxies stand in front.
//!
//! A proxy adds the address that it was called from to a header, behind whatever its caller has put there. So the header is read
//! from its end, and only as far as whoever has written a piece of it is trusted: the first address that is no trusted proxy's
//! is the source, and what stands before it anybody can have written.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::HeaderMap;
use ipnet::IpNet;

/// A network of proxies that are trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProxyNetwork(IpNet);

/// Why a text is no network of proxies.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoProxyNetwork {
    /// It is something else.
    #[error("{0:?} is neither an address nor a network, such as 10.1.2.3, 10.0.0.0/8 or fd00::/8")]
    Malformed(String),
    /// The address has bits that the prefix leaves out.
    #[error("{given} is not a whole network; is {whole} meant?")]
    NotWhole {
        /// What was given.
        given: IpNet,
        /// The network that it is in.
        whole: IpNet,
    },
    /// It is everything.
    #[error("{0} is every address, and whoever calls could name any as its own")]
    Everything(IpNet),
}

impl FromStr for ProxyNetwork {
    type Err = NoProxyNetwork;

    fn from_str(text: &str) -> Result<Self, NoProxyNetwork> {
        let address = || text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
        let given: IpNet =
            text.parse().or_else(|_| address()).map_err(|_| NoProxyNetwork::Malformed(text.to_owned()))?;
        match given.trunc() {
            whole if whole != given => Err(NoProxyNetwork::NotWhole { given, whole }),
            whole if whole.prefix_len() == 0 => Err(NoProxyNetwork::Everything(whole)),
            whole => Ok(Self(whole)),
        }
    }
}

impl fmt::Display for ProxyNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// In which header the proxies say whom they were called by. One alone is read: what a proxy does not write, it passes on as its
/// caller wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`: addresses with commas between them.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239), of which `for` is read.
    Forwarded,
}

/// The proxies that are believed. None, unless there are networks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TrustedProxies {
    /// Where they are.
    pub networks: Vec<ProxyNetwork>,
    /// What they write.
    pub header: ForwardedHeader,
}

impl TrustedProxies {
    /// Where a request comes from that `peer` has sent. A piece of the header that names no address ends the search: then it
    /// comes from the proxy that has written it.
    pub fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut source = peer.to_canonical();
        let name = match self.header {
            ForwardedHeader::XForwardedFor => "x-forwarded-for",
            ForwardedHeader::Forwarded => "forwarded",
        };
        for line in headers.get_all(name).iter().rev() {
            if !self.trusts(source) {
                break;
            }
            let hops = line.to_str().ok().and_then(|line| match self.header {
                ForwardedHeader::XForwardedFor => Some(line.split(',').map(address_of).collect()),
                ForwardedHeader::Forwarded => split_unquoted(line, ',')
                    .map(|elements| elements.into_iter().map(forwarded_for).collect()),
            });
            let hops: Vec<Option<IpAddr>> = hops.unwrap_or_else(|| vec![None]);
            for hop in hops.into_iter().rev() {
                let Some(hop) = hop.filter(|_| self.trusts(source)) else { return source };
                source = hop;
            }
        }
        source
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|ProxyNetwork(network)| network.contains(&address))
    }
}

/// The address that an element of `Forwarded` names in `for`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = split_unquoted(element, ';')?;
    let mut named = pairs.into_iter().filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value.trim())
    });
    let (value, None) = (named.next()?, named.next()) else { return None };
    match value.strip_prefix('"') {
        Some(quoted) => address_of(quoted.strip_suffix('"')?),
        None => address_of(value),
    }
}

/// An address with or without a port, IPv6 with or without its brackets. `unknown` and made-up names are none.
fn address_of(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

/// The parts between separators that stand in no quoted string; nothing, if a quoted string does not end.
fn split_unquoted(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut begins) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            letter if letter == separator && !quoted => {
                parts.push(&text[begins..at]);
                begins = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begins..]);
    (!quoted).then_some(parts)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn source(header: ForwardedHeader, peer: &str, lines: &[&str]) -> String {
        let networks = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"].map(|text| text.parse().unwrap()).to_vec();
        let mut headers = HeaderMap::new();
        for line in lines {
            for name in ["x-forwarded-for", "forwarded"] {
                headers.append(name, HeaderValue::from_str(line).unwrap());
            }
        }
        let proxies = TrustedProxies { networks, header };
        proxies.source(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_last_hop_that_is_no_trusted_proxy_is_the_source() {
        for (peer, lines, expected) in [
            (PROXY, &["198.51.100.4"][..], "198.51.100.4"),
            (PROXY, &["1.1.1.1, 198.51.100.4"], "198.51.100.4"),
            (PROXY, &["198.51.100.4, 192.0.2.7,10.9.9.9"], "198.51.100.4"),
            (PROXY, &["1.1.1.1", "198.51.100.4", "10.9.9.9"], "198.51.100.4"),
            (PROXY, &["198.51.100.4:4711"], "198.51.100.4"),
            (PROXY, &["[2001:db8::1]:4711"], "2001:db8::1"),
            (PROXY, &["2001:db8::1"], "2001:db8::1"),
            ("::ffff:10.0.0.1", &["::ffff:198.51.100.4"], "198.51.100.4"),
            ("fd00::1", &["198.51.100.4"], "198.51.100.4"),
            // All of them are trusted: it is the first.
            (PROXY, &["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
            (PROXY, &[], PROXY),
        ] {
            assert_eq!(source(ForwardedHeader::XForwardedFor, peer, lines), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn whoever_is_not_trusted_is_not_believed() {
        assert_eq!(source(ForwardedHeader::XForwardedFor, "203.0.113.9", &["1.1.1.1"]), "203.0.113.9");
        let nobody = TrustedProxies::default();
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static("1.1.1.1"));
        assert_eq!(nobody.source(PROXY.parse().unwrap(), &headers).to_string(), PROXY);
    }

    #[test]
    fn what_is_no_address_is_the_word_of_the_proxy_before_it() {
        for line in ["unknown", "1.1.1.1, _hidden", "1.1.1.1,", "", "1.1.1.1, 10.0.0", "1.1.1.1 2.2.2.2"] {
            assert_eq!(source(ForwardedHeader::XForwardedFor, PROXY, &[line]), PROXY, "{line:?}");
        }
        assert_eq!(source(ForwardedHeader::XForwardedFor, PROXY, &["1.1.1.1, x, 10.0.0.5"]), "10.0.0.5");
    }

    #[test]
    fn of_rfc_7239_it_is_the_for_that_counts_and_quotes_hide_nothing() {
        for (lines, expected) in [
            (&["for=198.51.100.4"][..], "198.51.100.4"),
            (&["for=1.1.1.1, For=\"198.51.100.4:47\";proto=https;by=10.0.0.1"], "198.51.100.4"),
            (&["by=_x; for=\"[2001:db8::1]:4711\""], "2001:db8::1"),
            (&["for=198.51.100.4, for=10.0.0.3"], "198.51.100.4"),
            (&["for=1.1.1.1;x=\",for=2.2.2.2\", for=198.51.100.4"], "198.51.100.4"),
            // Somebody has opened a string to swallow what the proxy adds.
            (&["for=1.1.1.1, x=\", for=198.51.100.4"], PROXY),
            (&["for=1.1.1.1, x=\"", "for=198.51.100.4"], "198.51.100.4"),
            (&["for=1.1.1.1;for=2.2.2.2"], PROXY),
            (&["proto=https"], PROXY),
            (&["for=_hidden"], PROXY),
            (&["1.1.1.1"], PROXY),
        ] {
            assert_eq!(source(ForwardedHeader::Forwarded, PROXY, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_network_is_whole_and_not_everything() {
        for (text, told) in [
            ("10.0.0.1", "10.0.0.1/32"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("fd00::/8", "fd00::/8"),
            ("::ffff:10.0.0.1", "10.0.0.1/32"),
        ] {
            assert_eq!(text.parse::<ProxyNetwork>().unwrap().to_string(), told);
        }
        for (text, fault) in [
            ("10.0.0.1/8", "is 10.0.0.0/8 meant?"),
            ("0.0.0.0/0", "every address"),
            ("::/0", "every address"),
            ("10.0.0.0/33", "neither an address nor a network"),
            ("proxy.local", "neither an address nor a network"),
            ("", "neither an address nor a network"),
        ] {
            let told = text.parse::<ProxyNetwork>().unwrap_err().to_string();
            assert!(told.contains(fault), "{text}: {told}");
        }
    }
}
