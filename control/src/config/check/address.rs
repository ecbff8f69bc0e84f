//! Which addresses a host can have.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::config::field::Field;
use crate::config::report::Report;
use crate::model::Port;

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

/// Why no host of a prefix can have an address of it: the kernel would ask nobody for it, and send
/// to everybody. Prefixes of one or two addresses have hosts only (RFC 3021, RFC 6164).
pub(super) fn edge(net: IpNet, address: IpAddr) -> Option<&'static str> {
    let has_edges = net.prefix_len() + 1 < net.max_prefix_len();
    match address {
        _ if !has_edges => None,
        a if a == net.network() => Some("the prefix itself"),
        IpAddr::V4(_) if address == net.broadcast() => Some("the prefix's broadcast address"),
        _ => None,
    }
}

/// Refuses what nothing can be sent to: an edge of a prefix that a port is on link in, and an
/// address that is another host's at each port. True if it did.
pub(super) fn refuse_unreachable<T>(
    field: &Field<T>,
    address: IpAddr,
    ports: &[Port],
    report: &mut Report<'_>,
) -> bool {
    if is_link_local(address) {
        let why = "a link-local address, which is another host's at each port";
        report.refuse(field, why, "allowed: an address that is one host's everywhere");
        return true;
    }
    let nets = ports.iter().flat_map(|port| port.addresses.iter().map(move |net| (port, *net)));
    let found = nets.into_iter().find_map(|(port, net)| Some((port, net, edge(net, address)?)));
    if let Some((port, net, edge)) = found {
        let (why, net) = (format!("{edge}, of port {:?}", port.name), net.trunc());
        report.refuse(field, &why, format!("allowed: another address in {net}, or outside of it"));
    }
    found.is_some()
}

/// `IPv4` or `IPv6`.
pub(super) fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// An IPv6 address that is on link wherever it is (fe80::/10).
pub(super) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.is_unicast_link_local())
}
