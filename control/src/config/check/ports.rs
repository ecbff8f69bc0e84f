//! `[[port]]`

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::address::{self, family, is_link_local};
use super::devices::{self, Devices};
use super::names::Unique;
use crate::config::field::Field;
use crate::config::file::dataplane::Port;
use crate::config::report::Report;
use crate::model;

/// The smallest MTU of an IPv6 link (RFC 8200, section 5).
const LEAST_MTU_V6: u16 = 1280;

/// The kernel's limit on an interface's name.
const LONGEST_INTERFACE: usize = 15;

pub(super) fn check(raw: &[Field<Port>], report: &mut Report<'_>) -> Vec<model::Port> {
    let mut names = Unique::new("another port has this name", "allowed: each name once");
    let mut devices = Devices::of(raw);
    let mut taken = Unique::new("another port has this address", "allowed: each address once");
    let mut hosts = Unique::new("another port has this interface", "allowed: each interface once");
    let driven: HashSet<_> = raw.iter().flat_map(|port| devices::interfaces(port)).collect();
    for port in raw {
        report.enter(format!("port {:?}", port.name.0));
        names.check(&port.name, report);
        devices.check(port, report);
        if !port.host_interface.is_empty() {
            hosts.check(&port.host_interface, report);
        }
        for address in &port.addresses.value {
            taken.check_as(address, address.addr(), report);
        }
        one(port, report);
        host_interface(&port.host_interface, &driven, report);
        report.leave();
    }
    raw.iter().map(model).collect()
}

fn one(port: &Port, report: &mut Report<'_>) {
    addresses(port, report);
    gateways(port, report);
    neighbours(port, report);
}

fn addresses(port: &Port, report: &mut Report<'_>) {
    for address in &port.addresses.value {
        let net = address.value;
        if let Some(why) = address::wrong(net.addr()) {
            report.refuse(
                address,
                why,
                "allowed: a unicast address of this port with its prefix length",
            );
        } else if let Some(why) = address::edge(net, net.addr()) {
            let allowed = "allowed: an address in the prefix, for example the one behind its first";
            report.refuse(address, why, allowed);
        }
    }
    let six = port.addresses.iter().any(|a| a.addr().is_ipv6());
    if six && port.mtu.get::<u16>() < LEAST_MTU_V6 {
        report.refuse(
            &port.mtu,
            "too small for a port with an IPv6 address",
            "allowed: 1280 to 9216",
        );
    }
}

/// At most one per family, each on link.
fn gateways(port: &Port, report: &mut Report<'_>) {
    let mut families =
        Unique::new("a second gateway of its family", "allowed: one IPv4 and one IPv6 gateway");
    for gateway in &port.gateways.value {
        families.check_as(gateway, gateway.is_ipv4(), report);
        on_link(gateway, port, report);
    }
}

fn neighbours(port: &Port, report: &mut Report<'_>) {
    let mut unique = Unique::new("this neighbour is given twice", "allowed: each address once");
    for (neighbour, _) in &port.neighbours.0 {
        unique.check(neighbour, report);
        on_link(neighbour, port, report);
    }
}

/// Refuses a next hop that the port cannot reach directly.
fn on_link(hop: &Field<IpAddr>, port: &Port, report: &mut Report<'_>) {
    if address::wrong(hop.value).is_some() {
        return address::check(hop, report);
    }
    let family_of = |net: &&Field<IpNet>| net.addr().is_ipv4() == hop.is_ipv4();
    let nets: Vec<_> = port.addresses.iter().filter(family_of).collect();
    let listed = nets.iter().map(|net| net.trunc().to_string()).collect::<Vec<_>>().join(", ");
    if nets.iter().any(|net| net.addr() == hop.value) {
        report.refuse(
            hop,
            "the port's own address",
            format!("allowed: another address in {listed}"),
        );
    } else if let Some(why) = nets.iter().find_map(|net| address::edge(net.value, hop.value)) {
        report.refuse(hop, why, format!("allowed: a host's address in {listed}"));
    } else if is_link_local(hop.value) || nets.iter().any(|net| net.contains(&hop.value)) {
    } else if nets.is_empty() {
        let why = format!("the port has no {} address, so this is not on link", family(hop.value));
        report.refuse(hop, &why, "give the port an address whose prefix contains it");
    } else {
        report.refuse(hop, "not on link at this port", format!("allowed: an address in {listed}"));
    }
}

/// A new name: not that of what ports drive, either.
fn host_interface(name: &Field<String>, driven: &HashSet<String>, report: &mut Report<'_>) {
    let bad = |c: char| c == '/' || c == ':' || c == '%' || c.is_whitespace() || c.is_control();
    if name.len() > LONGEST_INTERFACE
        || name.contains(bad)
        || *name.value == *"."
        || *name.value == *".."
    {
        report.refuse(
            name,
            "not a name of an interface",
            "allowed: up to 15 bytes without \"/\", \":\", \"%\" and spaces; \"\" for none",
        );
    } else if *name.value == *"lo" || driven.contains(&name.value) {
        let allowed =
            "allowed: a new name, for example \"wr-uplink\": Windrose makes the interface";
        report.refuse(name, "an interface that is there already", allowed);
    }
}

fn model(raw: &Field<Port>) -> model::Port {
    model::Port {
        name: raw.name.0.as_str().into(),
        device: raw.device.value.clone(),
        bond: devices::bond(raw),
        addresses: raw.addresses.iter().map(|a| a.value).collect(),
        gateways: raw.gateways.iter().map(|g| g.value).collect(),
        mtu: raw.mtu.get(),
        icmp_rate: raw.icmp_rate.get(),
        answer_echo: *raw.answer_echo,
        fragment_oversize: *raw.fragment_oversize,
        vlan: raw.vlan.get(),
        host_interface: raw.host_interface.value.clone(),
        host_rate: raw.host_rate.get(),
        announce_vips: *raw.announce_vips,
        neighbours: raw.neighbours.0.iter().map(|(a, mac)| (a.value, *mac)).collect(),
    }
}
