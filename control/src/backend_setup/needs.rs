//! A service → what its backends' hosts need, in order.

use std::net::IpAddr;

use ipnet::IpNet;
use tables::Family;

use super::step::{Step, Tunnel, TunnelKind};
use crate::model::{Config, Encapsulation, EncapsulationKind, RuleProtocol, Service};
use crate::plan::templates;
use crate::plan::wiring;

/// Both families.
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// The headers of IP without options and of TCP without options, bytes.
fn tcp_headers(family: Family) -> u16 {
    match family {
        Family::V4 => 20 + 20,
        Family::V6 => 40 + 20,
    }
}

fn family(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}

/// What the hosts of these backends of a service need.
pub(super) fn of(config: &Config, service: &Service, backends: &[(String, IpAddr)]) -> Vec<Step> {
    let needs = Needs { config, service, backends, vips: super::vips(config, service) };
    let mut steps = Vec::new();
    for outer in FAMILIES.into_iter().filter(|outer| needs.outer(*outer)) {
        steps.extend(needs.link_mtu(outer));
        steps.extend(needs.decapsulation(outer));
    }
    steps.extend(needs.loose_link());
    if needs.inner(Family::V4) {
        steps.push(Step::Quiet);
    }
    steps.extend(needs.vips.iter().map(|vip| Step::Vip(*vip)));
    steps.extend(needs.rewrites());
    steps.extend(needs.clamp());
    steps
}

struct Needs<'c> {
    config: &'c Config,
    service: &'c Service,
    backends: &'c [(String, IpAddr)],
    vips: Vec<IpNet>,
}

impl Needs<'_> {
    fn encapsulation(&self) -> &Encapsulation {
        &self.service.encapsulation
    }

    /// Whether a backend has an address of this family.
    fn outer(&self, outer: Family) -> bool {
        self.backends.iter().any(|(_, address)| family(*address) == outer)
    }

    /// Whether a VIP is of this family.
    fn inner(&self, inner: Family) -> bool {
        self.vips.iter().any(|vip| family(vip.addr()) == inner)
    }

    fn decapsulation(&self, outer: Family) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.encapsulation().kind == EncapsulationKind::Gue {
            steps.push(Step::Fou { outer, port: self.encapsulation().gue_port });
        }
        for kind in self.tunnels(outer) {
            let inner = |family| kind.carries(family) && self.inner(family);
            if !FAMILIES.into_iter().any(inner) {
                continue;
            }
            let tunnel = Tunnel::new(kind);
            let device = tunnel.device.clone();
            steps.push(Step::Tunnel(tunnel));
            if inner(Family::V4) {
                steps.push(Step::LooseTunnel { device, outer });
            }
        }
        steps
    }

    /// The devices for one outer family. What GUE carries is IP in IP once its UDP header is off.
    fn tunnels(&self, outer: Family) -> Vec<TunnelKind> {
        let key = templates::gre_key(self.encapsulation().gre_key, &self.service.name);
        match (self.encapsulation().kind, outer) {
            (EncapsulationKind::Ipip | EncapsulationKind::Gue, Family::V4) => {
                vec![TunnelKind::Ipip, TunnelKind::Sit]
            }
            (EncapsulationKind::Ipip | EncapsulationKind::Gue, Family::V6) => {
                vec![TunnelKind::Ip6tnl]
            }
            (EncapsulationKind::Gre, Family::V4) => vec![TunnelKind::Gre(key)],
            (EncapsulationKind::Gre, Family::V6) => vec![TunnelKind::Ip6gre(key)],
            (EncapsulationKind::L3dsr | EncapsulationKind::L2, _) => Vec::new(),
        }
    }

    /// Outer sources that are spread have their way back wherever the default route leads; and
    /// without a tunnel it is the client's own address that the check is about.
    fn loose_link(&self) -> Option<Step> {
        let spread = self.encapsulation().spread().is_some();
        let unspread = !self.encapsulation().kind.is_tunnel();
        ((spread || unspread) && self.outer(Family::V4)).then_some(Step::LooseLink)
    }

    fn rewrites(&self) -> Vec<Step> {
        let encapsulation = self.encapsulation();
        if encapsulation.kind != EncapsulationKind::L3dsr {
            return Vec::new();
        }
        let dscp = encapsulation.l3dsr_dscp;
        self.vips.iter().map(|vip| Step::Rewrite { dscp, vip: *vip }).collect()
    }

    /// Only a tunnel makes packets larger than the hosts on both sides are ready for.
    fn link_mtu(&self, outer: Family) -> Option<Step> {
        let ports = self.backends.iter().filter(|(_, address)| family(*address) == outer);
        let mtus = ports.filter_map(|(_, address)| {
            let (port, _) = wiring::via(self.config, *address)?;
            self.config.ports.get(port).map(|port| port.mtu)
        });
        let mtu = mtus.max().filter(|_| self.encapsulation().kind.is_tunnel())?;
        Some(Step::LinkMtu { outer, mtu })
    }

    /// Needed where a port lets packets in that do not fit the tunnel. They are answered ("too
    /// big", N-3); but an answer may be lost on its way to the client, and costs a round trip.
    fn clamp(&self) -> Option<Step> {
        let largest = self.config.ports.iter().map(|port| port.mtu).max()?;
        let segments = self.vips.iter().filter(|vip| self.carries_tcp(vip)).filter_map(|vip| {
            let inner = family(vip.addr());
            let fits = self.largest_inner(inner)?;
            (fits < largest).then(|| (*vip, fits.saturating_sub(tcp_headers(inner))))
        });
        let segments: Vec<_> = segments.collect();
        let service = self.service.name.to_string();
        (!segments.is_empty()).then_some(Step::Clamp { service, segments })
    }

    fn carries_tcp(&self, vip: &IpNet) -> bool {
        let rules = self.config.rules.iter().filter(|rule| rule.service == self.service.name);
        let mut here = rules.filter(|rule| rule.address.trunc() == *vip);
        here.any(|rule| rule.protocol != RuleProtocol::Udp)
    }

    /// What fits the narrowest of the tunnels.
    fn largest_inner(&self, inner: Family) -> Option<u16> {
        let room = |address| templates::max_inner(self.config, self.service, address, inner);
        self.backends.iter().filter_map(|(_, address)| room(*address)).min()
    }
}
