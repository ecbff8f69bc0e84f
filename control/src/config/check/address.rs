//! Which addresses a host can have.

use std::net::IpAddr;

use crate::config::field::Field;
use crate::config::report::Report;

/// Refuses an address that no host can have on a wire.
pub(super) fn check(field: &Field<IpAddr>, report: &mut Report<'_>) {
    if let Some(why) = wrong(field.value) {
        report.refuse(field, why, "allowed: a unicast IPv4 or IPv6 address");
    }
}

/// Why no host can have it.
pub(super) fn wrong(address: IpAddr) -> Option<&'static str> {
    let mapped = |a: IpAddr| matches!(a, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
    match address {
        a if a.is_unspecified() => Some("the unspecified address"),
        a if a.is_loopback() => Some("a loopback address"),
        a if a.is_multicast() => Some("a multicast address"),
        IpAddr::V4(four) if four.is_broadcast() => Some("the broadcast address"),
        a if mapped(a) => Some("an IPv4 address written as IPv6"),
        _ => None,
    }
}

/// `IPv4` or `IPv6`.
pub(super) fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// An IPv6 address that is on link wherever it is (fe80::/10).
pub(super) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.is_unicast_link_local())
}
