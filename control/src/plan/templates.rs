//! A backend → its outer headers, one for each family inside (D-8).

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use ipnet::IpNet;
use siphasher::sip::SipHasher13;
use tables::template::{self, MixedFamilies, TemplateSpec, Tunnel};
use tables::{Family, PortId, Template};

use super::unbuildable::Unbuildable;
use super::wiring::{NextHop, Ways, Wiring};
use crate::model::{self, Config, Dscp, Encapsulation, EncapsulationKind, GreKey, GueVariant};
use crate::state::{Backend, Service};

/// The outer headers for one backend.
pub(super) fn templates(
    config: &Config,
    wiring: &Wiring,
    ways: Ways,
    service: &Service,
    backend: &Backend,
) -> Result<Box<[Template; 2]>, Unbuildable> {
    let path = || format!("{}: {}", service.config.name, backend.path);
    let out = Outgoing::new(config, wiring, ways, service.config_of(backend), backend.address);
    let [v4, v6] = [Family::V4, Family::V6].map(|inner| {
        let template = out.template(inner).ok_or_else(|| Unbuildable::NoSource { backend: path() });
        template?.map_err(|error| Unbuildable::Template { backend: path(), error })
    });
    Ok(Box::new([v4?, v6?]))
}

/// The largest packet of a family that reaches a service's backend unfragmented, bytes: what the
/// port that leads there takes, less the outer header.
pub(crate) fn max_inner(
    config: &Config,
    service: &model::Service,
    backend: IpAddr,
    inner: Family,
) -> Option<u16> {
    let wiring = Wiring::default();
    let ways = wiring.ways(config, backend);
    let template = Outgoing::new(config, &wiring, ways, service, backend).template(inner)?;
    Some(template.ok()?.max_inner())
}

/// One backend, and how packets leave for it.
struct Outgoing<'a> {
    config: &'a Config,
    wiring: &'a Wiring,
    service: &'a model::Service,
    backend: IpAddr,
    ways: Ways,
}

impl<'a> Outgoing<'a> {
    /// Of several next hops those whose Ethernet address is known; all, while none is. Without a
    /// tunnel and without another address, nobody but the backend itself can be sent to.
    fn new(
        config: &'a Config,
        wiring: &'a Wiring,
        mut ways: Ways,
        service: &'a model::Service,
        backend: IpAddr,
    ) -> Self {
        if service.encapsulation.kind == EncapsulationKind::L2 {
            ways.hops.retain(|hop| hop.neighbour == backend);
        }
        if ways.hops.iter().any(|hop| hop.mac.is_some()) {
            ways.hops.retain(|hop| hop.mac.is_some());
        }
        Self { config, wiring, service, backend, ways }
    }

    /// `None`: there is no outer source of the backend's family.
    fn template(&self, inner: Family) -> Option<Result<Template, MixedFamilies>> {
        if self.ways.hops.is_empty() {
            return self.through(None, inner);
        }
        let mut ways = Vec::new();
        for hop in &self.ways.hops {
            match self.through(Some(hop), inner)? {
                Ok(template) => ways.push((template, hop.weight)),
                Err(error) => return Some(Err(error)),
            }
        }
        Template::spread(ways).map(Ok)
    }

    fn through(
        &self,
        hop: Option<&NextHop>,
        inner: Family,
    ) -> Option<Result<Template, MixedFamilies>> {
        let template = Template::new(&self.spec(hop, inner)?);
        Some(template.map(|template| template.behind(hop.map_or(0, number))))
    }

    fn spec(&self, hop: Option<&NextHop>, inner: Family) -> Option<TemplateSpec> {
        let encapsulation = &self.service.encapsulation;
        let port = hop.map_or(PortId(0), |hop| hop.port);
        let out = self.config.ports.get(usize::from(port.0));
        Some(TemplateSpec {
            port,
            src_mac: self.wiring.mac(port),
            next_hop: hop.and_then(|hop| hop.mac),
            vlan: out.map_or(0, |p| p.vlan),
            mtu: self.mtu(),
            fragment_oversize: out.is_some_and(|p| p.fragment_oversize),
            source: source(encapsulation, self.backend)?,
            destination: self.backend,
            entropy: entropy(encapsulation, self.backend),
            tunnel: tunnel(encapsulation, &self.service.name),
            inner,
            dscp: dscp(encapsulation.dscp),
            ttl: encapsulation.ttl,
        })
    }

    /// What every next hop takes: a client is told one figure, whichever way its flow goes.
    fn mtu(&self) -> u16 {
        let port = |port: PortId| self.config.ports.get(usize::from(port.0)).map(|port| port.mtu);
        let hops = self.ways.hops.iter().map(|hop| hop.port);
        let ports = hops.filter_map(port).min().or_else(|| port(PortId(0))).unwrap_or(0);
        self.ways.mtu.map_or(ports, |mtu| ports.min(mtu))
    }
}

/// A next hop's number in Tables: 0 if nobody is asked for it.
fn number(hop: &NextHop) -> u32 {
    let mut hasher = SipHasher13::new();
    (hop.port.0, hop.neighbour).hash(&mut hasher);
    if hop.asked { (hasher.finish() as u32).max(1) } else { 0 }
}

/// Without a tunnel there is no outer source, and any address stands for it.
fn source(encapsulation: &Encapsulation, backend: IpAddr) -> Option<IpAddr> {
    if !encapsulation.kind.is_tunnel() {
        return Some(backend);
    }
    encapsulation.source.iter().find(|s| s.is_ipv4() == backend.is_ipv4()).copied()
}

fn entropy(encapsulation: &Encapsulation, backend: IpAddr) -> Option<IpNet> {
    let of_family = |prefix: &&IpNet| prefix.addr().is_ipv4() == backend.is_ipv4();
    encapsulation.spread()?.iter().find(of_family).copied()
}

fn tunnel(encapsulation: &Encapsulation, service: &str) -> Tunnel {
    match encapsulation.kind {
        EncapsulationKind::Ipip => Tunnel::Ipip,
        EncapsulationKind::Gre => Tunnel::Gre { key: gre_key(encapsulation.gre_key, service) },
        EncapsulationKind::Gue => Tunnel::Gue {
            port: encapsulation.gue_port,
            variant: match encapsulation.gue_variant {
                GueVariant::Zero => template::GueVariant::Zero,
                GueVariant::One => template::GueVariant::One,
            },
        },
        EncapsulationKind::L3dsr => Tunnel::L3dsr { dscp: encapsulation.l3dsr_dscp },
        EncapsulationKind::L2 => Tunnel::L2,
    }
}

/// The key field of a service's packets, if they have one.
pub(crate) fn gre_key(key: GreKey, service: &str) -> Option<u32> {
    match key {
        GreKey::None => None,
        GreKey::Number(key) => Some(key),
        GreKey::Service => Some(service_key(service)),
    }
}

/// A service's GRE key: of its name only, so that every appliance and every backend agrees on it.
fn service_key(service: &str) -> u32 {
    let mut hasher = SipHasher13::new();
    hasher.write(service.as_bytes());
    hasher.finish() as u32
}

fn dscp(dscp: Dscp) -> template::Dscp {
    match dscp {
        Dscp::Copy => template::Dscp::Copy,
        Dscp::Zero => template::Dscp::Zero,
        Dscp::Number(value) => template::Dscp::Fixed(value),
    }
}
