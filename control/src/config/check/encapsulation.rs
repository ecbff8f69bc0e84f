//! `[encapsulation]`, and a service's own keys over it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::names::Unique;
use super::{address, later};
use crate::config::field::Field;
use crate::config::file::encapsulation::{Encapsulation, Kind};
use crate::config::report::Report;
use crate::model::{self, EncapsulationKind};

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
        report.leave();
        Self { raw, sources: port_sources(ports) }
    }

    /// A service's encapsulation.
    pub(super) fn with(
        &self,
        over: Option<&Field<Encapsulation>>,
        report: &mut Report<'_>,
    ) -> model::Encapsulation {
        let Some(over) = over else { return self.merged(self.raw) };
        report.enter("encapsulation".into());
        one(over, report);
        report.leave();
        self.merged(over)
    }

    /// The service's key where it has it, else the default's.
    fn merged(&self, over: &Encapsulation) -> model::Encapsulation {
        let raw = self.raw;
        model::Encapsulation {
            kind: match either(&raw.kind, &over.kind) {
                Kind::Gre => EncapsulationKind::Gre,
                Kind::Ipip | Kind::Gue => EncapsulationKind::Ipip,
            },
            source: self.source(over),
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
}

fn either<'v, T>(base: &'v Field<T>, over: &'v Field<T>) -> &'v T {
    if over.is_given() { &over.value } else { &base.value }
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
    later::encapsulation(raw, report);
    let mut families =
        Unique::new("a second source of its family", "allowed: one IPv4 and one IPv6 source");
    for source in &raw.source.value {
        address::check(source, report);
        families.check_as(source, source.is_ipv4(), report);
    }
}
