//! Addresses that this host has and should not.

use std::net::IpAddr;

use super::error;
use crate::doctor::Finding;
use crate::doctor::facts::Facts;
use crate::model::Config;

pub(super) fn taken(config: &Config, facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for interface in &facts.interfaces {
        for address in &interface.addresses {
            findings.extend(vip(config, &interface.name, *address));
            findings.extend(port(config, &interface.name, *address));
        }
    }
    findings
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
