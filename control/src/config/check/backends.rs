//! `[[service.group]]` and its backends.

use std::net::IpAddr;

use super::address::{self, family};
use super::names::Unique;
use super::own::Own;
use super::{later, prime, profile};
use crate::config::diagnostics::count;
use crate::config::field::Field;
use crate::config::file::service::{Backend, Group, Service};
use crate::config::report::Report;
use crate::model::{self, EncapsulationKind};

/// A Maglev table numbers its members with 16 bits.
const MOST_BACKENDS: usize = 65_535;

/// With fewer slots a backend, shares differ too much: each backend has its share rounded to
/// whole slots, so ten slots are a share within a tenth.
const SLOTS_A_BACKEND: usize = 10;

/// Where backends are.
pub(super) struct Surroundings<'c> {
    pub(super) own: Own,
    pub(super) ports: &'c [model::Port],
}

/// What a backend must be reachable by.
struct Way<'c> {
    encapsulation: &'c model::Encapsulation,
    surroundings: &'c Surroundings<'c>,
}

pub(super) fn check(
    raw: &Service,
    encapsulation: &model::Encapsulation,
    surroundings: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Vec<model::Group> {
    let way = Way { encapsulation, surroundings };
    let mut groups =
        Unique::new("another group of the service has this name", "allowed: each name once");
    let mut addresses = Unique::new(
        "another backend of the service has this address",
        "allowed: each address once",
    );
    for group in &raw.group {
        report.enter(format!("group {:?}", group.name.0));
        groups.check(&group.name, report);
        later::proxy_group_keys(group, report);
        backends(raw, group, &mut addresses, &way, report);
        report.leave();
    }
    if raw.group.iter().all(|group| group.backends.is_empty()) {
        let message = "this service has no backend: its packets are dropped".to_owned();
        report.warn(raw.name.span.clone(), message, "give it a [[service.group]] with backends");
    }
    raw.group.iter().map(model).collect()
}

fn backends(
    raw: &Service,
    group: &Group,
    addresses: &mut Unique<IpAddr>,
    way: &Way<'_>,
    report: &mut Report<'_>,
) {
    let mut names =
        Unique::new("another backend of the group has this name", "allowed: each name once");
    for backend in &group.backends.value {
        report.enter(format!("backend {:?}", backend.name.0));
        names.check(&backend.name, report);
        addresses.check(&backend.address, report);
        address::check(&backend.address, report);
        way.check(&backend.address, report);
        if let Some(weight) = &backend.weight {
            profile::weight(weight, raw, report);
        }
        later::proxy_backend_keys(backend, report);
        report.leave();
    }
}

impl Way<'_> {
    fn check(&self, address: &Field<IpAddr>, report: &mut Report<'_>) {
        let ports = self.surroundings.ports;
        if address::refuse_unreachable(address, address.value, ports, report)
            || self.surroundings.own.refuse(address, report)
        {
        } else if self.encapsulation.kind.is_tunnel() {
            self.tunnel(address, report);
        } else if self.encapsulation.kind == EncapsulationKind::L2 {
            self.on_link(address, report);
        }
    }

    /// The outer header needs a source of the backend's family.
    fn tunnel(&self, address: &Field<IpAddr>, report: &mut Report<'_>) {
        let (four, family) = (address.is_ipv4(), family(address.value));
        let mut spread = self.encapsulation.spread().into_iter().flatten();
        if !self.encapsulation.source.iter().any(|s| s.is_ipv4() == four) {
            let why = format!("the encapsulation has no {family} source to reach it from");
            report.refuse(
                address,
                &why,
                format!("give [encapsulation] source an {family} address"),
            );
        } else if self.encapsulation.spread().is_some_and(|s| !s.is_empty())
            && !spread.any(|p| p.addr().is_ipv4() == four)
        {
            let why = format!("source_entropy has no {family} prefix to reach it from");
            report.refuse(address, &why, format!("give entropy_prefix an {family} prefix"));
        }
    }

    /// Without an IP header of its own a packet gets no further than the next host.
    fn on_link(&self, address: &Field<IpAddr>, report: &mut Report<'_>) {
        let nets = self.surroundings.ports.iter().flat_map(|port| &port.addresses);
        // Without a port nothing is ever sent.
        if !self.surroundings.ports.is_empty()
            && !nets.clone().any(|net| net.contains(&address.value))
        {
            let allowed = "allowed with kind \"l2\": an address in a prefix of a port";
            report.refuse(address, "not on link at any port", allowed);
        }
    }
}

/// Refuses more backends than a Maglev table can tell apart well (S-4).
pub(super) fn fit(raw: &Service, table_size: u32, report: &mut Report<'_>) {
    let backends: usize = raw.group.iter().map(|group| group.backends.len()).sum();
    let most = (table_size as usize / SLOTS_A_BACKEND).min(MOST_BACKENDS);
    if backends <= most {
        return;
    }
    let needed = prime::at_least((backends * SLOTS_A_BACKEND) as u32);
    let message = format!(
        "{} are too many for a Maglev table of {table_size} slots",
        count(backends, "backend")
    );
    let help = match needed {
        Some(size) if backends <= MOST_BACKENDS => {
            format!("allowed: up to {most}, or maglev_table_size = {size} or a larger prime")
        }
        _ => format!("allowed: up to {MOST_BACKENDS} backends in a service"),
    };
    let span = raw.maglev_table_size.as_ref().map_or(&raw.name.span, |size| &size.span);
    report.error(span.clone(), message, help);
}

fn model(raw: &Field<Group>) -> model::Group {
    let backend = |b: &Field<Backend>| model::Backend {
        name: b.name.0.as_str().into(),
        address: *b.address,
        weight: b.weight.as_ref().map(|weight| weight.get()),
    };
    model::Group {
        name: raw.name.0.as_str().into(),
        role: *raw.role,
        zone: raw.zone.as_ref().map(|zone| zone.0.as_str().into()),
        backends: raw.backends.iter().map(backend).collect(),
    }
}
