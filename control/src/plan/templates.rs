//! A backend → its outer headers, one for each family inside (D-8).

use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher13;
use tables::template::{self, TemplateSpec, Tunnel};
use tables::{Family, PortId, Template};

use super::builder::Unbuildable;
use super::wiring::{NextHop, Wiring};
use crate::model::{Config, Dscp, Encapsulation, EncapsulationKind, GreKey};
use crate::state::{Backend, Service};

/// The outer headers for one backend.
pub(super) fn templates(
    config: &Config,
    wiring: &Wiring,
    service: &Service,
    backend: &Backend,
) -> Result<Box<[Template; 2]>, Unbuildable> {
    let [v4, v6] = [Family::V4, Family::V6].map(|inner| {
        Template::new(&spec(config, wiring, service, backend, inner)?)
            .map_err(|error| Unbuildable::Template { backend: path(service, backend), error })
    });
    Ok(Box::new([v4?, v6?]))
}

fn spec(
    config: &Config,
    wiring: &Wiring,
    service: &Service,
    backend: &Backend,
    inner: Family,
) -> Result<TemplateSpec, Unbuildable> {
    let encapsulation = &service.config.encapsulation;
    let way = wiring.next_hop(config, backend.address);
    let NextHop { port, mac } = way.unwrap_or(NextHop { port: PortId(0), mac: None });
    let out = config.ports.get(usize::from(port.0));
    Ok(TemplateSpec {
        port,
        src_mac: wiring.mac(port),
        next_hop: mac,
        vlan: out.map_or(0, |p| p.vlan),
        mtu: out.map_or(0, |p| p.mtu),
        source: source(encapsulation, backend.address)
            .ok_or_else(|| Unbuildable::NoSource { backend: path(service, backend) })?,
        destination: backend.address,
        tunnel: tunnel(encapsulation, &service.config.name),
        inner,
        dscp: dscp(encapsulation.dscp),
        ttl: encapsulation.ttl,
    })
}

fn path(service: &Service, backend: &Backend) -> String {
    format!("{}: {}", service.config.name, backend.path)
}

fn source(encapsulation: &Encapsulation, backend: IpAddr) -> Option<IpAddr> {
    encapsulation.source.iter().find(|s| s.is_ipv4() == backend.is_ipv4()).copied()
}

fn tunnel(encapsulation: &Encapsulation, service: &str) -> Tunnel {
    match (encapsulation.kind, encapsulation.gre_key) {
        (EncapsulationKind::Ipip, _) => Tunnel::Ipip,
        (EncapsulationKind::Gre, GreKey::None) => Tunnel::Gre { key: None },
        (EncapsulationKind::Gre, GreKey::Number(key)) => Tunnel::Gre { key: Some(key) },
        (EncapsulationKind::Gre, GreKey::Service) => {
            Tunnel::Gre { key: Some(service_key(service)) }
        }
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
