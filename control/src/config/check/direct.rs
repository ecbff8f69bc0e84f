//! What `kind = "l3dsr"` and `kind = "l2"` need of rules and backends: without an outer header a
//! packet only reaches addresses of its own family, and with L3DSR its code must be the VIP's.

use std::collections::HashMap;
use std::net::IpAddr;

use super::address::family;
use crate::config::diagnostics::Span;
use crate::config::field::Field;
use crate::config::file::File;
use crate::config::file::rule::ForwardingRule;
use crate::config::report::Report;
use crate::model::{EncapsulationKind, Service};

pub(super) fn check(file: &File, services: &[Service], report: &mut Report<'_>) {
    let services: HashMap<&str, &Service> = services.iter().map(|s| (&*s.name, s)).collect();
    let mut codes = Codes::default();
    for rule in &file.forwarding_rule {
        let name = rule.service.as_ref().map_or("", |name| name.0.as_str());
        let Some(service) = services.get(name).filter(|s| !s.encapsulation.kind.is_tunnel()) else {
            continue;
        };
        report.enter(format!("forwarding_rule {:?}", rule.name.0));
        one_family(rule, service, report);
        if service.encapsulation.kind == EncapsulationKind::L3dsr {
            codes.check(rule, service, report);
        }
        report.leave();
    }
}

fn one_family(rule: &ForwardingRule, service: &Service, report: &mut Report<'_>) {
    let vip = rule.address.value.0.addr();
    let mut backends = service.groups.iter().flat_map(|group| &group.backends);
    if let Some(backend) = backends.find(|b| b.address.is_ipv4() != vip.is_ipv4()) {
        let why = format!(
            "service {:?} has no tunnel, and backend {:?} is {}",
            service.name,
            backend.name,
            family(backend.address)
        );
        report.refuse(
            &rule.address,
            &why,
            "give each family a service of its own, or use a tunnel",
        );
    }
}

/// Which VIP each code stands for, by family.
#[derive(Default)]
struct Codes(HashMap<(u8, bool), (IpAddr, Span)>);

impl Codes {
    fn check(&mut self, rule: &Field<ForwardingRule>, service: &Service, report: &mut Report<'_>) {
        let net = rule.address.value.0;
        if net.prefix_len() < net.max_prefix_len() {
            let why = "a code stands for one VIP, not for a prefix";
            return report.refuse(&rule.address, why, "allowed with l3dsr: one address");
        }
        let vip = net.addr();
        let code = service.encapsulation.l3dsr_dscp;
        let here = rule.address.span.clone();
        let (first, place) =
            self.0.entry((code, vip.is_ipv4())).or_insert_with(|| (vip, here)).clone();
        if first != vip && code != 0 {
            let why = format!("l3dsr_dscp = {code} already stands for {first}");
            let beside = Some((place, "here".to_owned()));
            let allowed = "give each VIP a service with a code of its own";
            report.refuse_beside(&rule.address, &why, allowed, beside);
        }
    }
}
