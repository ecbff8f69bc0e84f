//! Whether backends and gateways can be reached.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{error, note, warning};
use crate::doctor::Finding;
use crate::doctor::facts::Facts;
use crate::model::Config;
use crate::netlink::{Neighbour, Verdict, Way};
use crate::plan::wiring;

const CHECK: &str = "next-hop";

pub(super) fn backends_and_gateways(config: &Config, facts: &Facts) -> Vec<Finding> {
    let mut findings = gateways(config, facts);
    let groups = config.services.iter().flat_map(|service| &service.groups);
    let backends: BTreeSet<_> =
        groups.flat_map(|group| &group.backends).map(|backend| backend.address).collect();
    if !config.ports.is_empty() {
        findings.extend(backends.into_iter().filter_map(|address| backend(config, facts, address)));
    }
    findings
}

fn gateways(config: &Config, facts: &Facts) -> Vec<Finding> {
    let ports = config.ports.iter().enumerate();
    let gateways = ports.flat_map(|(index, port)| port.gateways.iter().map(move |g| (index, *g)));
    gateways
        .filter_map(|(port, gateway)| on_link(config, facts, "gateway", port, gateway))
        .collect()
}

fn backend(config: &Config, facts: &Facts, address: IpAddr) -> Option<Finding> {
    let configured = wiring::via(config, address);
    if let Some((port, next)) = configured
        && wiring::neighbour(&config.ports[port], next).is_some()
    {
        return None;
    }
    match facts.routes.get(&address) {
        Some(Verdict::Through(way)) => through(config, address, way),
        Some(Verdict::Nowhere(_)) => Some(error(
            CHECK,
            format!("backend {address}: a route of the kernel says that it is unreachable"),
            format!("ip route get {address}; take that route away"),
        )),
        _ => match configured {
            // A gateway is told of once, not for each backend behind it.
            Some((port, next)) if next == address => {
                on_link(config, facts, "backend", port, next)
            }
            Some(_) => None,
            None if facts.running => Some(error(
                CHECK,
                format!("backend {address}: no route leads there"),
                "give a port a gateway, or a route over its host interface (ip route add … dev HOST_INTERFACE)".into(),
            )),
            None => Some(unseen()),
        },
    }
}

/// The same for all: it is told once.
fn unseen() -> Finding {
    let what = "routes and neighbours of host interfaces cannot be seen: windrose is not running";
    note(CHECK, what.into(), "start it and ask again".into())
}

fn through(config: &Config, backend: IpAddr, way: &Way) -> Option<Finding> {
    let resolved = |step: &crate::netlink::Step| step.known.and_then(Neighbour::mac).is_some();
    if way.steps.iter().any(resolved) {
        return None;
    }
    let step = way.steps.first()?;
    let port = config.ports.get(step.interface)?;
    let who = format!("backend {backend}: its next hop {}", step.neighbour);
    Some(unresolved(&who, step.known, step.neighbour, &port.host_interface))
}

/// A neighbour on a port's segment.
fn on_link(
    config: &Config,
    facts: &Facts,
    what: &str,
    port: usize,
    address: IpAddr,
) -> Option<Finding> {
    let of = &config.ports[port];
    if wiring::neighbour(of, address).is_some() {
        return None;
    }
    if of.host_interface.is_empty() {
        return Some(error(
            CHECK,
            format!("{what} {address}: nothing finds out its Ethernet address on port {}", of.name),
            format!("neighbours = {{ \"{address}\" = \"…\" }}, or a host_interface for the port"),
        ));
    }
    if !facts.running {
        return Some(unseen());
    }
    let known = facts.neighbours.get(&(port, address)).copied();
    if known.and_then(Neighbour::mac).is_some() {
        return None;
    }
    Some(unresolved(&format!("{what} {address}"), known, address, &of.host_interface))
}

fn unresolved(who: &str, known: Option<Neighbour>, address: IpAddr, interface: &str) -> Finding {
    let cure = format!("is it up, and on that segment? ping -I {interface} {address}");
    match known {
        None => warning(CHECK, format!("{who} has not been asked for on {interface}"), cure),
        Some(_) => error(CHECK, format!("{who} does not answer on {interface}"), cure),
    }
}
