//! A backend → its outer headers, one for each family inside (D-8).

use std::hash::Hasher;
use std::net::IpAddr;

use ipnet::IpNet;
use siphasher::sip::SipHasher13;
use tables::template::{self, TemplateSpec, Tunnel};
use tables::{Family, PortId, Template};

use super::unbuildable::Unbuildable;
use super::wiring::{NextHop, Wiring};
use crate::model::{self, Config, Dscp, Encapsulation, EncapsulationKind, GreKey, GueVariant};
use crate::state::{Backend, Service};

/// The outer headers for one backend.
pub(super) fn templates(
    config: &Config,
    wiring: &Wiring,
    service: &Service,
    backend: &Backend,
) -> Result<Box<[Template; 2]>, Unbuildable> {
    let path = || format!("{}: {}", service.config.name, backend.path);
    let [v4, v6] = [Family::V4, Family::V6].map(|inner| {
        let spec = spec(config, wiring, &service.config, backend.address, inner)
            .ok_or_else(|| Unbuildable::NoSource { backend: path() })?;
        Template::new(&spec).map_err(|error| Unbuildable::Template { backend: path(), error })
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
    let spec = spec(config, &Wiring::default(), service, backend, inner)?;
    Some(Template::new(&spec).ok()?.max_inner())
}

/// `None`: there is no outer source of the backend's family.
fn spec(
    config: &Config,
    wiring: &Wiring,
    service: &model::Service,
    backend: IpAddr,
    inner: Family,
) -> Option<TemplateSpec> {
    let encapsulation = &service.encapsulation;
    let way = wiring.next_hop(config, backend);
    let NextHop { port, mac } = way.unwrap_or(NextHop { port: PortId(0), mac: None });
    let out = config.ports.get(usize::from(port.0));
    Some(TemplateSpec {
        port,
        src_mac: wiring.mac(port),
        next_hop: mac,
        vlan: out.map_or(0, |p| p.vlan),
        mtu: out.map_or(0, |p| p.mtu),
        fragment_oversize: out.is_some_and(|p| p.fragment_oversize),
        source: source(encapsulation, backend)?,
        destination: backend,
        entropy: entropy(encapsulation, backend),
        tunnel: tunnel(encapsulation, &service.name),
        inner,
        dscp: dscp(encapsulation.dscp),
        ttl: encapsulation.ttl,
    })
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
