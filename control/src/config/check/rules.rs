//! `[[forwarding_rule]]` (F-1 to F-3)

use std::collections::HashMap;

use super::names::{CANDIDATES, Unique};
use super::zones::whole_prefix;
use super::{address, later, overlap, profile};
use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::rule::ForwardingRule;
use crate::config::file::service::{Profile, Service};
use crate::config::nearest::nearest;
use crate::config::report::Report;
use crate::config::value::mixed::PortList;
use crate::model::{self, Ports, RuleProtocol};

/// F-2
const MOST_SINGLE_PORTS: usize = 5;

type Services<'f> = HashMap<&'f str, &'f Service>;

pub(super) fn check(
    file: &File,
    ports: &[model::Port],
    report: &mut Report<'_>,
) -> Vec<model::ForwardingRule> {
    let services: Services<'_> =
        file.service.iter().map(|s| (s.name.0.as_str(), &s.value)).collect();
    let mut names = Unique::new("another rule has this name", "allowed: each name once");
    for rule in &file.forwarding_rule {
        report.enter(format!("forwarding_rule {:?}", rule.name.0));
        names.check(&rule.name, report);
        let service = service(rule, &services, report);
        vip(rule, service, ports, report);
        port_list(rule, report);
        clients(rule, report);
        later::proxy_rule_keys(rule, report);
        report.leave();
    }
    overlap::check(&file.forwarding_rule, report);
    file.forwarding_rule.iter().map(model).collect()
}

/// The service that the rule leads to; `None` where that is not known.
fn service<'f>(
    rule: &Field<ForwardingRule>,
    services: &Services<'f>,
    report: &mut Report<'_>,
) -> Option<&'f Service> {
    let Some(field) = &rule.service else {
        if rule.tls_routes.is_none() {
            report.error(rule.span.clone(), "service is missing".into(), String::new());
        }
        return None;
    };
    let found = services.get(field.0.as_str()).copied();
    if found.is_none() {
        let meant = nearest(&field.0, services.keys().copied().take(CANDIDATES));
        let help = match meant {
            Some(name) => format!("did you mean {name:?}?"),
            None => format!("allowed: {}", some(services)),
        };
        report.refuse(field, "there is no such service", help);
    }
    found
}

/// A few of the names there are.
fn some(services: &Services<'_>) -> String {
    let mut names: Vec<_> = services.keys().map(|name| format!("{name:?}")).collect();
    names.sort();
    match names.len() {
        0 => "the name of a [[service]]; the file has none".into(),
        1..=10 => names.join(", "),
        more => format!("{}, and {} more", names[..10].join(", "), more - 10),
    }
}

fn vip(
    rule: &ForwardingRule,
    service: Option<&Service>,
    ports: &[model::Port],
    report: &mut Report<'_>,
) {
    let field = &rule.address;
    let net = field.value.0;
    let as_net =
        Field { value: net, key: field.key, span: field.span.clone(), origin: field.origin };
    whole_prefix(&as_net, report);
    if net.prefix_len() < net.max_prefix_len() {
        prefix(&as_net, service, report);
    } else if let Some(why) = address::wrong(net.addr()) {
        report.refuse(field, why, "allowed: a unicast IPv4 or IPv6 address");
    } else if address::refuse_unreachable(field, net.addr(), ports, report) {
        return;
    }
    for port in ports.iter().filter(|p| p.addresses.iter().any(|a| net.contains(&a.addr()))) {
        let message = format!("address covers an address of port {:?} itself", port.name);
        let help = "what no rule takes of that address is dropped, ssh and BGP to it included";
        report.warn(field.span.clone(), message, help);
    }
}

/// F-1: a prefix is for next-hop services.
fn prefix(field: &Field<ipnet::IpNet>, service: Option<&Service>, report: &mut Report<'_>) {
    let Some(service) = service.filter(|s| s.profile.is_sound()) else { return };
    if !matches!(*service.profile, Profile::Native | Profile::GcpInternal | Profile::GcpProxy) {
        let name = profile::name(*service.profile);
        let why =
            format!("service {:?} has profile \"{name}\", which takes no prefix", service.name.0);
        report.refuse(
            field,
            &why,
            "allowed: one address; prefixes are for native and gcp-internal",
        );
    }
}

/// F-2
fn port_list(rule: &ForwardingRule, report: &mut Report<'_>) {
    let PortList::Listed(listed) = &rule.ports.value else { return };
    if *rule.protocol == RuleProtocol::L3Default && rule.protocol.is_sound() {
        return report.refuse(&rule.ports, "L3_DEFAULT takes every port", "allowed: \"ALL\"");
    }
    if listed.is_empty() {
        report.refuse(&rule.ports, "no port", "allowed: \"ALL\", or at least one port or range");
    }
    let single = listed.iter().filter(|range| range.first == range.last).count();
    if single > MOST_SINGLE_PORTS {
        let why = format!("{single} single ports");
        report.refuse(&rule.ports, &why, "allowed: up to 5 single ports; use ranges, or \"ALL\"");
    }
    let mut sorted: Vec<_> = listed.iter().collect();
    sorted.sort_by_key(|range| range.value);
    for pair in sorted.windows(2).filter(|pair| pair[0].last >= pair[1].first) {
        let beside = Some((pair[0].span.clone(), "already here".to_owned()));
        report.refuse_beside(pair[1], "a port is listed twice", "allowed: each port once", beside);
    }
}

fn clients(rule: &ForwardingRule, report: &mut Report<'_>) {
    if rule.client_allow.is_empty() {
        let allowed = "allowed: at least one prefix; leave the key out to allow every client";
        report.refuse(&rule.client_allow, "nobody could use the rule", allowed);
    }
    for prefix in &rule.client_allow.value {
        whole_prefix(prefix, report);
    }
}

fn model(raw: &Field<ForwardingRule>) -> model::ForwardingRule {
    let service = raw.service.as_ref().map_or("", |name| name.0.as_str());
    let clients = raw.client_allow.iter().map(|net| net.trunc()).collect::<Vec<_>>();
    let address = raw.address.value.0.trunc();
    let four = address.addr().is_ipv4();
    // A client is of the VIP's family, so the whole family is everybody.
    let all = clients.iter().any(|net| net.prefix_len() == 0 && net.addr().is_ipv4() == four);
    model::ForwardingRule {
        name: raw.name.0.as_str().into(),
        address,
        protocol: *raw.protocol,
        ports: match &raw.ports.value {
            PortList::All => Ports::All,
            PortList::Listed(list) => {
                Ports::Ranges(list.iter().map(|r| (r.first, r.last)).collect())
            }
        },
        service: service.into(),
        client_allow: if all { Vec::new() } else { clients },
    }
}
