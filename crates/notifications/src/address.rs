//! Which addresses an endpoint may have.
//!
//! Whoever may name a URL that a server calls could otherwise name the server's own neighbours (server-side request
//! forgery). So an address is public, or it is not called: nothing of the IANA special-purpose registries (RFC 6890) that is
//! not globally reachable, nor an IPv6 address that carries such an IPv4 address in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address is one of the public Internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, private use, loopback.
        (0 | 10 | 127, ..) => true,
        // Shared by a provider's customers (RFC 6598).
        (100, 64..=127, _) => true,
        // Link-local: where clouds keep the credentials of their machines.
        (169, 254, _) => true,
        (172, 16..=31, _) => true,
        // IETF protocol assignments, documentation, and the way into 6to4 that is no more.
        (192, 0, 0 | 2) | (192, 88, 99) => true,
        (192, 168, _) => true,
        // Benchmarks, documentation.
        (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Multicast, reserved, broadcast.
        (224..=255, ..) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4-mapped (RFC 4291): the socket connects to the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        // NAT64 (RFC 6052), 6to4 (RFC 3056): a gateway connects to it.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // IETF protocol assignments, Teredo and benchmarks among them; documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Global unicast is all that is left: not loopback, unspecified, link-local, unique local, multicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_not_of_the_public_internet_is_no_address_of_an_endpoint() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.254",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
