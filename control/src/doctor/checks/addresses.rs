//! Addresses that this host has and should not, or should have and has not.

use std::net::IpAddr;

use super::error;
use crate::doctor::Finding;
use crate::doctor::facts::{Facts, Interface};
use crate::model::Config;

pub(super) fn taken(config: &Config, facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for interface in &facts.interfaces {
        for address in &interface.addresses {
            findings.extend(vip(config, &interface.name, *address));
            findings.extend(port(config, &interface.name, *address));
        }
        if facts.running {
            findings.extend(missing(config, interface));
        }
    }
    findings
}

/// Without its address a host interface has no routes, and probes cannot leave.
fn missing(config: &Config, interface: &Interface) -> impl Iterator<Item = Finding> {
    let ports = config.ports.iter().filter(|port| port.host_interface == interface.name);
    let pairs = ports.flat_map(|port| port.addresses.iter().map(move |a| (port, a.addr())));
    let gone = pairs.filter(|(_, address)| !interface.addresses.contains(address));
    gone.map(|(port, address)| {
        let (port, host) = (&port.name, &interface.name);
        let what = format!("{address}, of port {port}, is not on {host} any more: somebody took it away");
        let cure = "windrose reload puts it back; keep networkd, NetworkManager and others off that interface";
        error("address-here", what, cure.into())
    })
}

fn vip(config: &Config, interface: &str, address: IpAddr) -> Option<Finding> {
    let rule = config.rules.iter().find(|rule| rule.address.contains(&address))?;
    let what = format!(
        "{address}, a VIP of rule {}, is on this host too ({interface}): the kernel answers for it in the backends' place",
        rule.name
    );
    let cure = format!("ip address flush dev {interface} to {address}");
    Some(error("vip-here", what, cure))
}

/// A port's address belongs on its host interface alone.
fn port(config: &Config, interface: &str, address: IpAddr) -> Option<Finding> {
    let own = config.ports.iter().find(|p| p.addresses.iter().any(|a| a.addr() == address))?;
    if own.host_interface == interface {
        return None;
    }
    let what = format!(
        "{address}, of port {}, is on {interface}: the kernel answers for it there",
        own.name
    );
    let cure = match own.host_interface.as_str() {
        "" => format!("ip address flush dev {interface} to {address}"),
        host => {
            format!("ip address flush dev {interface} to {address}; windrose puts it on {host}")
        }
    };
    Some(error("address-here", what, cure))
}
