//! Where the kernel gets in the way.

use std::net::IpAddr;

use super::{error, warning};
use crate::doctor::Finding;
use crate::doctor::facts::{Device, FAR, Facts, Interface};
use crate::model::{Config, Port};
use crate::netlink::Verdict;

/// The kernel under a `net_af_packet` port sees the same packets, and would answer them too.
pub(super) fn answers(config: &Config, facts: &Facts) -> Vec<Finding> {
    let ports = config.ports.iter().zip(&facts.devices);
    let shared = ports.filter_map(|(port, device)| match device {
        Device::Interface { name, shared: true } => Some((port, facts.interface(name)?)),
        _ => None,
    });
    shared.flat_map(|(port, interface)| under(port, interface, facts.running)).collect()
}

/// Whether Windrose sets what makes the kernel quiet by itself, at its start (decision 11).
fn will_be_quiet(port: &Port, interface: &Interface, running: bool) -> bool {
    let link_local = |address: &IpAddr| match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    !running && !port.host_interface.is_empty() && interface.addresses.iter().all(link_local)
}

fn under(port: &Port, interface: &Interface, running: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !will_be_quiet(port, interface, running) {
        findings.extend(loud(port, interface));
    }
    findings.extend(offloads(port, interface));
    findings
}

fn loud(port: &Port, interface: &Interface) -> Option<Finding> {
    let name = &interface.name;
    let mut settings = Vec::new();
    if interface.arp_ignore < 8 {
        settings.push(format!("net.ipv4.conf.{name}.arp_ignore=8"));
    }
    if interface.rp_filter != 1 {
        settings.push(format!("net.ipv4.conf.{name}.rp_filter=1"));
    }
    if interface.ipv6 {
        settings.push(format!("net.ipv6.conf.{name}.disable_ipv6=1"));
    }
    if settings.is_empty() {
        return None;
    }
    let what = format!(
        "port {}: the kernel sees the packets of {name} too, and would answer some: duplicates",
        port.name
    );
    Some(warning("answers-too", what, format!("sysctl -w {}", settings.join(" "))))
}

fn offloads(port: &Port, interface: &Interface) -> Option<Finding> {
    if interface.offloads.is_empty() {
        return None;
    }
    let name = &interface.name;
    let what = format!(
        "port {}: {name} joins segments or leaves checksums out ({}): such frames are dropped or sent broken",
        port.name,
        interface.offloads.join(", ")
    );
    let cure = format!("ethtool -K {name} rx off tx off tso off gso off gro off");
    Some(error("offloads", what, cure))
}

/// A strict check of sources drops what comes in by a host interface from where another one leads.
/// VIPs are not concerned, but the port's own addresses: ping, ssh, BGP with far peers.
pub(super) fn sources(config: &Config, facts: &Facts) -> Vec<Finding> {
    if matches!(facts.routes.get(&FAR), Some(Verdict::Through(_))) {
        return Vec::new();
    }
    let strict = config.ports.iter().filter(|port| {
        let v4 = port.addresses.iter().any(|address| address.addr().is_ipv4());
        v4 && facts.interface(&port.host_interface).is_some_and(|i| i.rp_filter == 1)
    });
    let finding = |port: &Port| {
        let name = &port.host_interface;
        let what = format!(
            "port {}: {name} drops packets from addresses that another interface leads to (rp_filter 1): \
             its own addresses answer their segment alone; VIPs are not concerned",
            port.name
        );
        let cure =
            format!("sysctl -w net.ipv4.conf.{name}.rp_filter=2, or a default route over it");
        warning("rp-filter", what, cure)
    };
    strict.map(finding).collect()
}
