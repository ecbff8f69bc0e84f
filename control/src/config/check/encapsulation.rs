//! `[encapsulation]`, and a service's own keys over it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::address;
use super::names::Unique;
use super::zones::whole_prefix;
use crate::config::field::Field;
use crate::config::file::encapsulation::Encapsulation;
use crate::config::report::Report;
use crate::model::{self, EncapsulationKind, GueVariant};

/// Without a port nothing is ever sent, so a source that stands for nobody will do: the dummy
/// address of RFC 7600 and the discard prefix of RFC 6666.
const NOBODY: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 8)),
    IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1)),
];

/// `[encapsulation]`, checked, and the sources that stand in where it gives none.
pub(super) struct Base<'f> {
    raw: &'f Encapsulation,
    sources: Vec<IpAddr>,
}

impl<'f> Base<'f> {
    pub(super) fn check(
        raw: &'f Encapsulation,
        ports: &[model::Port],
        report: &mut Report<'_>,
    ) -> Self {
        report.enter("[encapsulation]".into());
        one(raw, report);
        entropy_has_prefix(raw, &raw.entropy_prefix, report);
        report.leave();
        Self { raw, sources: port_sources(ports) }
    }

    /// A service's encapsulation.
    pub(super) fn with(
        &self,
        over: Option<&Field<Encapsulation>>,
        report: &mut Report<'_>,
    ) -> model::Encapsulation {
        let raw = over.map_or(self.raw, |over| &over.value);
        let merged = self.merged(raw);
        report.enter("encapsulation".into());
        if over.is_some() {
            one(raw, report);
            entropy_has_prefix(raw, &merged.entropy_prefix, report);
        }
        if merged.kind == EncapsulationKind::L3dsr && merged.l3dsr_dscp == 0 {
            let kind = field(&self.raw.kind, &raw.kind);
            report.refuse(kind, "l3dsr_dscp gives no code for the VIP", "give it one from 1 to 63");
        }
        report.leave();
        merged
    }

    /// The service's key where it has it, else the default's.
    fn merged(&self, over: &Encapsulation) -> model::Encapsulation {
        let raw = self.raw;
        model::Encapsulation {
            kind: *either(&raw.kind, &over.kind),
            source: self.source(over),
            source_entropy: *either(&raw.source_entropy, &over.source_entropy),
            entropy_prefix: self.entropy_prefix(over),
            gue_port: either(&raw.gue_port, &over.gue_port).get(),
            gue_variant: match either(&raw.gue_variant, &over.gue_variant).get::<u8>() {
                0 => GueVariant::Zero,
                _ => GueVariant::One,
            },
            l3dsr_dscp: either(&raw.l3dsr_dscp, &over.l3dsr_dscp).get(),
            gre_key: *either(&raw.gre_key, &over.gre_key),
            dscp: *either(&raw.dscp, &over.dscp),
            ttl: either(&raw.ttl, &over.ttl).get(),
        }
    }

    /// Per family: the service's, else `[encapsulation]`'s, else a port's.
    fn source(&self, over: &Encapsulation) -> Vec<IpAddr> {
        let given = |list: &Field<Vec<Field<IpAddr>>>| -> Vec<IpAddr> {
            list.iter().map(|a| a.value).collect()
        };
        let lists = [given(&over.source), given(&self.raw.source), self.sources.clone()];
        let of = |four: bool| lists.iter().flatten().find(|a| a.is_ipv4() == four).copied();
        [of(true), of(false)].into_iter().flatten().collect()
    }

    /// Per family: the service's, else `[encapsulation]`'s.
    fn entropy_prefix(&self, over: &Encapsulation) -> Vec<IpNet> {
        let all = || over.entropy_prefix.iter().chain(&self.raw.entropy_prefix.value);
        let of = |four: bool| all().find(|net| net.addr().is_ipv4() == four).map(|net| net.trunc());
        [of(true), of(false)].into_iter().flatten().collect()
    }
}

fn either<'v, T>(base: &'v Field<T>, over: &'v Field<T>) -> &'v T {
    &field(base, over).value
}

fn field<'v, T>(base: &'v Field<T>, over: &'v Field<T>) -> &'v Field<T> {
    if over.is_given() { over } else { base }
}

/// The first address of each family.
fn port_sources(ports: &[model::Port]) -> Vec<IpAddr> {
    if ports.is_empty() {
        return NOBODY.to_vec();
    }
    let all = || ports.iter().flat_map(|port| &port.addresses).map(|net| net.addr());
    [all().find(IpAddr::is_ipv4), all().find(IpAddr::is_ipv6)].into_iter().flatten().collect()
}

fn one(raw: &Encapsulation, report: &mut Report<'_>) {
    let mut families =
        Unique::new("a second source of its family", "allowed: one IPv4 and one IPv6 source");
    for source in &raw.source.value {
        address::check(source, report);
        families.check_as(source, source.is_ipv4(), report);
    }
    let mut families =
        Unique::new("a second prefix of its family", "allowed: one IPv4 and one IPv6 prefix");
    for prefix in &raw.entropy_prefix.value {
        families.check_as(prefix, prefix.addr().is_ipv4(), report);
        spreadable(prefix, report);
    }
}

fn entropy_has_prefix<T>(raw: &Encapsulation, prefixes: &[T], report: &mut Report<'_>) {
    if *raw.source_entropy && prefixes.is_empty() {
        let allowed = "give entropy_prefix one prefix for each family of the backends";
        report.refuse(&raw.source_entropy, "there is no prefix to spread the source over", allowed);
    }
}

/// Refuses a prefix that outer sources cannot be spread over: a host must be able to have every
/// address in it, and there must be several.
fn spreadable(prefix: &Field<IpNet>, report: &mut Report<'_>) {
    let (least, most) = if prefix.addr().is_ipv4() { (8, 28) } else { (32, 124) };
    if let Some(why) = address::wrong(prefix.network()).or(address::wrong(prefix.broadcast())) {
        report.refuse(prefix, why, "allowed: a prefix of unicast addresses");
    } else if !(least..=most).contains(&prefix.prefix_len()) {
        let allowed = "allowed: lengths 8 to 28 of IPv4, 32 to 124 of IPv6";
        report.refuse(prefix, "a prefix of this length", allowed);
    } else {
        whole_prefix(prefix, report);
    }
}
